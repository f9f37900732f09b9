/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the module does with the core, one function for each of its callers, with the same
 * locks and in the same order.  Each is what a thread of a scenario does, or a part of it.
 */
#ifndef _INTERLEAVE_ACTORS_H
#define _INTERLEAVE_ACTORS_H

#include "world.h"

/* Of writes: these sectors of the block, instead of the first one. */
#define SECTORS(block, mask)	((block) | (u64)(mask) << 8)

void do_read(u64 block);		/* map.c, complete.c: hit, else under the range lock */
void do_write_hit(u64 sectors);		/* in place, if that is allowed at once */
void do_write_new(u64 sectors);		/* complete.c: a new version in a fresh slot */
void do_write_lost(u64 block);		/* intent.c: it never arrived */
void do_extend(u64 sectors);		/* complete.c: more sectors of a dirty slot */
void do_extend_lost(u64 sectors);	/* intent.c: they never arrived */
void do_fill(u64 block);		/* fill.c, buffer.c */
void do_fresh(u64 unused);		/* fresh.c, for ever */
void do_discard(u64 block);		/* discard.c, map.c: bypass */
void do_evict(u64 scan);		/* evict.c, with policy.c */
void do_copy(u64 force);		/* copier.c, with order.c: all that is dirty */
void do_journal(u64 unused);		/* journal.c: makes records durable, for ever */
void do_cool(u64 unused);		/* writeback.c: the ager */
void do_alloc(u64 want);		/* take slots, give them back */
void do_stream(u64 sector);

#endif /* _INTERLEAVE_ACTORS_H */
