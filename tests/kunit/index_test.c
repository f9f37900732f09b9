// SPDX-License-Identifier: GPL-2.0-only
/* Index: chains, versions of a block, a random walk against a plain array. */
#include "drivers/md/optcache/index.c"

#include "test.h"

#define NR	512

struct index_test {
	struct oc_slots slots;
	struct oc_index ix;
};

static int index_test_init(struct kunit *test)
{
	struct index_test *t = test_zalloc(test, sizeof(*t));
	int err;

	test->priv = t;
	err = oc_slots_init(&t->slots, NR);
	return err ? err : oc_index_init(&t->ix, &t->slots);
}

static void index_test_exit(struct kunit *test)
{
	struct index_test *t = test->priv;

	oc_index_exit(&t->ix);
	oc_slots_exit(&t->slots);
}

static oc_slot_t add(struct kunit *test, u64 block, enum oc_state state)
{
	struct index_test *t = test->priv;
	oc_slot_t slot = OC_NO_SLOT;

	KUNIT_ASSERT_EQ(test, oc_slots_alloc(&t->slots, 1, &slot), 1U);
	oc_slot_install(&t->slots, slot, oc_word_make(to_oblock(block), 0xff, state));
	oc_index_insert(&t->ix, slot);
	return slot;
}

static void expect_found(struct kunit *test, u64 block, oc_slot_t slot, bool ending)
{
	struct index_test *t = test->priv;
	bool found_ending;

	KUNIT_EXPECT_EQ(test, from_slot(oc_index_find(&t->ix, to_oblock(block))),
			from_slot(slot));
	KUNIT_EXPECT_EQ(test,
			from_slot(oc_index_find_locked(&t->ix, to_oblock(block), &found_ending)),
			from_slot(slot));
	KUNIT_EXPECT_EQ(test, found_ending, ending);
}

static void index_find(struct kunit *test)
{
	const u64 last = OC_WORD_BLOCK;
	oc_slot_t a = add(test, 0, OC_LIVE), b = add(test, last, OC_FRESH);
	oc_slot_t c = add(test, 1ULL << 32, OC_COPY);

	expect_found(test, 0, a, false);
	expect_found(test, last, b, false);
	expect_found(test, 1ULL << 32, c, false);
	expect_found(test, 1, OC_NO_SLOT, false);
}

/* A new version in front of one that ends; the old one leaves, the new one stays. */
static void index_versions(struct kunit *test)
{
	struct index_test *t = test->priv;
	oc_slot_t old = add(test, 7, OC_LIVE), new;
	u64 was;

	KUNIT_ASSERT_TRUE(test, oc_slot_kill(&t->slots, old, 0, &was));
	expect_found(test, 7, OC_NO_SLOT, true);
	new = add(test, 7, OC_LIVE);
	expect_found(test, 7, new, true);
	KUNIT_ASSERT_TRUE(test, oc_slot_gone(&t->slots, old));
	expect_found(test, 7, new, false);
	oc_index_release(&t->ix, old);
	expect_found(test, 7, new, false);
	KUNIT_EXPECT_EQ(test, oc_slots_nr_free(&t->slots), NR - 1U);
	KUNIT_EXPECT_EQ(test, oc_slot_read(&t->slots, old), 0ULL);
}

static void index_release_anywhere(struct kunit *test)
{
	struct index_test *t = test->priv;
	oc_slot_t slot[8];
	u32 i, victim;
	u64 was;

	for (victim = 0; victim < ARRAY_SIZE(slot); victim++) {
		for (i = 0; i < ARRAY_SIZE(slot); i++) {
			slot[i] = add(test, 3, OC_LIVE);
			oc_slot_kill(&t->slots, slot[i], 0, &was);
		}
		oc_slot_gone(&t->slots, slot[victim]);
		oc_index_release(&t->ix, slot[victim]);
		for (i = 0; i < ARRAY_SIZE(slot); i++) {
			if (i == victim)
				continue;
			expect_found(test, 3, OC_NO_SLOT, true);
			oc_slot_gone(&t->slots, slot[i]);
			oc_index_release(&t->ix, slot[i]);
		}
		expect_found(test, 3, OC_NO_SLOT, false);
	}
	KUNIT_EXPECT_EQ(test, oc_slots_nr_free(&t->slots), (u32)NR);
}

/* A slot that was never inserted is freed all the same. */
static void index_release_stranger(struct kunit *test)
{
	struct index_test *t = test->priv;
	oc_slot_t slot = OC_NO_SLOT, other = add(test, 5, OC_LIVE);

	KUNIT_ASSERT_EQ(test, oc_slots_alloc(&t->slots, 1, &slot), 1U);
	oc_slot_install(&t->slots, slot, oc_word_make(to_oblock(5), 1, OC_DEAD));
	t->slots.next[from_slot(slot)] = 77;	/* left from an earlier life */
	oc_index_release(&t->ix, slot);
	KUNIT_EXPECT_EQ(test, t->slots.next[from_slot(other)], 0U);
	expect_found(test, 5, other, false);
}

/* Moves under a walker may lead it in circles: it must come to an end. */
static void index_circle_ends(struct kunit *test)
{
	struct index_test *t = test->priv;
	oc_slot_t a = add(test, 11, OC_DEAD), b = add(test, 11, OC_DEAD);

	t->slots.next[from_slot(a)] = from_slot(b) + 1;
	t->slots.next[from_slot(b)] = from_slot(a) + 1;
	KUNIT_EXPECT_EQ(test, from_slot(oc_index_find(&t->ix, to_oblock(11))),
			from_slot(OC_NO_SLOT));
}

#define BLOCKS	700

static void index_random(struct kunit *test)
{
	struct index_test *t = test->priv;
	oc_slot_t *at = test_zalloc(test, BLOCKS * sizeof(*at));
	u64 seed = 42, was;
	u32 step, i, b;

	for (b = 0; b < BLOCKS; b++)
		at[b] = OC_NO_SLOT;
	for (step = 0; step < 20000; step++) {
		b = test_below(&seed, BLOCKS);
		if (at[b] != OC_NO_SLOT) {
			KUNIT_ASSERT_TRUE(test, oc_slot_kill(&t->slots, at[b], 0, &was));
			KUNIT_ASSERT_TRUE(test, oc_slot_gone(&t->slots, at[b]));
			oc_index_release(&t->ix, at[b]);
			at[b] = OC_NO_SLOT;
		} else if (oc_slots_nr_free(&t->slots)) {
			at[b] = add(test, (u64)b << 20, OC_LIVE);
		}
		for (i = 0; i < 4; i++) {
			b = test_below(&seed, BLOCKS);
			KUNIT_ASSERT_EQ(test, from_slot(oc_index_find(&t->ix,
								      to_oblock((u64)b << 20))),
					from_slot(at[b]));
		}
	}
}

/* No stride may meet in few heads: at two blocks a head no chain is long. */
static void index_spreads(struct kunit *test)
{
	static const u32 shift[] = { 0, 1, 2, 4, 5, 8, 12, 16, 20, 27 };
	struct index_test *t = test->priv;
	u8 *chain = test_zalloc(test, t->ix.nr_heads);
	u32 i, k, h, longest;

	for (k = 0; k < ARRAY_SIZE(shift); k++) {
		memset(chain, 0, t->ix.nr_heads);
		longest = 0;
		for (i = 0; i < NR; i++) {
			h = oc_index_hash(&t->ix, to_oblock((u64)i << shift[k]));
			KUNIT_ASSERT_LT(test, h, t->ix.nr_heads);
			longest = max_t(u32, longest, ++chain[h]);
		}
		KUNIT_EXPECT_LE(test, longest, 16U);
	}
}

static void index_neighbours(struct kunit *test)
{
	struct index_test *t = test->priv;
	u32 seen = 0, i, h, line = oc_index_hash(&t->ix, to_oblock(0x123450)) / 16;

	for (i = 0; i < 16; i++) {
		h = oc_index_hash(&t->ix, to_oblock(0x123450 + i));
		KUNIT_EXPECT_EQ(test, h / 16, line);
		seen |= 1U << h % 16;
	}
	KUNIT_EXPECT_EQ(test, seen, 0xffffU);
}

static void index_build(struct kunit *test)
{
	struct index_test *t = test->priv;
	oc_slot_t bad = OC_NO_SLOT;
	u32 i;

	for (i = 0; i < NR; i += 3)
		t->slots.word[i] = oc_word_make(to_oblock(i * 5ULL << 17), 1, OC_LIVE);
	KUNIT_EXPECT_EQ(test, oc_index_build(&t->ix, &bad), 0);
	for (i = 0; i < NR; i += 3)
		expect_found(test, i * 5ULL << 17, to_slot(i), false);
}

static void index_build_finds_twins(struct kunit *test)
{
	struct index_test *t = test->priv;
	oc_slot_t bad = OC_NO_SLOT;
	u32 i;

	for (i = 0; i < NR; i++)
		t->slots.word[i] = oc_word_make(to_oblock(i), 1, OC_LIVE);
	t->slots.word[NR - 1] = oc_word_make(to_oblock(17), 1, OC_LIVE);
	KUNIT_EXPECT_EQ(test, oc_index_build(&t->ix, &bad), -EUCLEAN);
	KUNIT_EXPECT_EQ(test, from_slot(bad), NR - 1U);
}

/* No memory for the filter: slower, and the same. */
static void index_build_without_filter(struct kunit *test)
{
	struct index_test *t = test->priv;
	oc_slot_t bad = OC_NO_SLOT;
	u32 i;

	for (i = 0; i < NR; i++)
		t->slots.word[i] = oc_word_make(to_oblock(i), 1, OC_LIVE);
	KUNIT_EXPECT_EQ(test, build_all(&t->ix, NULL, &bad), 0);
	for (i = 0; i < NR; i++)
		expect_found(test, i, to_slot(i), false);
	memset(t->ix.head, 0, t->ix.nr_heads * sizeof(*t->ix.head));
	t->slots.word[NR - 1] = oc_word_make(to_oblock(17), 1, OC_LIVE);
	KUNIT_EXPECT_EQ(test, build_all(&t->ix, NULL, &bad), -EUCLEAN);
	KUNIT_EXPECT_EQ(test, from_slot(bad), NR - 1U);
}

static void index_smallest(struct kunit *test)
{
	struct oc_slots s = {};
	struct oc_index ix;

	KUNIT_ASSERT_EQ(test, oc_slots_init(&s, OPTCACHE_MIN_SLOTS), 0);
	KUNIT_ASSERT_EQ(test, oc_index_init(&ix, &s), 0);
	KUNIT_EXPECT_EQ(test, ix.nr_heads, 32U);
	KUNIT_EXPECT_EQ(test, from_slot(oc_index_find(&ix, to_oblock(0))), from_slot(OC_NO_SLOT));
	oc_index_exit(&ix);
	oc_slots_exit(&s);
}

static struct kunit_case index_cases[] = {
	KUNIT_CASE(index_find),
	KUNIT_CASE(index_versions),
	KUNIT_CASE(index_release_anywhere),
	KUNIT_CASE(index_release_stranger),
	KUNIT_CASE(index_circle_ends),
	KUNIT_CASE(index_random),
	KUNIT_CASE(index_spreads),
	KUNIT_CASE(index_neighbours),
	KUNIT_CASE(index_build),
	KUNIT_CASE(index_build_finds_twins),
	KUNIT_CASE(index_build_without_filter),
	KUNIT_CASE(index_smallest),
	{}
};

static struct kunit_suite index_suite = {
	.name = "optcache_index",
	.init = index_test_init,
	.exit = index_test_exit,
	.test_cases = index_cases,
};

kunit_test_suite(index_suite);
