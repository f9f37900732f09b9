// SPDX-License-Identifier: GPL-2.0-only
/* Slots: the free map, every transition of a slot word, counters, memory. */
#include "drivers/md/optcache/slots.c"

#include "test.h"

#include <optcache/index.h>

#define NR	(2 * OC_GROUP_SLOTS + 3)	/* three groups; not a multiple of 64 */
#define BLOCK	to_oblock(OC_WORD_BLOCK)	/* the last there can be */

static int slots_test_init(struct kunit *test)
{
	struct oc_slots *s = test_zalloc(test, sizeof(*s));

	test->priv = s;
	return oc_slots_init(s, NR);
}

static void slots_test_exit(struct kunit *test)
{
	oc_slots_exit(test->priv);
}

/* One allocated slot with this word. */
static oc_slot_t installed(struct kunit *test, u64 word)
{
	oc_slot_t slot = OC_NO_SLOT;

	KUNIT_ASSERT_EQ(test, oc_slots_alloc(test->priv, 1, &slot), 1U);
	oc_slot_install(test->priv, slot, word);
	return slot;
}

static u64 live(u64 flags)
{
	return oc_word_make(BLOCK, OPTCACHE_VALID_ALL, OC_LIVE) | flags;
}

static void expect_counts(struct kunit *test, u32 mapped, u32 dirty)
{
	struct oc_slots *s = test->priv;
	u32 sum = 0, i;

	for (i = 0; i < s->nr_groups; i++)
		sum += atomic_read(&s->group_dirty[i]);
	KUNIT_EXPECT_EQ(test, (u32)atomic64_read(&s->nr_mapped), mapped);
	KUNIT_EXPECT_EQ(test, (u32)atomic64_read(&s->nr_dirty), dirty);
	KUNIT_EXPECT_EQ(test, sum, dirty);
}

/* ---- free map -------------------------------------------------------- */

static void slots_alloc_runs(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	oc_slot_t first = OC_NO_SLOT;

	KUNIT_EXPECT_EQ(test, oc_slots_alloc(s, 256, &first), 256U);
	KUNIT_EXPECT_EQ(test, from_slot(first), 0U);
	KUNIT_EXPECT_EQ(test, oc_slots_alloc(s, 1, &first), 1U);
	KUNIT_EXPECT_EQ(test, from_slot(first), 256U);
	KUNIT_EXPECT_EQ(test, oc_slots_alloc(s, ~0U, &first), NR - 257U);
	KUNIT_EXPECT_EQ(test, from_slot(first), 257U);
	KUNIT_EXPECT_EQ(test, oc_slots_nr_free(s), 0U);
	KUNIT_EXPECT_EQ(test, oc_slots_alloc(s, 1, &first), 0U);
}

static void slots_alloc_nothing_wanted(struct kunit *test)
{
	oc_slot_t first = OC_NO_SLOT;

	KUNIT_EXPECT_EQ(test, oc_slots_alloc(test->priv, 0, &first), 0U);
	KUNIT_EXPECT_EQ(test, oc_slots_nr_free(test->priv), (u32)NR);
}

static void slots_alloc_wraps(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	oc_slot_t first = OC_NO_SLOT;

	KUNIT_ASSERT_EQ(test, oc_slots_alloc(s, NR - 2, &first), NR - 2U);
	oc_slots_free(s, to_slot(62), 5);
	KUNIT_EXPECT_EQ(test, oc_slots_alloc(s, 9, &first), 2U);
	KUNIT_EXPECT_EQ(test, from_slot(first), NR - 2U);
	KUNIT_EXPECT_EQ(test, oc_slots_alloc(s, 9, &first), 5U);
	KUNIT_EXPECT_EQ(test, from_slot(first), 62U);
	KUNIT_EXPECT_EQ(test, oc_slots_alloc(s, 9, &first), 0U);
}

/* The summary leads over a map without room to the only slot, wherever it is. */
static void slots_alloc_last_free(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	oc_slot_t first = OC_NO_SLOT;
	u32 i;

	KUNIT_ASSERT_EQ(test, oc_slots_alloc(s, NR, &first), (u32)NR);
	for (i = 0; i < NR; i++) {
		oc_slots_free(s, to_slot(i * 37 % NR), 1);
		KUNIT_ASSERT_EQ(test, oc_slots_alloc(s, 4, &first), 1U);
		KUNIT_ASSERT_EQ(test, from_slot(first), i * 37 % NR);
	}
}

static void slots_alloc_random(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	u8 *used = test_zalloc(test, NR);
	u32 step, n, i, nr_used = 0;
	oc_slot_t first;
	u64 seed = 1;

	for (step = 0; step < 20000; step++) {
		if (test_below(&seed, 2)) {
			n = oc_slots_alloc(s, 1 + test_below(&seed, 100), &first);
			KUNIT_ASSERT_EQ(test, n == 0, nr_used == NR);
			for (i = 0; i < n; i++)
				KUNIT_ASSERT_EQ(test, used[from_slot(first) + i]++, 0);
			nr_used += n;
		} else {
			first = to_slot(test_below(&seed, NR));
			for (n = 0; from_slot(first) + n < NR && used[from_slot(first) + n]; n++)
				used[from_slot(first) + n] = 0;
			oc_slots_free(s, first, n);
			nr_used -= n;
		}
		KUNIT_ASSERT_EQ(test, oc_slots_nr_free(s), NR - nr_used);
	}
	for (i = 0; i < map_words(NR); i++)
		KUNIT_ASSERT_EQ(test, test_bit(i, s->summary), s->map[i] != 0);
}

/* ---- pins ------------------------------------------------------------ */

static void slots_pin_read(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	oc_slot_t slot = installed(test, oc_word_make(BLOCK, 0x3c, OC_FRESH));

	KUNIT_EXPECT_FALSE(test, oc_slot_pin_read(s, slot, to_oblock(0), 0x3c));
	KUNIT_EXPECT_FALSE(test, oc_slot_pin_read(s, slot, BLOCK, 0x02));
	KUNIT_EXPECT_FALSE(test, oc_slot_pin_read(s, slot, BLOCK, 0x7c));
	KUNIT_EXPECT_TRUE(test, oc_slot_pin_read(s, slot, BLOCK, 0x18));
	KUNIT_EXPECT_FALSE(test, oc_slot_unpin_read(s, slot));
	KUNIT_EXPECT_EQ(test, oc_slot_read(s, slot),
			oc_word_make(BLOCK, 0x3c, OC_FRESH) | 1ULL << OC_WORD_FREQ_SHIFT);
}

static void slots_pin_read_saturates(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	oc_slot_t slot = installed(test, live(0));
	u32 i;

	for (i = 0; i < 31; i++)
		KUNIT_ASSERT_TRUE(test, oc_slot_pin_read(s, slot, BLOCK, 1));
	KUNIT_EXPECT_FALSE(test, oc_slot_pin_read(s, slot, BLOCK, 1));
	KUNIT_EXPECT_TRUE(test, oc_slot_crowded(s, slot));
	KUNIT_EXPECT_EQ(test, oc_slot_read(s, slot), live(OC_WORD_READERS | OC_WORD_FREQ));
	KUNIT_EXPECT_EQ(test, oc_slot_copy_begin(s, slot, BLOCK, true), 0ULL);
	for (i = 0; i < 31; i++)
		KUNIT_ASSERT_FALSE(test, oc_slot_unpin_read(s, slot));
	KUNIT_EXPECT_FALSE(test, oc_slot_crowded(s, slot));
	KUNIT_EXPECT_EQ(test, oc_slot_read(s, slot), live(OC_WORD_FREQ));
}

static void slots_pin_write_saturates(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	oc_slot_t slot = installed(test, live(OC_WORD_DIRTY));
	u32 i;

	for (i = 0; i < 15; i++)
		KUNIT_ASSERT_TRUE(test, oc_slot_pin_write(s, slot, BLOCK, 1));
	KUNIT_EXPECT_FALSE(test, oc_slot_pin_write(s, slot, BLOCK, 1));
	KUNIT_EXPECT_TRUE(test, oc_slot_crowded(s, slot));
	KUNIT_EXPECT_EQ(test, oc_slot_read(s, slot),
			live(OC_WORD_DIRTY | OC_WORD_HOT | OC_WORD_WRITERS));
	for (i = 0; i < 15; i++)
		KUNIT_ASSERT_FALSE(test, oc_slot_unpin_write(s, slot));
	KUNIT_EXPECT_EQ(test, oc_slot_read(s, slot), live(OC_WORD_DIRTY | OC_WORD_HOT));
}

static void slots_pin_write_needs_dirty(struct kunit *test)
{
	struct oc_slots *s = test->priv;

	KUNIT_EXPECT_FALSE(test, oc_slot_pin_write(s, installed(test, live(0)), BLOCK, 1));
	KUNIT_EXPECT_FALSE(test, oc_slot_pin_write(s, installed(test, live(OC_WORD_DIRTY)),
						   to_oblock(1), 1));
}

static void slots_pin_states(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	u32 state;

	for (state = OC_FREE; state <= OC_GONE; state++) {
		oc_slot_t slot = installed(test, oc_word_make(BLOCK, 0xff, state) | OC_WORD_DIRTY);
		bool current_version = state >= OC_FRESH && state <= OC_COPY;

		KUNIT_EXPECT_EQ(test, oc_slot_pin_read(s, slot, BLOCK, 1), current_version);
		KUNIT_EXPECT_EQ(test, oc_slot_pin_write(s, slot, BLOCK, 1),
				current_version && state != OC_SEALED);
	}
}

/* ---- end of a version ------------------------------------------------ */

static void slots_last_unpin_frees(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	oc_slot_t slot = installed(test, live(OC_WORD_DIRTY));
	u64 was;

	KUNIT_ASSERT_TRUE(test, oc_slot_pin_read(s, slot, BLOCK, 1));
	KUNIT_ASSERT_TRUE(test, oc_slot_pin_write(s, slot, BLOCK, 1));
	KUNIT_ASSERT_TRUE(test, oc_slot_kill(s, slot, ~0U, &was));
	KUNIT_EXPECT_FALSE(test, oc_slot_gone(s, slot));
	KUNIT_EXPECT_FALSE(test, oc_slot_gone(s, slot));
	KUNIT_EXPECT_FALSE(test, oc_slot_unpin_read(s, slot));
	KUNIT_EXPECT_TRUE(test, oc_slot_unpin_write(s, slot));
}

static void slots_gone_frees(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	oc_slot_t slot = installed(test, live(0));
	u64 was;

	KUNIT_ASSERT_TRUE(test, oc_slot_pin_read(s, slot, BLOCK, 1));
	KUNIT_EXPECT_FALSE(test, oc_slot_gone(s, slot));
	KUNIT_ASSERT_TRUE(test, oc_slot_kill(s, slot, 1, &was));
	KUNIT_EXPECT_FALSE(test, oc_slot_unpin_read(s, slot));
	KUNIT_EXPECT_TRUE(test, oc_slot_gone(s, slot));
}

static void slots_kill(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	oc_slot_t slot = installed(test, live(OC_WORD_DIRTY));
	u64 was = 0;

	KUNIT_ASSERT_TRUE(test, oc_slot_pin_read(s, slot, BLOCK, 1));
	KUNIT_ASSERT_TRUE(test, oc_slot_pin_write(s, slot, BLOCK, 1));
	KUNIT_EXPECT_FALSE(test, oc_slot_kill(s, slot, 0, &was));
	KUNIT_EXPECT_FALSE(test, oc_slot_kill(s, slot, 1, &was));
	expect_counts(test, 1, 1);
	KUNIT_EXPECT_TRUE(test, oc_slot_kill(s, slot, 2, &was));
	KUNIT_EXPECT_EQ(test, was, live(OC_WORD_DIRTY | OC_WORD_HOT | OC_WORD_READER |
					OC_WORD_WRITER | 1ULL << OC_WORD_FREQ_SHIFT));
	expect_counts(test, 0, 0);
	KUNIT_EXPECT_FALSE(test, oc_slot_kill(s, slot, ~0U, &was));
	KUNIT_EXPECT_FALSE(test, oc_slot_pin_read(s, slot, BLOCK, 1));
	expect_counts(test, 0, 0);
}

/* ---- records, write-back --------------------------------------------- */

static void slots_confirm(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	u32 state;

	for (state = OC_FREE; state <= OC_GONE; state++) {
		u64 word = oc_word_make(BLOCK, 0xff, state) | OC_WORD_DIRTY | OC_WORD_READER;
		oc_slot_t slot = installed(test, word);

		oc_slot_confirm(s, slot, 0x7f);
		KUNIT_EXPECT_EQ(test, oc_slot_read(s, slot), word);
		oc_slot_confirm(s, slot, 0xff);
		KUNIT_EXPECT_EQ(test, oc_slot_read(s, slot),
				state == OC_SEALED ? oc_word_with_state(word, OC_LIVE) : word);
		KUNIT_EXPECT_FALSE(test, state == OC_SEALED &&
				   !oc_slot_pin_write(s, slot, BLOCK, 1));
	}
}

static void slots_pin_extend(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	u64 word = oc_word_make(BLOCK, 0x0f, OC_LIVE) | OC_WORD_DIRTY;
	oc_slot_t slot = installed(test, word), sealed, copied;

	KUNIT_EXPECT_TRUE(test, oc_slot_pin_extend(s, slot, BLOCK, 0x18));
	KUNIT_EXPECT_EQ(test, oc_slot_read(s, slot), word | OC_WORD_HOT | OC_WORD_WRITER);
	copied = installed(test, oc_word_with_state(word, OC_COPY));
	KUNIT_EXPECT_TRUE(test, oc_slot_pin_extend(s, copied, BLOCK, 0x10));
	KUNIT_EXPECT_EQ(test, oc_slot_read(s, copied), word | OC_WORD_HOT | OC_WORD_WRITER);

	sealed = installed(test, oc_word_with_state(word, OC_SEALED));
	KUNIT_EXPECT_FALSE(test, oc_slot_pin_extend(s, sealed, BLOCK, 0x18));
	KUNIT_EXPECT_TRUE(test, oc_slot_pin_extend(s, sealed, BLOCK, 0x30));
	KUNIT_EXPECT_EQ(test, oc_word_state(oc_slot_read(s, sealed)), OC_SEALED);
	KUNIT_EXPECT_FALSE(test, oc_slot_pin_extend(s, sealed, to_oblock(1), 0x30));
	KUNIT_EXPECT_FALSE(test, oc_slot_pin_extend(s, installed(test, live(0)), BLOCK, 0));
}

/* An INTENT that is taken back: nobody can hit the slot, and its end frees it. */
static void slots_void(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	oc_slot_t slot;

	KUNIT_ASSERT_EQ(test, oc_slots_alloc(s, 1, &slot), 1U);
	oc_slot_void(s, slot, BLOCK);
	expect_counts(test, 0, 0);
	KUNIT_EXPECT_FALSE(test, oc_slot_pin_read(s, slot, BLOCK, 0));
	KUNIT_EXPECT_TRUE(test, oc_slot_gone(s, slot));
}

static void slots_record_and_extend(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	oc_slot_t slot = installed(test, oc_word_make(BLOCK, 0x01, OC_FRESH));
	u64 was;

	KUNIT_EXPECT_EQ(test, oc_slot_record(s, slot), oc_word_make(BLOCK, 0x01, OC_SEALED));
	KUNIT_EXPECT_EQ(test, oc_slot_record(s, slot), 0ULL);
	oc_slot_confirm(s, slot, 0x01);
	KUNIT_EXPECT_EQ(test, oc_slot_read(s, slot), oc_word_make(BLOCK, 0x01, OC_LIVE));
	KUNIT_EXPECT_EQ(test, oc_slot_extend(s, slot, 0x82), oc_word_make(BLOCK, 0x83, OC_SEALED));
	KUNIT_ASSERT_TRUE(test, oc_slot_kill(s, slot, 0, &was));
	KUNIT_EXPECT_EQ(test, oc_slot_extend(s, slot, 0xff), 0ULL);
	KUNIT_EXPECT_EQ(test, oc_slot_read(s, slot), oc_word_make(BLOCK, 0x83, OC_DEAD));
}

static void slots_copy_cleans(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	oc_slot_t slot = installed(test, live(OC_WORD_DIRTY));

	KUNIT_EXPECT_NE(test, oc_slot_copy_begin(s, slot, BLOCK, false), 0ULL);
	KUNIT_EXPECT_EQ(test, oc_slot_read(s, slot),
			oc_word_make(BLOCK, 0xff, OC_COPY) | OC_WORD_DIRTY | OC_WORD_READER);
	KUNIT_EXPECT_EQ(test, oc_slot_copy_begin(s, slot, BLOCK, true), 0ULL);
	expect_counts(test, 1, 1);
	KUNIT_EXPECT_TRUE(test, oc_slot_copy_end(s, slot, true));
	KUNIT_EXPECT_EQ(test, oc_slot_read(s, slot), live(OC_WORD_READER));
	expect_counts(test, 1, 0);
	KUNIT_EXPECT_FALSE(test, oc_slot_copy_end(s, slot, true));
	expect_counts(test, 1, 0);
}

static void slots_copy_fails(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	oc_slot_t slot = installed(test, live(OC_WORD_DIRTY));

	KUNIT_EXPECT_NE(test, oc_slot_copy_begin(s, slot, BLOCK, false), 0ULL);
	KUNIT_EXPECT_FALSE(test, oc_slot_copy_end(s, slot, false));
	KUNIT_EXPECT_EQ(test, oc_slot_read(s, slot), live(OC_WORD_DIRTY | OC_WORD_READER));
	expect_counts(test, 1, 1);
}

/* Hazard 10: written while its old data travels, the block stays dirty. */
static void slots_copy_overtaken(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	oc_slot_t slot = installed(test, live(OC_WORD_DIRTY));

	KUNIT_EXPECT_NE(test, oc_slot_copy_begin(s, slot, BLOCK, false), 0ULL);
	KUNIT_EXPECT_TRUE(test, oc_slot_pin_write(s, slot, BLOCK, 1));
	KUNIT_EXPECT_FALSE(test, oc_slot_unpin_write(s, slot));
	KUNIT_EXPECT_FALSE(test, oc_slot_copy_end(s, slot, true));
	KUNIT_EXPECT_EQ(test, oc_slot_read(s, slot),
			live(OC_WORD_DIRTY | OC_WORD_HOT | OC_WORD_READER));
	expect_counts(test, 1, 1);
}

static void slots_copy_refused(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	oc_slot_t slot = installed(test, live(0));

	KUNIT_EXPECT_EQ(test, oc_slot_copy_begin(s, slot, BLOCK, true), 0ULL);
	slot = installed(test, oc_word_make(BLOCK, 0xff, OC_FRESH));
	KUNIT_EXPECT_EQ(test, oc_slot_copy_begin(s, slot, BLOCK, true), 0ULL);
	slot = installed(test, live(OC_WORD_DIRTY));
	KUNIT_EXPECT_EQ(test, oc_slot_copy_begin(s, slot, to_oblock(3), true), 0ULL);
	KUNIT_ASSERT_TRUE(test, oc_slot_pin_write(s, slot, BLOCK, 1));
	KUNIT_EXPECT_EQ(test, oc_slot_copy_begin(s, slot, BLOCK, true), 0ULL);
	KUNIT_ASSERT_FALSE(test, oc_slot_unpin_write(s, slot));
	KUNIT_EXPECT_EQ(test, oc_slot_copy_begin(s, slot, BLOCK, false), 0ULL);
	KUNIT_EXPECT_NE(test, oc_slot_copy_begin(s, slot, BLOCK, true), 0ULL);
}

static void slots_cool(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	oc_slot_t first;
	u32 i;

	KUNIT_ASSERT_EQ(test, oc_slots_alloc(s, NR, &first), (u32)NR);
	for (i = 0; i < NR; i++)
		oc_slot_install(s, to_slot(i), live(OC_WORD_DIRTY | OC_WORD_HOT | OC_WORD_READER));
	oc_slots_cool(s, 1);
	oc_slots_cool(s, 2);
	for (i = 0; i < NR; i++)
		KUNIT_ASSERT_EQ(test, oc_slot_read(s, to_slot(i)) & OC_WORD_HOT,
				i < OC_GROUP_SLOTS ? OC_WORD_HOT : 0);
	expect_counts(test, NR, NR);
}

/* ---- all of it ------------------------------------------------------- */

static void slots_recount(struct kunit *test)
{
	struct oc_slots *s = test->priv;
	oc_slot_t first;
	u32 i, n;

	for (i = 0; i < NR; i += 5)
		s->word[i] = oc_word_make(to_oblock(i), 1, OC_LIVE) | (i % 2 ? OC_WORD_DIRTY : 0);
	oc_slots_recount(s);
	n = DIV_ROUND_UP(NR, 5);
	expect_counts(test, n, n / 2);
	KUNIT_EXPECT_EQ(test, oc_slots_nr_free(s), NR - n);
	KUNIT_EXPECT_EQ(test, oc_slots_alloc(s, 9, &first), 4U);
	KUNIT_EXPECT_EQ(test, from_slot(first), 1U);
}

/* Design: 16 bytes for 4 KiB all in all; the core takes no more than 14.6 of them. */
static void slots_memory(struct kunit *test)
{
	const u32 nr = 1U << 20;
	struct oc_slots *s = test_zalloc(test, sizeof(*s));
	struct oc_index ix;

	KUNIT_ASSERT_EQ(test, oc_slots_init(s, nr), 0);
	KUNIT_ASSERT_EQ(test, oc_index_init(&ix, s), 0);
	KUNIT_EXPECT_LE(test, (s->bytes + ix.bytes) * 10, (size_t)nr * 146);
	KUNIT_EXPECT_GE(test, (s->bytes + ix.bytes), (size_t)nr * 14);
	oc_index_exit(&ix);
	oc_slots_exit(s);
}

static struct kunit_case slots_cases[] = {
	KUNIT_CASE(slots_alloc_runs),
	KUNIT_CASE(slots_alloc_nothing_wanted),
	KUNIT_CASE(slots_alloc_wraps),
	KUNIT_CASE(slots_alloc_last_free),
	KUNIT_CASE(slots_alloc_random),
	KUNIT_CASE(slots_pin_read),
	KUNIT_CASE(slots_pin_read_saturates),
	KUNIT_CASE(slots_pin_write_saturates),
	KUNIT_CASE(slots_pin_write_needs_dirty),
	KUNIT_CASE(slots_pin_states),
	KUNIT_CASE(slots_last_unpin_frees),
	KUNIT_CASE(slots_gone_frees),
	KUNIT_CASE(slots_kill),
	KUNIT_CASE(slots_confirm),
	KUNIT_CASE(slots_pin_extend),
	KUNIT_CASE(slots_void),
	KUNIT_CASE(slots_record_and_extend),
	KUNIT_CASE(slots_copy_cleans),
	KUNIT_CASE(slots_copy_fails),
	KUNIT_CASE(slots_copy_overtaken),
	KUNIT_CASE(slots_copy_refused),
	KUNIT_CASE(slots_cool),
	KUNIT_CASE(slots_recount),
	KUNIT_CASE(slots_memory),
	{}
};

static struct kunit_suite slots_suite = {
	.name = "optcache_slots",
	.init = slots_test_init,
	.exit = slots_test_exit,
	.test_cases = slots_cases,
};

kunit_test_suite(slots_suite);

MODULE_DESCRIPTION("dm-optcache: unit tests of the core");
MODULE_LICENSE("GPL");
