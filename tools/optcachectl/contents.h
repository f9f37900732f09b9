/* SPDX-License-Identifier: GPL-2.0-only */
/* What a device holds, before it is erased. */
#ifndef _OPTCACHECTL_CONTENTS_H
#define _OPTCACHECTL_CONTENTS_H

#include "dev.h"

/*
 * Refuses a device that holds anything, unless @force; then asks, unless @yes.
 * Return: 0 or an exit code after fail().
 */
int contents_check(const struct dev *d, bool force, bool yes);

#endif /* _OPTCACHECTL_CONTENTS_H */
