/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What can be made of damaged metadata.  Each slot ends in one of these ways:
 *
 *	certain		nothing that is lost can have spoken of it
 *	doubtful	a lost record, or the lost newer version of its page, may have
 *			changed it.  Clean: dropped, the disk has the block.  Dirty: the
 *			user decides.
 *	contradictory	two slots hold one block, and neither is more certain: dropped
 *
 * And there is what nobody knows of any more: slots of a page without a good place, and
 * records in a hole of the journal.
 */
#ifndef _OPTCACHECTL_MENDING_H
#define _OPTCACHECTL_MENDING_H

#include "checking.h"
#include "ranges.h"

struct mending {
	const struct dev *dev;
	struct supers s;
	struct mapping m;
	bool loaded;
	struct journal_end end;
	u64 epoch;		/* no block of the journal has a higher one */
	unsigned long *doubt;	/* bit a slot */
	u64 *before;		/* words as they were when they came to be in doubt */
	unsigned long *drop;	/* bit a slot: contradictory */
	unsigned long *both;	/* bit a page: has no good place */
	struct optcache_table_page *page;	/* a mended one */

	u64 lost_slots;		/* of pages that are lost, or out of date */
	u64 lost_entries;	/* senseless ones that said dirty */
	u64 lost_records;	/* in holes of the journal */
	u64 dropped_clean;
	struct ranges doubtful;	/* dirty blocks in doubt */
	struct ranges dropped;	/* dirty blocks that contradict others */
	struct ranges undecided;	/* being written at the cut, and unreadable now */
};

/* Of a cache device with a good superblock.  Return: 0 or an exit code after fail(). */
int mending_load(struct mending *md, const struct dev *d);
void mending_free(struct mending *md);

/* Dirty data that is or may be lost, whatever is decided about doubtful blocks. */
static inline bool mending_loses(const struct mending *md)
{
	return md->lost_slots || md->lost_entries || md->lost_records || md->dropped.sectors ||
	       md->undecided.sectors;
}

/*
 * Writes it.  @keep_dirty: doubtful dirty blocks stay, else they are dropped.
 * Return: 0 or -errno.
 */
int mending_commit(struct mending *md, bool keep_dirty);

#endif /* _OPTCACHECTL_MENDING_H */
