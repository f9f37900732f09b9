/* SPDX-License-Identifier: GPL-2.0-only */
/* Writing superblocks, journal and table of a cache device anew. */
#ifndef _OPTCACHECTL_MAKING_H
#define _OPTCACHECTL_MAKING_H

#include <optcache/format.h>
#include <optcache/slots.h>

#include "dev.h"

/*
 * @slots: what the table is to say, NULL: nothing; @doing: for the progress bar.
 * Return: 0 or an exit code after fail(); then the device holds no cache.
 */
int making_run(const struct dev *cache, const struct oc_super *sb, const struct oc_slots *slots,
	       const char *doing);

#endif /* _OPTCACHECTL_MAKING_H */
