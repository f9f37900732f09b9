// SPDX-License-Identifier: GPL-2.0-only
/* Policy: which slots the hand of the clock offers. */
#include "drivers/md/optcache/policy.c"

#include "test.h"

#define NR	100

struct policy_test {
	struct oc_slots slots;
	struct oc_policy policy;
	oc_slot_t victim[NR];
};

static int policy_test_init(struct kunit *test)
{
	struct policy_test *t = test_zalloc(test, sizeof(*t));
	int err;

	test->priv = t;
	err = oc_slots_init(&t->slots, NR);
	if (!err)
		oc_policy_init(&t->policy, &t->slots);
	return err;
}

static void policy_test_exit(struct kunit *test)
{
	struct policy_test *t = test->priv;

	oc_slots_exit(&t->slots);
}

static void fill(struct policy_test *t, u64 flags)
{
	oc_slot_t first;
	u32 i, n = oc_slots_alloc(&t->slots, NR, &first);

	for (i = 0; i < n; i++)
		oc_slot_install(&t->slots, to_slot(i),
				oc_word_make(to_oblock(i), 0xff, OC_LIVE) | flags);
}

static void policy_empty(struct kunit *test)
{
	struct policy_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, oc_policy_victims(&t->policy, t->victim, NR, 10 * NR), 0U);
	KUNIT_EXPECT_EQ(test, oc_policy_victims(&t->policy, t->victim, 0, NR), 0U);
}

static void policy_takes_neighbours(struct kunit *test)
{
	struct policy_test *t = test->priv;
	u32 i;

	fill(t, 0);
	t->policy.hand = NR - 3;
	KUNIT_EXPECT_EQ(test, oc_policy_victims(&t->policy, t->victim, 6, NR), 6U);
	for (i = 0; i < 6; i++)
		KUNIT_EXPECT_EQ(test, from_slot(t->victim[i]), (NR - 3 + i) % NR);
}

static void policy_scan_limit(struct kunit *test)
{
	struct policy_test *t = test->priv;

	fill(t, OC_WORD_DIRTY);
	KUNIT_EXPECT_EQ(test, oc_policy_victims(&t->policy, t->victim, NR, 7), 0U);
	KUNIT_EXPECT_EQ(test, t->policy.hand, 7U);
}

static void policy_spares(struct kunit *test)
{
	static const u64 spared[] = { OC_WORD_DIRTY, OC_WORD_READER, OC_WORD_WRITER };
	struct policy_test *t = test->priv;
	u32 i, state;

	fill(t, 0);
	for (i = 0; i < ARRAY_SIZE(spared); i++)
		t->slots.word[i] |= spared[i];
	for (state = OC_FREE; state <= OC_GONE; state++)
		t->slots.word[i + state] = oc_word_make(to_oblock(1), 1, state);
	KUNIT_EXPECT_EQ(test, oc_policy_victims(&t->policy, t->victim, 2, NR), 2U);
	KUNIT_EXPECT_EQ(test, from_slot(t->victim[0]), i + OC_LIVE);
	KUNIT_EXPECT_EQ(test, from_slot(t->victim[1]), i + OC_GONE + 1U);
}

/* A slot that was read f times survives f passes of the hand. */
static void policy_frequency(struct kunit *test)
{
	struct policy_test *t = test->priv;
	u32 i, pass, k, n;

	fill(t, 0);
	for (i = 0; i < NR; i++)
		for (k = 0; k < i % 6; k++) {
			oc_slot_pin_read(&t->slots, to_slot(i), to_oblock(i), 1);
			oc_slot_unpin_read(&t->slots, to_slot(i));
		}
	for (pass = 0; pass < 4; pass++) {
		n = oc_policy_victims(&t->policy, t->victim, NR, NR);
		for (i = 0; i < n; i++) {
			u64 was;

			k = from_slot(t->victim[i]) % 6;
			KUNIT_EXPECT_EQ(test, min_t(u32, k, 3), pass);
			KUNIT_EXPECT_TRUE(test, oc_slot_kill(&t->slots, t->victim[i], 0, &was));
		}
	}
	KUNIT_EXPECT_EQ(test, (u32)atomic64_read(&t->slots.nr_mapped), 0U);
}

static struct kunit_case policy_cases[] = {
	KUNIT_CASE(policy_empty),
	KUNIT_CASE(policy_takes_neighbours),
	KUNIT_CASE(policy_scan_limit),
	KUNIT_CASE(policy_spares),
	KUNIT_CASE(policy_frequency),
	{}
};

static struct kunit_suite policy_suite = {
	.name = "optcache_policy",
	.init = policy_test_init,
	.exit = policy_test_exit,
	.test_cases = policy_cases,
};

kunit_test_suite(policy_suite);
