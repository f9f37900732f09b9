/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers given to options. */
#ifndef _OPTCACHECTL_NUMBER_H
#define _OPTCACHECTL_NUMBER_H

/* Digits only, @min..@max.  Return: 0 or an exit code after fail(). */
int number_option(const char *option, const char *text, unsigned long min, unsigned long max,
		  unsigned long *value);

#endif /* _OPTCACHECTL_NUMBER_H */
