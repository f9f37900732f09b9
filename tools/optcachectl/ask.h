/* SPDX-License-Identifier: GPL-2.0-only */
/* Asking before something that cannot be undone. */
#ifndef _OPTCACHECTL_ASK_H
#define _OPTCACHECTL_ASK_H

#include <stdbool.h>

/*
 * @yes: --yes was given.  Without it, and without a terminal to ask on, the
 * answer is no.  Return: 0 to go on, or an exit code after fail().
 */
int ask(bool yes, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif /* _OPTCACHECTL_ASK_H */
