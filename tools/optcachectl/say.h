/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tool says to a person: one line each, always in the same form. */
#ifndef _OPTCACHECTL_SAY_H
#define _OPTCACHECTL_SAY_H

#include <stdbool.h>

void say_set_verb(const char *verb);
void say_set_quiet(bool quiet);
bool say_is_quiet(void);

/*
 * "optcachectl: VERB: what (why). next step" on stderr.  @fmt is "what (why)",
 * @next the next step.  Return: @code, so that callers can "return fail(...)".
 */
int fail(int code, const char *next, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A warning in the same form; work goes on. */
void warn_user(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Good news on stdout; nothing with --quiet. */
void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* _OPTCACHECTL_SAY_H */
