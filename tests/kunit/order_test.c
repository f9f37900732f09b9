// SPDX-License-Identifier: GPL-2.0-only
/* Write-back order: against a plain array of which block is dirty. */
#include "drivers/md/optcache/order.c"

#include "test.h"

#define NR	2000
#define BLOCKS	8192

struct order_test {
	struct oc_slots slots;
	struct oc_order order;
	u8 dirty[BLOCKS];	/* 1 dirty, 2 dirty and hot */
};

static int order_test_init(struct kunit *test)
{
	struct order_test *t = test_zalloc(test, sizeof(*t));

	test->priv = t;
	return oc_slots_init(&t->slots, NR);
}

static void order_test_exit(struct kunit *test)
{
	struct order_test *t = test->priv;

	oc_order_exit(&t->order);
	oc_slots_exit(&t->slots);
}

static void add(struct order_test *t, u64 block, u64 flags)
{
	oc_slot_t slot;

	if (oc_slots_alloc(&t->slots, 1, &slot))
		oc_slot_install(&t->slots, slot,
				oc_word_make(to_oblock(block), 0xff, OC_LIVE) | flags);
}

/* @n slots with random blocks; some clean, some hot. */
static void add_random(struct order_test *t, u64 *seed, u32 n)
{
	while (n--) {
		u32 block = test_below(seed, BLOCKS), kind = test_below(seed, 3);

		if (t->dirty[block])
			continue;
		t->dirty[block] = kind;
		add(t, block, (kind ? OC_WORD_DIRTY : 0) | (kind == 2 ? OC_WORD_HOT : 0));
	}
}

static void order_empty(struct kunit *test)
{
	struct order_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, oc_order_init(&t->order, 16), 0);
	t->order.cursor = to_oblock(99);
	KUNIT_EXPECT_EQ(test, oc_order_collect(&t->order, &t->slots, true), 0U);
	KUNIT_EXPECT_EQ(test, from_oblock(t->order.cursor), 0ULL);
	KUNIT_EXPECT_EQ(test, oc_order_run(&t->order, 0, 16), 0U);
}

/* Pass after pass every dirty block comes once, in ascending order. */
static void check_passes(struct kunit *test, u32 max, bool force, u64 seed)
{
	struct order_test *t = test->priv;
	u32 block = 0, i, n;
	u64 w;

	KUNIT_ASSERT_EQ(test, oc_order_init(&t->order, max), 0);
	add_random(t, &seed, NR);
	do {
		n = oc_order_collect(&t->order, &t->slots, force);
		KUNIT_ASSERT_LE(test, n, max);
		for (i = 0; i < n; i++, block++) {
			while (block < BLOCKS && (!t->dirty[block] ||
						  (t->dirty[block] == 2 && !force)))
				block++;
			KUNIT_ASSERT_EQ(test, from_oblock(t->order.item[i].block), (u64)block);
			w = oc_slot_read(&t->slots, t->order.item[i].slot);
			KUNIT_ASSERT_EQ(test, from_oblock(oc_word_block(w)), (u64)block);
		}
	} while (n);
	for (; block < BLOCKS; block++)
		KUNIT_ASSERT_TRUE(test, !t->dirty[block] || (t->dirty[block] == 2 && !force));
	KUNIT_EXPECT_EQ(test, from_oblock(t->order.cursor), 0ULL);
}

static void order_passes(struct kunit *test)
{
	check_passes(test, 100, false, 5);
}

static void order_passes_forced(struct kunit *test)
{
	check_passes(test, 37, true, 6);
}

static void order_one_at_a_time(struct kunit *test)
{
	check_passes(test, 1, true, 7);
}

static void order_all_at_once(struct kunit *test)
{
	check_passes(test, 2 * NR, true, 8);
}

static void order_last_block(struct kunit *test)
{
	struct order_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, oc_order_init(&t->order, 2), 0);
	add(t, OC_WORD_BLOCK, OC_WORD_DIRTY);
	add(t, OC_WORD_BLOCK - 1, OC_WORD_DIRTY);
	KUNIT_EXPECT_EQ(test, oc_order_collect(&t->order, &t->slots, false), 2U);
	KUNIT_EXPECT_EQ(test, oc_order_run(&t->order, 0, 9), 2U);
	KUNIT_EXPECT_EQ(test, oc_order_collect(&t->order, &t->slots, false), 0U);
}

static void order_leaves_copies(struct kunit *test)
{
	struct order_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, oc_order_init(&t->order, 4), 0);
	add(t, 1, OC_WORD_DIRTY);
	add(t, 2, OC_WORD_DIRTY);
	KUNIT_ASSERT_NE(test, oc_slot_copy_begin(&t->slots, to_slot(0), to_oblock(1), false), 0ULL);
	KUNIT_EXPECT_EQ(test, oc_order_collect(&t->order, &t->slots, true), 1U);
	KUNIT_EXPECT_EQ(test, from_oblock(t->order.item[0].block), 2ULL);
}

static void order_runs(struct kunit *test)
{
	static const u16 block[] = { 40, 10, 12, 11, 41, 99 };
	struct order_test *t = test->priv;
	u32 i;

	KUNIT_ASSERT_EQ(test, oc_order_init(&t->order, 16), 0);
	for (i = 0; i < ARRAY_SIZE(block); i++)
		add(t, block[i], OC_WORD_DIRTY);
	KUNIT_ASSERT_EQ(test, oc_order_collect(&t->order, &t->slots, false), 6U);
	KUNIT_EXPECT_EQ(test, oc_order_run(&t->order, 0, 16), 3U);
	KUNIT_EXPECT_EQ(test, oc_order_run(&t->order, 0, 2), 2U);
	KUNIT_EXPECT_EQ(test, oc_order_run(&t->order, 1, 16), 2U);
	KUNIT_EXPECT_EQ(test, oc_order_run(&t->order, 3, 16), 2U);
	KUNIT_EXPECT_EQ(test, oc_order_run(&t->order, 5, 16), 1U);
	KUNIT_EXPECT_EQ(test, oc_order_run(&t->order, 6, 16), 0U);
	KUNIT_EXPECT_EQ(test, oc_order_run(&t->order, 0, 0), 0U);
}

/* Its mapping is not durable: not to be copied, and not to be forgotten. */
static void order_sealed(struct kunit *test)
{
	struct order_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, oc_order_init(&t->order, 16), 0);
	add(t, 5, OC_WORD_DIRTY);
	t->slots.word[1] = oc_word_make(to_oblock(7), 0xff, OC_SEALED) | OC_WORD_DIRTY;
	t->slots.word[2] = oc_word_make(to_oblock(8), 0xff, OC_SEALED);
	oc_slots_recount(&t->slots);
	KUNIT_EXPECT_EQ(test, oc_order_collect(&t->order, &t->slots, true), 1U);
	KUNIT_EXPECT_EQ(test, t->order.sealed, 1U);
}

static struct kunit_case order_cases[] = {
	KUNIT_CASE(order_empty),
	KUNIT_CASE(order_passes),
	KUNIT_CASE(order_passes_forced),
	KUNIT_CASE(order_one_at_a_time),
	KUNIT_CASE(order_all_at_once),
	KUNIT_CASE(order_last_block),
	KUNIT_CASE(order_leaves_copies),
	KUNIT_CASE(order_sealed),
	KUNIT_CASE(order_runs),
	{}
};

static struct kunit_suite order_suite = {
	.name = "optcache_order",
	.init = order_test_init,
	.exit = order_test_exit,
	.test_cases = order_cases,
};

kunit_test_suite(order_suite);
