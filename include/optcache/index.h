/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The index finds the slot of an origin block: a chained hash over the slots,
 * heads and links are 32-bit slot numbers.
 *
 * Look-ups take no lock.  A chain may change under the walker, even lead it into
 * another chain when a slot moves; nothing is ever freed, so the worst is a false
 * "not found", and whoever must be sure asks oc_index_find_locked().  A found
 * slot means nothing until it is pinned: pinning checks block and state again.
 *
 * A block can have several slots: at most one is current (FRESH, LIVE, COPY), the
 * others are DEAD or GONE and stay findable until their end is durable.
 *
 * stripe[] locks protect the chains (each a share of the heads), with interrupts
 * off; order: journal lock, stripe, free_lock.
 */
#ifndef _OPTCACHE_INDEX_H
#define _OPTCACHE_INDEX_H

#include "slots.h"

#define OC_INDEX_STRIPES	256

struct oc_stripe {
	spinlock_t lock;
} ____cacheline_aligned_in_smp;

struct oc_index {
	struct oc_slots *slots;
	u32 *head;
	u32 nr_heads;
	struct oc_stripe *stripe;
	size_t bytes;
};

int oc_index_init(struct oc_index *ix, struct oc_slots *slots);
void oc_index_exit(struct oc_index *ix);

/* The current slot of @block or OC_NO_SLOT (perhaps falsely).  Any context. */
oc_slot_t oc_index_find(const struct oc_index *ix, oc_block_t block);

/*
 * The same, exact at the time of the call; @ending is set when the block also has
 * a DEAD slot, one whose end may not be durable yet.  Any context.
 */
oc_slot_t oc_index_find_locked(struct oc_index *ix, oc_block_t block, bool *ending);

/* Adds an installed slot at the front of its chain, where look-ups meet it first. */
void oc_index_insert(struct oc_index *ix, oc_slot_t slot);

/* Takes a GONE (or dropped FRESH) slot without pins out of its chain and frees it. */
void oc_index_release(struct oc_index *ix, oc_slot_t slot);

#endif /* _OPTCACHE_INDEX_H */
