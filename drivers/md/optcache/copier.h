/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The copier brings one batch of dirty blocks to the origin:
 *
 *	1. the next dirty blocks above the cursor; credits for their CLEAN records
 *	2. lock runs of adjacent blocks, take their slots from LIVE to COPY (pinned): a block
 *	   may reach the origin only when its mapping is durable, which LIVE says, else a
 *	   crash could bring an older clean mapping back over it
 *	4. read the slots, then write the origin, ascending
 *	5. flush the origin
 *	6. COPY to LIVE and clean, with a CLEAN record; but a block that was written
 *	   meanwhile has left COPY and stays dirty.  The journal block has
 *	   PREFLUSH, so the slot's bytes are durable before they are called clean
 *	7. unpin, unlock
 *
 * The range lock keeps everything off these blocks but hits; the pin keeps the slot.
 * One batch at a time; writeback.c says when.
 */
#ifndef _OC_COPIER_H
#define _OC_COPIER_H

#include "core.h"

/* Blocks a batch: half a byte of buffer a slot, between these. */
#define OC_COPY_ITEMS_MIN	32
#define OC_COPY_ITEMS_MAX	512
#define OC_COPY_RUNS		64
#define OC_COPY_BATCHES		16	/* collected by one scan */

struct oc_copy_item {
	oc_block_t block;
	oc_slot_t slot;
	u8 valid;
	bool failed;
	bool lost;			/* cannot be read */
	struct page *page;
};

struct oc_copy_run {
	struct oc_range range;
	u32 first, nr;			/* items */
};

struct oc_copier {
	struct oc_core *core;
	struct oc_order order;
	u32 pos;			/* next of order */
	bool wait;			/* for ranges that others have locked */
	u32 skipped;			/* busy blocks of this pass */
	u64 cleaned;			/* blocks of this pass */

	u32 nr_items, max_items, nr_runs;
	struct oc_copy_item *item;
	struct oc_copy_run run[OC_COPY_RUNS];

	atomic_t in_flight;
	struct completion done;
	struct completion granted;
};

int oc_copier_init(struct oc_copier *cp, struct oc_core *core);
void oc_copier_exit(struct oc_copier *cp);
size_t oc_copier_bytes(const struct oc_copier *cp);	/* beside the struct itself */

/* Begin a new pass, from block 0. */
void oc_copier_rewind(struct oc_copier *cp);

/*
 * oc_copier_batch - copy one batch
 * @force: also blocks that were written lately
 * @wait: for ranges that others have locked; else their blocks are skipped
 *
 * Return: blocks that became clean; -EAGAIN when there is nothing (more) to do in this
 * pass, -ENOSPC when the journal has no room now, -EIO after errors.  Sleeps.
 */
int oc_copier_batch(struct oc_copier *cp, bool force, bool wait);

#endif /* _OC_COPIER_H */
