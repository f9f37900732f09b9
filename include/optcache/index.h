/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The index finds the slot of an origin block: a chained hash over the slots,
 * heads and links are 32-bit slot numbers plus one, 0 is the end.  The heads of 16
 * neighbouring blocks lie in one cache line, in an order that depends on the line,
 * so that large hits are cheap and no stride of blocks meets in few heads.
 *
 * Look-ups take no lock.  A chain may change under the walker, even lead it into
 * another chain when a slot moves; nothing is ever freed, so the worst is a false
 * "not found", and whoever must be sure asks oc_index_find_locked().  A found
 * slot means nothing until it is pinned: pinning checks block and state again.
 *
 * A block can have several slots: at most one is current (FRESH, SEALED, LIVE,
 * COPY), the others are DEAD or GONE and stay findable until their end is durable.
 *
 * stripe[] locks protect the chains (each a share of the heads), with interrupts
 * off; order: journal lock, stripe, free_lock.
 */
#ifndef _OPTCACHE_INDEX_H
#define _OPTCACHE_INDEX_H

#include "slots.h"

#define OC_INDEX_STRIPES	256
#define OC_INDEX_LINE_SHIFT	4	/* log2 heads in a cache line */
#define OC_INDEX_MAX_STEPS	128	/* of a walk without lock: an odd chain ends it */

struct oc_stripe {
	spinlock_t lock;	/* chains of its heads */
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

static inline u32 oc_index_hash(const struct oc_index *ix, oc_block_t block)
{
	const u64 line = from_oblock(block) >> OC_INDEX_LINE_SHIFT;
	u64 h = line * 0x9e3779b97f4a7c15ULL;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ULL;
	return ((h >> 32) * (ix->nr_heads >> OC_INDEX_LINE_SHIFT) >> 32 << OC_INDEX_LINE_SHIFT) |
	       ((h ^ from_oblock(block)) & ((1 << OC_INDEX_LINE_SHIFT) - 1));
}

/* The current slot of @block or OC_NO_SLOT (perhaps falsely).  Any context. */
static inline oc_slot_t oc_index_find(const struct oc_index *ix, oc_block_t block)
{
	const struct oc_slots *s = ix->slots;
	u32 i = READ_ONCE(ix->head[oc_index_hash(ix, block)]);
	unsigned int steps;

	for (steps = OC_INDEX_MAX_STEPS; i && steps; steps--) {
		const u64 w = READ_ONCE(s->word[i - 1]);

		if (oc_word_block(w) == block && oc_word_current(w))
			return to_slot(i - 1);
		i = READ_ONCE(s->next[i - 1]);
	}
	return OC_NO_SLOT;
}

/*
 * The same, exact at the time of the call; @ending is set when the block also has
 * a DEAD slot, one whose end may not be durable yet.  Any context.
 */
oc_slot_t oc_index_find_locked(struct oc_index *ix, oc_block_t block, bool *ending);

/* Adds an installed slot at the front of its chain, where look-ups meet it first. */
void oc_index_insert(struct oc_index *ix, oc_slot_t slot);

/* Takes a GONE (or dropped FRESH) slot without pins out of its chain and frees it. */
void oc_index_release(struct oc_index *ix, oc_slot_t slot);

/*
 * Inserts every current slot into an empty index; nobody else may use it meanwhile.
 * May sleep.  Return: 0, or -EUCLEAN and @bad when two slots claim one block.
 */
int oc_index_build(struct oc_index *ix, oc_slot_t *bad);

#endif /* _OPTCACHE_INDEX_H */
