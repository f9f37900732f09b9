// SPDX-License-Identifier: GPL-2.0-only
/*
 * What must be true of the world after every step, and in the end.  Runs between steps, so
 * it sees every state that any thread could see.
 */
#include "world.h"

static u64 word_of(u32 slot)
{
	return world->slots.word[slot];
}

static bool in_map(u32 slot)
{
	return test_bit(slot, world->slots.map);
}

/* ---- chains ---------------------------------------------------------- */

/* Slots in the chain of head @h, as a set. */
static u32 chain_of(u32 h)
{
	u32 i, set = 0;

	for (i = world->index.head[h]; i; i = world->slots.next[i - 1]) {
		if (i > HOT_SLOTS) {
			il_fail("the chain of head %u leads to slot %u", h, i - 1);
			break;
		}
		if (set & 1U << (i - 1)) {
			il_fail("the chain of head %u has no end", h);
			break;
		}
		set |= 1U << (i - 1);
	}
	return set;
}

/* Wherever a walker stands, if nobody disturbs it, it comes to an end. */
static void check_links(void)
{
	u32 first, i, n;

	for (first = 0; first < HOT_SLOTS; first++) {
		for (i = first + 1, n = 0; i && n <= HOT_SLOTS; n++)
			i = world->slots.next[i - 1];
		if (i)
			il_fail("whoever stands on slot %u walks for ever", first);
	}
}

static bool stripe_locked(u32 h)
{
	return world->index.stripe[h >> OC_INDEX_LINE_SHIFT].lock.held;
}

static void check_chain(u32 h)
{
	u32 set = chain_of(h), i;

	for (i = 0; i < HOT_SLOTS; i++) {
		const struct ghost_slot *g = &world->ghost.slot[i];
		const bool found = set & 1U << i, belongs = block_head(g->block) == h;

		if (found && (!belongs || g->chained == OUT))
			il_fail("slot %u is in the chain of head %u", i, h);
		if (!found && belongs && g->chained == INSIDE)
			il_fail("slot %u is not in its chain", i);
		if (found && in_map(i) && !world->slots.free_lock.held)
			il_fail("slot %u is free, and in a chain", i);
	}
}

static void check_chains(void)
{
	enum block block;

	check_links();
	for (block = A; block < NR_BLOCKS; block++)
		if (!stripe_locked(block_head(block)))
			check_chain(block_head(block));
}

/* ---- slots ----------------------------------------------------------- */

static void check_pins(u32 slot, u64 w, const struct ghost_slot *g)
{
	const u32 readers = (w & OC_WORD_READERS) / OC_WORD_READER;
	const u32 writers = (w & OC_WORD_WRITERS) / OC_WORD_WRITER;

	if (abs((int)(readers - g->readers)) > g->moving ||
	    abs((int)(writers - g->writers)) > g->moving)
		il_fail("slot %u has pins for %u readers and %u writers, there are %u and %u",
			slot, readers, writers, g->readers, g->writers);
	if (oc_word_state(w) == OC_GONE && !(w & OC_WORD_PINS) && !g->moving &&
	    g->chained != LEAVING)
		il_fail("slot %u is GONE, and nobody is going to free it", slot);
}

/* S2: what the records up to the head say of it, when nobody is at it. */
static void check_recorded(u32 slot, u64 w, const struct ghost_slot *g)
{
	if (world->ghost.journal.held)
		return;
	if (record_lives(w) != !!g->mapped)
		il_fail("slot %u is %s, and its last record says otherwise (S2)", slot,
			g->mapped ? "not mapped" : "mapped");
	if (g->mapped && oc_word_valid(w) != g->valid)
		il_fail("slot %u has valid %02x, and its last record says %02x (S2)", slot,
			oc_word_valid(w), g->valid);
	if (g->mapped && !!(w & OC_WORD_DIRTY) != g->dirty)
		il_fail("slot %u is %s, and its last record says otherwise (S2)", slot,
			g->dirty ? "clean" : "dirty");
}

static void check_data(u32 slot, u64 w, const struct ghost_slot *g)
{
	if (!g->owned)
		il_fail("slot %u is mapped, and was released", slot);
	if (block_of(w) != g->block)
		il_fail("slot %u is mapped for another block", slot);
	if (g->data_block != g->block)
		il_fail("slot %u is mapped, and holds another block", slot);
	if (!(w & OC_WORD_DIRTY) && g->data != world->ghost.block[g->block].origin)
		il_fail("slot %u is clean, and the origin has version %u instead of %u", slot,
			world->ghost.block[g->block].origin, g->data);
}

static void check_free(u32 slot, u64 w, const struct ghost_slot *g)
{
	if (w)
		il_fail("slot %u is free, and has a word: %s", slot, word_text(w));
	if (g->owned)
		il_fail("slot %u is free, and was not released", slot);
}

static void check_slot(u32 slot)
{
	const struct ghost_slot *g = &world->ghost.slot[slot];
	const u64 w = word_of(slot);

	check_pins(slot, w, g);
	check_recorded(slot, w, g);
	if (oc_word_current(w))
		check_data(slot, w, g);
	if (in_map(slot) && !world->slots.free_lock.held)
		check_free(slot, w, g);
}

/* ---- counters -------------------------------------------------------- */

struct counts {
	u32 mapped, dirty, free;
	u8 of_block[NR_BLOCKS];
};

static struct counts count(void)
{
	struct counts n = { .mapped = 0 };
	u32 i;

	for (i = 0; i < HOT_SLOTS; i++) {
		n.free += in_map(i);
		if (!oc_word_current(word_of(i)))
			continue;
		n.mapped++;
		n.dirty += !!(word_of(i) & OC_WORD_DIRTY);
		if (block_of(word_of(i)) < NR_BLOCKS)
			n.of_block[block_of(word_of(i))]++;
	}
	return n;
}

static void check_counter(const char *name, s64 counter, u32 truth, bool exact)
{
	if (counter < truth || (exact && counter != truth))
		il_fail("%s is %lld, and should be %u", name, (long long)counter, truth);
}

static void check_counters(bool exact)
{
	const struct oc_slots *s = &world->slots;
	const struct counts n = count();
	enum block block;

	for (block = A; block < NR_BLOCKS; block++)
		if (n.of_block[block] > 1)
			il_fail("block %c has two current slots (S1)", "ABCD"[block]);
	check_counter("nr_mapped", s->nr_mapped.counter, n.mapped, exact);
	check_counter("nr_dirty", s->nr_dirty.counter, n.dirty, exact);
	check_counter("group_dirty", s->group_dirty[0].counter, n.dirty, exact);
	if (!s->free_lock.held)
		check_counter("nr_free", s->nr_free, n.free, true);
}

/* ---- streams --------------------------------------------------------- */

static u32 times_in_hash(const struct oc_streams *st, u16 stream)
{
	u32 bucket, n = 0;
	u16 i;

	for (bucket = 0; bucket < OC_STREAM_HASH; bucket++)
		for (i = st->hash[bucket]; i && n <= OC_STREAMS; i = st->stream[i].hash_next)
			n += i == stream;
	return n;
}

/* Each is in the ring once; in the hash once, if it has been used. */
static void check_streams(const struct oc_streams *st)
{
	bool in_ring[OC_STREAMS + 1] = { false };
	u16 i;

	for (i = st->stream[0].lru_next; i && !in_ring[i]; i = st->stream[i].lru_next) {
		in_ring[i] = true;
		if (st->stream[st->stream[i].lru_next].lru_prev != i)
			il_fail("the ring of streams is torn at %u", i);
	}
	if (i)
		il_fail("the ring of streams does not close");
	for (i = 1; i <= OC_STREAMS; i++)
		if (!in_ring[i] || times_in_hash(st, i) != !!st->stream[i].sectors)
			il_fail("stream %u is lost", i);
}

/* ---- hooks ----------------------------------------------------------- */

void world_check(void)
{
	u32 i;

	for (i = 0; i < HOT_SLOTS; i++)
		check_slot(i);
	check_counters(false);
	check_chains();
}

/* Is the block still there for whoever looks for it? */
static void look(struct watch *watch)
{
	const u32 set = chain_of(block_head(watch->block));
	bool current = false, dead = false;
	u32 i;

	for (i = 0; i < HOT_SLOTS; i++) {
		if (!(set & 1U << i) || block_of(word_of(i)) != watch->block)
			continue;
		current |= oc_word_current(word_of(i));
		dead |= oc_word_state(word_of(i)) == OC_DEAD;
	}
	watch->present &= current;
	watch->undecided &= current || dead;
}

void world_step(void)
{
	u32 i;

	for (i = 0; i < IL_THREADS; i++)
		if (world->ghost.watch[i].active)
			look(&world->ghost.watch[i]);
}

void world_end(void)
{
	u32 i;

	world_check();
	check_counters(true);
	if (world->streams)
		check_streams(world->streams);
	for (i = 0; i < HOT_SLOTS; i++) {
		if (oc_word_state(word_of(i)) == OC_DEAD || oc_word_state(word_of(i)) == OC_GONE)
			il_fail("the end of slot %u was forgotten: %s", i, word_text(word_of(i)));
		if (world->ghost.slot[i].owned && !oc_word_current(word_of(i)))
			il_fail("slot %u is lost", i);
	}
	for (; i < NR_SLOTS; i++)
		if (word_of(i) || in_map(i))
			il_fail("slot %u was touched, which is nobody's", i);
}
