// SPDX-License-Identifier: GPL-2.0-only
/*
 * The index: changes of the hash chains.  Look-ups are in the header.
 */
#include <optcache/index.h>

static struct oc_stripe *index_stripe(struct oc_index *ix, u32 h)
{
	return &ix->stripe[(h >> OC_INDEX_LINE_SHIFT) % OC_INDEX_STRIPES];
}

static void *index_zalloc(struct oc_index *ix, size_t bytes)
{
	void *p = oc_zalloc(bytes);

	if (p)
		ix->bytes += PAGE_ALIGN(bytes);
	return p;
}

int oc_index_init(struct oc_index *ix, struct oc_slots *slots)
{
	unsigned int i;

	memset(ix, 0, sizeof(*ix));
	ix->slots = slots;
	ix->nr_heads = ALIGN_DOWN(slots->nr / 2, 1U << OC_INDEX_LINE_SHIFT);
	ix->head = index_zalloc(ix, (size_t)ix->nr_heads * sizeof(*ix->head));
	ix->stripe = index_zalloc(ix, OC_INDEX_STRIPES * sizeof(*ix->stripe));
	if (!ix->head || !ix->stripe) {
		oc_index_exit(ix);
		return -ENOMEM;
	}
	for (i = 0; i < OC_INDEX_STRIPES; i++)
		spin_lock_init(&ix->stripe[i].lock);
	return 0;
}

void oc_index_exit(struct oc_index *ix)
{
	oc_free(ix->stripe);
	oc_free(ix->head);
	memset(ix, 0, sizeof(*ix));
}

oc_slot_t oc_index_find_locked(struct oc_index *ix, oc_block_t block, bool *ending)
{
	struct oc_slots *s = ix->slots;
	const u32 h = oc_index_hash(ix, block);
	struct oc_stripe *stripe = index_stripe(ix, h);
	oc_slot_t found = OC_NO_SLOT;
	unsigned long flags;
	u32 i;

	*ending = false;
	spin_lock_irqsave(&stripe->lock, flags);
	for (i = ix->head[h]; i; i = s->next[i - 1]) {
		const u64 w = READ_ONCE(s->word[i - 1]);

		if (oc_word_block(w) != block)
			continue;
		if (oc_word_state(w) == OC_DEAD)
			*ending = true;
		else if (oc_word_current(w) && found == OC_NO_SLOT)
			found = to_slot(i - 1);
	}
	spin_unlock_irqrestore(&stripe->lock, flags);
	return found;
}

void oc_index_insert(struct oc_index *ix, oc_slot_t slot)
{
	struct oc_slots *s = ix->slots;
	const u32 h = oc_index_hash(ix, oc_word_block(oc_slot_read(s, slot)));
	struct oc_stripe *stripe = index_stripe(ix, h);
	unsigned long flags;

	spin_lock_irqsave(&stripe->lock, flags);
	WRITE_ONCE(s->next[from_slot(slot)], ix->head[h]);
	/* Whoever finds the slot in its chain finds its word and its link too. */
	smp_store_release(&ix->head[h], from_slot(slot) + 1);
	spin_unlock_irqrestore(&stripe->lock, flags);
}

/* The link of the slot itself stays: a walker may stand on it. */
static void index_unlink(struct oc_index *ix, oc_slot_t slot)
{
	struct oc_slots *s = ix->slots;
	const u32 h = oc_index_hash(ix, oc_word_block(oc_slot_read(s, slot)));
	struct oc_stripe *stripe = index_stripe(ix, h);
	u32 *link = &ix->head[h];
	unsigned long flags;

	spin_lock_irqsave(&stripe->lock, flags);
	while (*link && *link != from_slot(slot) + 1)
		link = &s->next[*link - 1];
	if (*link)
		WRITE_ONCE(*link, s->next[from_slot(slot)]);
	spin_unlock_irqrestore(&stripe->lock, flags);
}

void oc_index_release(struct oc_index *ix, oc_slot_t slot)
{
	index_unlink(ix, slot);
	oc_slots_free(ix->slots, slot, 1);
}

/* ---- after replay ---------------------------------------------------- */

#define BUILD_AHEAD	16
#define BUILD_BATCH	4096

/*
 * Two slots with one block are corruption, but to look for the other one costs a wait for
 * memory at every link of a chain.  So a filter of 32 bits a head, of which a block sets two,
 * says first which blocks cannot be there yet.  No memory for it: walk every chain.
 */
static bool build_first(u32 *filter, u32 h, oc_block_t block)
{
	const u32 x = hash_64(from_oblock(block), 10);
	const u32 bits = 1U << (x & 31) | 1U << (x >> 5);

	if (!filter || (filter[h] & bits) == bits)
		return false;
	filter[h] |= bits;
	return true;
}

/* Random blocks: without this the build waits for memory at every slot. */
static void build_prefetch(struct oc_index *ix, const u32 *filter, u32 i)
{
	u32 h;

	if (i >= ix->slots->nr || !oc_word_current(ix->slots->word[i]))
		return;
	h = oc_index_hash(ix, oc_word_block(ix->slots->word[i]));
	prefetch(&ix->head[h]);
	if (filter)
		prefetch(&filter[h]);
}

static bool build_one(struct oc_index *ix, u32 *filter, u32 slot)
{
	struct oc_slots *s = ix->slots;
	const oc_block_t block = oc_word_block(s->word[slot]);
	const u32 h = oc_index_hash(ix, block);
	u32 i = build_first(filter, h, block) ? 0 : ix->head[h];

	for (; i; i = s->next[i - 1])
		if (oc_word_block(s->word[i - 1]) == block)
			return false;
	s->next[slot] = ix->head[h];
	ix->head[h] = slot + 1;
	return true;
}

static int build_all(struct oc_index *ix, u32 *filter, oc_slot_t *bad)
{
	struct oc_slots *s = ix->slots;
	u32 i;

	for (i = 0; i < s->nr; i++) {
		if (i % BUILD_BATCH == 0)
			cond_resched();
		build_prefetch(ix, filter, i + BUILD_AHEAD);
		if (!oc_word_current(s->word[i]))
			continue;
		if (!build_one(ix, filter, i)) {
			*bad = to_slot(i);
			return -EUCLEAN;
		}
	}
	return 0;
}

int oc_index_build(struct oc_index *ix, oc_slot_t *bad)
{
	u32 *filter = oc_zalloc((size_t)ix->nr_heads * sizeof(*filter));
	int r = build_all(ix, filter, bad);

	oc_free(filter);
	return r;
}
