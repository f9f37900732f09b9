/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write-back order: the dirty blocks that come next in LBA order, from a scan of
 * the slots with bounded memory (a max-heap of the lowest blocks at or above a
 * cursor), cut into runs for large writes.
 */
#ifndef _OPTCACHE_ORDER_H
#define _OPTCACHE_ORDER_H

#include "slots.h"

struct oc_dirty {
	oc_block_t block;
	oc_slot_t slot;
};

struct oc_order {
	struct oc_dirty *item;	/* sorted by block once collected */
	u32 max;
	u32 nr;
	u32 sealed;		/* dirty ones of the last scan that must not be copied yet */
	oc_block_t cursor;	/* next pass starts here */
};

int oc_order_init(struct oc_order *o, u32 max);
void oc_order_exit(struct oc_order *o);

/*
 * oc_order_collect - fill item[] with the lowest dirty blocks at or above the cursor
 * @force: also blocks that were written lately (hot)
 *
 * Skips groups without dirty slots, calls cond_resched().  When nothing is left above the
 * cursor, nr is 0 and the cursor goes back to 0.  Otherwise it stands after the last item.
 * Return: nr.
 */
u32 oc_order_collect(struct oc_order *o, struct oc_slots *s, bool force);

/* Length of the run of adjacent blocks that starts at item[i], at most @max. */
u32 oc_order_run(const struct oc_order *o, u32 i, u32 max);

#endif /* _OPTCACHE_ORDER_H */
