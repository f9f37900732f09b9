/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Range locks: serialise operations on the same origin blocks when they are not
 * plain hits (misses, new blocks, bypass, fill, write-back, discard).
 *
 * One FIFO queue a stripe.  An entry is granted when no earlier entry overlaps it;
 * whoever unlocks grants what has become free.  A range never crosses a region of
 * OC_REGION_BLOCKS blocks, so that one stripe knows all about it.
 * The stripe's lock protects its queue; any context; a leaf in the lock order.
 */
#ifndef _OC_RANGE_H
#define _OC_RANGE_H

#include <optcache/types.h>
#include <linux/list.h>

#define OC_REGION_SHIFT		8	/* 1 MiB */
#define OC_REGION_BLOCKS	(1 << OC_REGION_SHIFT)
#define OC_REGION_SECTORS	(OC_REGION_BLOCKS * OPTCACHE_SECTORS_PER_BLOCK)
#define OC_RANGE_STRIPES	64

struct oc_range {
	struct list_head list;
	u64 first;		/* block */
	u32 nr;			/* blocks */
	bool granted;
	void (*grant)(struct oc_range *range);	/* called when granted after waiting */
	void *owner;		/* for grant() */
};

struct oc_range_stripe {
	spinlock_t lock;
	struct list_head queue;
} ____cacheline_aligned_in_smp;

struct oc_ranges {
	struct oc_range_stripe stripe[OC_RANGE_STRIPES];
};

void oc_ranges_init(struct oc_ranges *rs);

/*
 * oc_range_lock - lock @range (first, nr and grant are set)
 * Return: true if granted now; false if queued, grant() follows, perhaps at once.
 */
bool oc_range_lock(struct oc_ranges *rs, struct oc_range *range);

/* The same, but gives up instead of waiting. */
bool oc_range_trylock(struct oc_ranges *rs, struct oc_range *range);

/* Keep only the first @nr blocks. */
void oc_range_shrink(struct oc_ranges *rs, struct oc_range *range, u32 nr);

void oc_range_unlock(struct oc_ranges *rs, struct oc_range *range);

/* @to takes over the place of the granted @from. */
void oc_range_move(struct oc_ranges *rs, struct oc_range *from, struct oc_range *to);

#endif /* _OC_RANGE_H */
