// SPDX-License-Identifier: GPL-2.0-only
/* Numbers given to options. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exits.h"
#include "number.h"
#include "say.h"

int number_option(const char *option, const char *text, unsigned long min, unsigned long max,
		  unsigned long *value)
{
	errno = 0;
	*value = strtoul(text, NULL, 10);
	if (*text && strspn(text, "0123456789") == strlen(text) && !errno && *value >= min &&
	    *value <= max)
		return 0;
	return fail(OC_EXIT_USAGE, "Give a whole number in that range",
		    "%s '%.40s' is out of range (%lu..%lu)", option, text, min, max);
}
