// SPDX-License-Identifier: GPL-2.0-only
/* The world of the scenarios; see world.h.  What must be true of it is in check.c. */
#include "world.h"

struct world *world;
u64 world_hits;

static u64 number[NR_BLOCKS];
static u32 head[NR_BLOCKS];

/* ---- blocks ---------------------------------------------------------- */

static u32 head_of(u64 block)
{
	return oc_index_hash(&world->index, to_oblock(block));
}

static bool suits(enum block block, u32 head, u32 head_of_a)
{
	const bool same_line = head >> OC_INDEX_LINE_SHIFT == head_of_a >> OC_INDEX_LINE_SHIFT;

	switch (block) {
	case A:
		return true;
	case B:
		return head == head_of_a;
	case C:
		return same_line && head != head_of_a;
	default:
		return !same_line;
	}
}

static void number_blocks(void)
{
	enum block block;
	u64 n = 1;

	for (block = A; block < NR_BLOCKS; block++, n += 1 << OC_INDEX_LINE_SHIFT) {
		while (!suits(block, head_of(n), head[A]))
			n++;
		number[block] = n;
		head[block] = head_of(n);
	}
}

u32 block_head(enum block block)
{
	return head[block];
}

oc_block_t block_number(enum block block)
{
	return to_oblock(number[block]);
}

enum block block_of(u64 word)
{
	enum block block;

	for (block = A; block < NR_BLOCKS; block++)
		if (number[block] == from_oblock(oc_word_block(word)))
			break;
	return block;
}

/* ---- making it ------------------------------------------------------- */

static void make_live(void)
{
	struct oc_slots *s = &world->slots;
	struct oc_index *ix = &world->index;
	enum block block;

	il_live(s, sizeof(*s));
	il_live(&world->policy, sizeof(world->policy));
	il_live(s->word, HOT_SLOTS * sizeof(*s->word));
	il_live(s->next, HOT_SLOTS * sizeof(*s->next));
	il_live(s->group_dirty, sizeof(*s->group_dirty));
	il_live(s->map, sizeof(*s->map));
	il_live(s->summary, sizeof(*s->summary));
	for (block = B; block < NR_BLOCKS; block++)
		il_live(&ix->head[head[block]], sizeof(*ix->head));
	for (block = C; block < NR_BLOCKS; block++)
		il_live(&ix->stripe[head[block] >> OC_INDEX_LINE_SHIFT], sizeof(u32));
	il_ghost(&world->ghost, sizeof(world->ghost));
}

void world_make(u32 free)
{
	oc_slot_t first;

	il_reset();
	world_hits = 0;
	world = il_zalloc(sizeof(*world));
	if (!world || oc_slots_init(&world->slots, NR_SLOTS) ||
	    oc_index_init(&world->index, &world->slots)) {
		fprintf(stderr, "interleave: the arena is too small\n");
		exit(2);
	}
	oc_policy_init(&world->policy, &world->slots);
	number_blocks();
	/* nobody gets the cold ones; the free ones are the first to come */
	oc_slots_alloc(&world->slots, NR_SLOTS, &first);
	oc_slots_free(&world->slots, to_slot(0), free);
	world->slots.cursor = 0;
	make_live();
}

oc_slot_t world_add(enum block block, u8 valid, enum oc_state state, u64 flags)
{
	struct oc_slots *s = &world->slots;
	struct ghost_slot *g;
	oc_slot_t slot;
	u32 i;

	for (i = HOT_SLOTS; i--;)
		if (!ghost_of(to_slot(i))->owned && !test_bit(i, s->map))
			break;
	slot = to_slot(i);
	g = ghost_of(slot);
	oc_slot_install(s, slot, oc_word_make(block_number(block), valid, state) | flags);
	oc_index_insert(&world->index, slot);
	world->ghost.block[block].newest = 1;
	world->ghost.block[block].completed = 1;
	world->ghost.block[block].origin = !(flags & OC_WORD_DIRTY);
	*g = (struct ghost_slot) {
		.owned = true, .chained = INSIDE, .block = block, .data_block = block,
		.data = 1, .readers = (flags & OC_WORD_READERS) / OC_WORD_READER,
		.writers = (flags & OC_WORD_WRITERS) / OC_WORD_WRITER,
		.mapped = state != OC_FRESH, .valid = valid, .durable = valid,
		.dirty = !!(flags & OC_WORD_DIRTY),
	};
	return slot;
}

void world_add_streams(void)
{
	world->streams = il_zalloc(sizeof(*world->streams));
	oc_streams_init(world->streams);
	il_live(world->streams, ALIGN_DOWN(sizeof(*world->streams), 4));
}

/* ---- text ------------------------------------------------------------ */

static const char *const state_name[] = {
	"FREE", "FRESH", "SEALED", "LIVE", "COPY", "DEAD", "GONE", "?",
};

const char *word_text(u64 word)
{
	static char text[96];

	if (!word)
		return "FREE";
	snprintf(text, sizeof(text), "%c %s valid %02x%s%s freq %llu, %llu readers, %llu writers",
		 "ABCD?"[block_of(word)], state_name[oc_word_state(word)], oc_word_valid(word),
		 word & OC_WORD_DIRTY ? " dirty" : "", word & OC_WORD_HOT ? " hot" : "",
		 (word & OC_WORD_FREQ) >> OC_WORD_FREQ_SHIFT,
		 (word & OC_WORD_READERS) / OC_WORD_READER,
		 (word & OC_WORD_WRITERS) / OC_WORD_WRITER);
	return text;
}

/* The place of @p in an array, or -1. */
static long place(const void *p, const void *array, size_t nr, size_t size)
{
	const size_t offset = (uintptr_t)p - (uintptr_t)array;

	return offset < nr * size ? (long)(offset / size) : -1;
}

static bool is_word(const void *p)
{
	return place(p, world->slots.word, NR_SLOTS, sizeof(u64)) >= 0;
}

static const char *world_name(const void *p)
{
	const struct oc_slots *s = &world->slots;
	const struct oc_index *ix = &world->index;
	const struct ghost *gh = &world->ghost;
	const struct {
		const char *name;
		const void *array;
		size_t nr, size;
	} array[] = {
		{ "word", s->word, s->nr, sizeof(*s->word) },
		{ "next", s->next, s->nr, sizeof(*s->next) },
		{ "group_dirty", s->group_dirty, 1, sizeof(*s->group_dirty) },
		{ "map", s->map, 1, sizeof(*s->map) },
		{ "head", ix->head, ix->nr_heads, sizeof(*ix->head) },
		{ "stripe", ix->stripe, OC_INDEX_STRIPES, sizeof(*ix->stripe) },
		{ "range", gh->block, NR_BLOCKS, sizeof(*gh->block) },
		{ "streams", world->streams, !!world->streams, sizeof(*world->streams) },
	};
	static char text[32];
	u32 i;

	if (p == &s->free_lock)
		return "free_lock";
	if (p == &s->nr_free)
		return "nr_free";
	if (p == &s->nr_mapped)
		return "nr_mapped";
	if (p == &s->nr_dirty)
		return "nr_dirty";
	if (p == &gh->journal)
		return "journal.lock";
	for (i = 0; i < ARRAY_SIZE(array); i++) {
		const long at = place(p, array[i].array, array[i].nr, array[i].size);

		if (at < 0)
			continue;
		snprintf(text, sizeof(text), "%s[%ld]", array[i].name, at);
		return text;
	}
	return "something";
}

static const char *world_value(const void *p, u64 v)
{
	static char text[32];

	if (is_word(p))
		return word_text(v);
	snprintf(text, sizeof(text), "%lld", (long long)v);
	return text;
}

/* ---- hooks ----------------------------------------------------------- */

const struct il_hooks world_hooks = {
	.step = world_step,
	.check = world_check,
	.end = world_end,
	.name = world_name,
	.value = world_value,
};
