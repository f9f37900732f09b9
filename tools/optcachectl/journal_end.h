/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why the journal ends where it ends.  Replay just stops at the first block that
 * is not the next one; for the module that is all there is to know, since it writes
 * one block at a time.  A check can tell an end from a hole.
 */
#ifndef _OPTCACHECTL_JOURNAL_END_H
#define _OPTCACHECTL_JOURNAL_END_H

#include "mapping.h"

enum journal_end_kind {
	JOURNAL_END_PLAIN,	/* nothing there that was meant to be the next block */
	JOURNAL_END_TORN,	/* the next blocks, incomplete: cut by a power loss, or damaged */
	JOURNAL_END_HOLE,	/* good later blocks lie elsewhere: acknowledged records are lost */
	JOURNAL_END_ODD,	/* the block before it, or at it, does not go with the superblock */
};

struct journal_end {
	enum journal_end_kind kind;
	u64 offset;		/* of the end, bytes from journal_start */
	u64 next_offset;	/* JOURNAL_END_HOLE: of the first good block behind */
	u64 next_lsn;
	u32 later;		/* good blocks that follow, but not directly */
	u64 max_epoch;		/* of all whole blocks, also of old ones; 0: there is none */
};

/* @m was loaded. */
void journal_end_find(const struct mapping *m, struct journal_end *end);

#endif /* _OPTCACHECTL_JOURNAL_END_H */
