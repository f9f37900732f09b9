// SPDX-License-Identifier: GPL-2.0-only
/* Messages.  Whatever a name or a kernel message contains, one message stays one line. */
#include <stdarg.h>
#include <stdio.h>

#include "say.h"

#define SAY_MAX	1024

static const char *say_verb;
static bool say_quiet;

void say_set_verb(const char *verb)
{
	say_verb = verb;
}

void say_set_quiet(bool quiet)
{
	say_quiet = quiet;
}

bool say_is_quiet(void)
{
	return say_quiet;
}

static void one_line(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = '?';
}

static void say_prefix(FILE *to)
{
	fflush(stdout);
	if (say_verb)
		fprintf(to, "optcachectl: %s: ", say_verb);
	else
		fputs("optcachectl: ", to);
}

int fail(int code, const char *next, const char *fmt, ...)
{
	char what[SAY_MAX], todo[SAY_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(todo, sizeof(todo), "%s", next);
	one_line(what);
	one_line(todo);

	say_prefix(stderr);
	fprintf(stderr, "%s. %s\n", what, todo);
	return code;
}

void warn_user(const char *fmt, ...)
{
	char what[SAY_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	one_line(what);

	say_prefix(stderr);
	fprintf(stderr, "warning: %s\n", what);
}

void tell(const char *fmt, ...)
{
	char what[SAY_MAX];
	va_list ap;

	if (say_quiet)
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	one_line(what);
	puts(what);
}
