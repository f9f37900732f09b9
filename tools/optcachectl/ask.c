// SPDX-License-Identifier: GPL-2.0-only
/* Asking before something that cannot be undone. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "exits.h"
#include "say.h"

int ask(bool yes, const char *fmt, ...)
{
	char what[512], line[16];
	va_list ap;

	if (yes)
		return 0;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return fail(OC_EXIT_REFUSED, "Give --yes if that is what you want",
			    "%s (and there is no terminal to ask on)", what);
	fprintf(stderr, "%s.\nGo on? [y/N] ", what);
	if (fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y'))
		return 0;
	return fail(OC_EXIT_REFUSED, "Nothing was changed", "not confirmed");
}
