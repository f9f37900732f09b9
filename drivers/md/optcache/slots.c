// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slots: transitions of the slot word, the free map, the counters.
 *
 * Counters are raised before a change becomes visible and lowered after it, so
 * that they never fall below the truth, let alone below zero.
 */
#include <optcache/slots.h>

static_assert(BITS_PER_LONG == 64);

/* ---- counters -------------------------------------------------------- */

static void count_dirty(struct oc_slots *s, oc_slot_t slot, int n)
{
	atomic64_add(n, &s->nr_dirty);
	atomic_add(n, &s->group_dirty[from_slot(slot) / OC_GROUP_SLOTS]);
}

/* ---- free map; free_lock held ---------------------------------------- */

static u32 map_words(u32 nr)
{
	return BITS_TO_LONGS(nr);
}

/* First free slot from @from on, or nr. */
static u32 map_find(const struct oc_slots *s, u32 from)
{
	u32 w = from / BITS_PER_LONG;
	unsigned long bits;

	if (from >= s->nr)
		return s->nr;
	bits = s->map[w] & ~0UL << from % BITS_PER_LONG;
	if (!bits) {
		w = find_next_bit(s->summary, map_words(s->nr), w + 1);
		if (w >= map_words(s->nr))
			return s->nr;
		bits = s->map[w];
	}
	return w * BITS_PER_LONG + __ffs(bits);
}

static void map_set(struct oc_slots *s, u32 first, u32 n)
{
	while (n) {
		u32 w = first / BITS_PER_LONG, shift = first % BITS_PER_LONG;
		u32 part = min_t(u32, n, BITS_PER_LONG - shift);

		s->map[w] |= ~0UL >> (BITS_PER_LONG - part) << shift;
		__set_bit(w, s->summary);
		first += part;
		n -= part;
	}
}

static void map_clear(struct oc_slots *s, u32 first, u32 n)
{
	while (n) {
		u32 w = first / BITS_PER_LONG, shift = first % BITS_PER_LONG;
		u32 part = min_t(u32, n, BITS_PER_LONG - shift);

		s->map[w] &= ~(~0UL >> (BITS_PER_LONG - part) << shift);
		if (!s->map[w])
			__clear_bit(w, s->summary);
		first += part;
		n -= part;
	}
}

/* ---- life ------------------------------------------------------------ */

static void *slots_zalloc(struct oc_slots *s, size_t bytes)
{
	void *p = oc_zalloc(bytes);

	if (p)
		s->bytes += PAGE_ALIGN(bytes);
	return p;
}

int oc_slots_init(struct oc_slots *s, u32 nr)
{
	size_t words = map_words(nr);

	s->nr = nr;
	s->nr_groups = DIV_ROUND_UP(nr, OC_GROUP_SLOTS);
	spin_lock_init(&s->free_lock);
	s->word = slots_zalloc(s, (size_t)nr * sizeof(*s->word));
	s->next = slots_zalloc(s, (size_t)nr * sizeof(*s->next));
	s->group_dirty = slots_zalloc(s, s->nr_groups * sizeof(*s->group_dirty));
	s->map = slots_zalloc(s, words * sizeof(long));
	s->summary = slots_zalloc(s, BITS_TO_LONGS(words) * sizeof(long));
	if (!s->word || !s->next || !s->group_dirty || !s->map || !s->summary) {
		oc_slots_exit(s);
		return -ENOMEM;
	}
	map_set(s, 0, nr);
	s->nr_free = nr;
	return 0;
}

void oc_slots_exit(struct oc_slots *s)
{
	oc_free(s->summary);
	oc_free(s->map);
	oc_free(s->group_dirty);
	oc_free(s->next);
	oc_free(s->word);
	memset(s, 0, sizeof(*s));
}

static void recount_group(struct oc_slots *s, u32 group)
{
	u32 i = group * OC_GROUP_SLOTS, end = min_t(u32, i + OC_GROUP_SLOTS, s->nr);
	u32 dirty = 0, mapped = 0, used = 0;

	for (; i < end; i++) {
		u64 w = s->word[i];

		if (oc_word_state(w) == OC_FREE)
			continue;
		map_clear(s, i, 1);
		used++;
		if (!oc_word_current(w))
			continue;
		mapped++;
		if (w & OC_WORD_DIRTY)
			dirty++;
	}
	atomic_set(&s->group_dirty[group], dirty);
	atomic64_add(dirty, &s->nr_dirty);
	atomic64_add(mapped, &s->nr_mapped);
	s->nr_free -= used;
}

void oc_slots_recount(struct oc_slots *s)
{
	u32 group;

	map_set(s, 0, s->nr);
	s->nr_free = s->nr;
	s->cursor = 0;
	atomic64_set(&s->nr_dirty, 0);
	atomic64_set(&s->nr_mapped, 0);
	for (group = 0; group < s->nr_groups; group++) {
		recount_group(s, group);
		cond_resched();
	}
}

/* ---- allocation ------------------------------------------------------ */

u32 oc_slots_alloc(struct oc_slots *s, u32 want, oc_slot_t *first)
{
	unsigned long flags;
	u32 start, end, n = 0;

	spin_lock_irqsave(&s->free_lock, flags);
	if (!s->nr_free || !want)
		goto out;
	start = map_find(s, s->cursor);
	if (start >= s->nr)
		start = map_find(s, 0);
	if (start >= s->nr)
		goto out;
	end = start + min_t(u32, want, s->nr - start);
	n = find_next_zero_bit(s->map, end, start) - start;
	map_clear(s, start, n);
	WRITE_ONCE(s->nr_free, s->nr_free - n);
	s->cursor = start + n;
	*first = to_slot(start);
out:
	spin_unlock_irqrestore(&s->free_lock, flags);
	return n;
}

void oc_slots_free(struct oc_slots *s, oc_slot_t first, u32 n)
{
	unsigned long flags;
	u32 i;

	for (i = 0; i < n; i++)
		WRITE_ONCE(s->word[from_slot(first) + i], 0);
	spin_lock_irqsave(&s->free_lock, flags);
	map_set(s, from_slot(first), n);
	WRITE_ONCE(s->nr_free, s->nr_free + n);
	spin_unlock_irqrestore(&s->free_lock, flags);
}

/* ---- transitions ----------------------------------------------------- */

void oc_slot_install(struct oc_slots *s, oc_slot_t slot, u64 word)
{
	atomic64_inc(&s->nr_mapped);
	if (word & OC_WORD_DIRTY)
		count_dirty(s, slot, 1);
	WRITE_ONCE(s->word[from_slot(slot)], word);
}

static unsigned int word_pins(u64 w)
{
	return (w & OC_WORD_READERS) / OC_WORD_READER + (w & OC_WORD_WRITERS) / OC_WORD_WRITER;
}

bool oc_slot_kill(struct oc_slots *s, oc_slot_t slot, unsigned int max_pins, u64 *was)
{
	u64 old = oc_slot_read(s, slot);

	do {
		if (!oc_word_current(old) || word_pins(old) > max_pins)
			return false;
	} while (!oc_slot_cmpxchg(s, slot, &old, oc_word_with_state(old, OC_DEAD)));

	atomic64_dec(&s->nr_mapped);
	if (old & OC_WORD_DIRTY)
		count_dirty(s, slot, -1);
	*was = old;
	return true;
}

bool oc_slot_gone(struct oc_slots *s, oc_slot_t slot)
{
	u64 old = oc_slot_read(s, slot);

	do {
		if (oc_word_state(old) != OC_DEAD)
			return false;
	} while (!oc_slot_cmpxchg(s, slot, &old, oc_word_with_state(old, OC_GONE)));
	return !(old & OC_WORD_PINS);
}

u64 oc_slot_extend(struct oc_slots *s, oc_slot_t slot, u8 valid)
{
	u64 old = oc_slot_read(s, slot), new;

	do {
		if (!oc_word_current(old))
			return 0;
		new = oc_word_with_state(old, OC_SEALED) | (u64)valid << OC_WORD_VALID_SHIFT;
	} while (!oc_slot_cmpxchg(s, slot, &old, new));
	return new;
}

u64 oc_slot_record(struct oc_slots *s, oc_slot_t slot)
{
	u64 old = oc_slot_read(s, slot), new;

	do {
		if (oc_word_state(old) != OC_FRESH)
			return 0;
		new = oc_word_with_state(old, OC_SEALED);
	} while (!oc_slot_cmpxchg(s, slot, &old, new));
	return new;
}

void oc_slot_confirm(struct oc_slots *s, oc_slot_t slot, u8 valid)
{
	u64 old = oc_slot_read(s, slot);

	do {
		if (oc_word_state(old) != OC_SEALED || oc_word_valid(old) != valid)
			return;
	} while (!oc_slot_cmpxchg(s, slot, &old, oc_word_with_state(old, OC_LIVE)));
}

void oc_slot_void(struct oc_slots *s, oc_slot_t slot, oc_block_t block)
{
	WRITE_ONCE(s->word[from_slot(slot)], oc_word_make(block, 0, OC_DEAD));
}

u64 oc_slot_copy_begin(struct oc_slots *s, oc_slot_t slot, oc_block_t block, bool force)
{
	u64 old = oc_slot_read(s, slot), new;

	do {
		if (oc_word_state(old) != OC_LIVE || oc_word_block(old) != block ||
		    !(old & OC_WORD_DIRTY) || (old & OC_WORD_WRITERS) ||
		    (old & OC_WORD_READERS) == OC_WORD_READERS ||
		    (!force && (old & OC_WORD_HOT)))
			return 0;
		new = oc_word_with_state(old, OC_COPY) + OC_WORD_READER;
	} while (!oc_slot_cmpxchg(s, slot, &old, new));
	return new;
}

bool oc_slot_copy_end(struct oc_slots *s, oc_slot_t slot, bool clean)
{
	u64 old = oc_slot_read(s, slot), new;

	do {
		if (oc_word_state(old) != OC_COPY)
			return false;
		new = oc_word_with_state(old, OC_LIVE);
		if (clean)
			new &= ~OC_WORD_DIRTY;
	} while (!oc_slot_cmpxchg(s, slot, &old, new));

	if (clean)
		count_dirty(s, slot, -1);
	return clean;
}

/* Only dirty slots are ever asked whether they are hot. */
void oc_slots_cool(struct oc_slots *s, u32 group)
{
	u32 i = group * OC_GROUP_SLOTS, end = min_t(u32, i + OC_GROUP_SLOTS, s->nr);

	if (!atomic_read(&s->group_dirty[group]))
		return;
	for (; i < end; i++) {
		u64 old = oc_slot_read(s, to_slot(i));

		while ((old & OC_WORD_HOT) &&
		       !oc_slot_cmpxchg(s, to_slot(i), &old, old & ~OC_WORD_HOT))
			;
	}
}
