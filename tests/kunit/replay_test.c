// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replay: a small cache is written by a plain model (an array of words, a snapshot
 * after each journal block), cut at some block, and read back.
 */
#include "drivers/md/optcache/replay.c"

#include "replay_model.h"

static void drop_result(struct replay_test *t)
{
	oc_replay_exit(&t->rp);
	if (t->ix.head)
		oc_index_exit(&t->ix);
	oc_slots_exit(&t->slots);
}

static int read_journal(struct replay_test *t)
{
	u32 blocks = 0;
	int err;

	do {
		err = oc_replay_block(&t->rp, t->ring + t->rp.offset, RING - t->rp.offset);
	} while (!err && blocks++ <= MAX_BLOCKS);
	return err;
}

static void read_table(struct kunit *test)
{
	struct replay_test *t = test->priv;
	u32 nr;

	drop_result(t);
	KUNIT_ASSERT_EQ(test, oc_slots_init(&t->slots, NR), 0);
	KUNIT_ASSERT_EQ(test, oc_index_init(&t->ix, &t->slots), 0);
	KUNIT_ASSERT_EQ(test, oc_replay_init(&t->rp, &t->sb, &t->slots), 0);
	for (nr = 0; nr < PAGES; nr++)
		KUNIT_ASSERT_EQ(test, oc_replay_page(&t->rp, nr, &t->page[nr][0], &t->page[nr][1]),
				0);
}

/* @intent: none of them has landed. */
static void expect_words(struct kunit *test, const u64 *word, const struct oc_record *intent)
{
	struct replay_test *t = test->priv;
	u32 i, mapped = 0, dirty = 0, dead = 0;
	bool ending;

	for (i = 0; i < NR; i++) {
		if (intent[i].count) {
			dead++;
			KUNIT_ASSERT_EQ(test, t->slots.word[i],
					oc_word_make(intent[i].block, intent[i].valid, OC_DEAD));
			KUNIT_ASSERT_EQ(test, from_slot(oc_index_find_locked(&t->ix,
									     intent[i].block,
									     &ending)),
					from_slot(OC_NO_SLOT));
			KUNIT_ASSERT_TRUE(test, ending);
			continue;
		}
		KUNIT_ASSERT_EQ(test, t->slots.word[i], word[i]);
		if (!word[i])
			continue;
		mapped++;
		dirty += !!(word[i] & OC_WORD_DIRTY);
		KUNIT_ASSERT_EQ(test, from_slot(oc_index_find(&t->ix, oc_word_block(word[i]))), i);
	}
	KUNIT_EXPECT_EQ(test, (u32)atomic64_read(&t->slots.nr_mapped), mapped);
	KUNIT_EXPECT_EQ(test, (u32)atomic64_read(&t->slots.nr_dirty), dirty);
	KUNIT_EXPECT_EQ(test, oc_slots_nr_free(&t->slots), NR - mapped - dead);
}

/* Where a page is not marked as touched, the table already says what replay said. */
static void expect_touched(struct kunit *test)
{
	struct replay_test *t = test->priv;
	u32 i;

	for (i = 0; i < NR; i++) {
		const u32 nr = i / OPTCACHE_ENTRIES_PER_PAGE;
		const struct optcache_table_page *page = &t->page[nr][test_bit(nr, t->rp.place)];
		const __le64 entry = page->entry[i % OPTCACHE_ENTRIES_PER_PAGE];

		if (test_bit(nr, t->rp.touched))
			continue;
		KUNIT_ASSERT_EQ(test, oc_entry_word(le64_to_cpu(entry)), t->slots.word[i]);
	}
}

/* Those that stand, in the order of their slots. */
static void expect_intents(struct kunit *test, const struct oc_record *intent)
{
	struct replay_test *t = test->priv;
	u32 i, n = 0;

	for (i = 0; i < NR; i++) {
		const struct oc_intent *in = &t->rp.intent[n];

		if (!intent[i].count)
			continue;
		KUNIT_ASSERT_LT(test, n++, t->rp.nr_intents);
		KUNIT_ASSERT_EQ(test, from_slot(in->slot), i);
		KUNIT_ASSERT_EQ(test, from_oblock(in->block), from_oblock(intent[i].block));
		KUNIT_ASSERT_EQ(test, in->valid, intent[i].valid);
		KUNIT_ASSERT_EQ(test, in->crc, intent[i].crc);
	}
	KUNIT_EXPECT_EQ(test, t->rp.nr_intents, n);
}

/* Everything is read, and is as it was before block @cut. */
static void expect_state(struct kunit *test, u32 cut)
{
	struct replay_test *t = test->priv;
	const struct model_block *b = &t->blocks[cut];
	oc_slot_t bad;

	read_table(test);
	KUNIT_ASSERT_EQ(test, read_journal(t), -ENODATA);
	KUNIT_EXPECT_EQ(test, t->rp.lsn, cut < t->nr_blocks ? b->lsn : t->lsn);
	KUNIT_EXPECT_EQ(test, t->rp.offset, cut < t->nr_blocks ? b->offset : t->offset);
	KUNIT_EXPECT_EQ(test, t->rp.nr_records, t->rp.lsn - t->sb.tail_lsn);
	KUNIT_ASSERT_EQ(test, oc_replay_collect(&t->rp), 0);
	expect_intents(test, t->intents[cut]);
	KUNIT_ASSERT_EQ(test, oc_replay_finish(&t->rp, &t->ix, &bad), 0);
	expect_words(test, t->snap[cut], t->intents[cut]);
	expect_touched(test);
}

static int replay_test_init(struct kunit *test)
{
	static const u8 origin_uuid[OPTCACHE_UUID_SIZE];
	struct replay_test *t = test_zalloc(test, sizeof(*t));
	struct oc_geometry geo;
	const char *why;

	test->priv = t;
	if (oc_geometry_plan(&geo, 64 << 11, 1ULL << 43, 512, &why))
		return -EINVAL;
	geo.nr_slots = NR;
	geo.nr_pages = PAGES;
	geo.journal_size = RING;
	oc_super_new(&t->sb, &geo, uuid, origin_uuid);
	t->epoch = t->sb.epoch;
	t->lsn = t->sb.tail_lsn;
	checkpoint(t);
	return 0;
}

static void replay_test_exit(struct kunit *test)
{
	drop_result(test->priv);
}

/* ---- cases ----------------------------------------------------------- */

static void replay_nothing(struct kunit *test)
{
	expect_state(test, 0);
}

static void replay_each_type(struct kunit *test)
{
	struct replay_test *t = test->priv;

	add_map(t, 500, 12, 3, true);		/* two pages */
	add_map(t, NR - 1, 1, 260000000, false);	/* a block far out */
	write_block(t);
	expect_state(test, 1);
	add_end(t, OPTCACHE_REC_CLEAN, 505, 2);
	add_end(t, OPTCACHE_REC_CLEAN, 0, 256);	/* nothing there */
	add_end(t, OPTCACHE_REC_UNMAP, 508, 1);
	write_block(t);
	expect_state(test, 2);
	KUNIT_EXPECT_EQ(test, (u32)atomic64_read(&t->slots.nr_dirty), 9U);
}

/* The same bytes give the same state again (hazard 14). */
static void replay_twice(struct kunit *test)
{
	struct replay_test *t = test->priv;
	u32 i;

	for (i = 0; i < 5; i++)
		write_random_block(t);
	expect_state(test, t->nr_blocks);
	expect_state(test, t->nr_blocks);
}

/* A record counts from the page's lsn on, not before, slot by slot. */
static void replay_page_is_newer(struct kunit *test)
{
	struct replay_test *t = test->priv;

	add_map(t, 500, 12, 1, true);
	write_block(t);
	add_map(t, 500, 12, 2, true);
	write_block(t);
	write_page(t, 1);		/* has both; page 0 has none */
	add_end(t, OPTCACHE_REC_UNMAP, 507, 1);
	write_block(t);
	expect_state(test, 3);
	KUNIT_EXPECT_TRUE(test, test_bit(0, t->rp.touched));
	KUNIT_EXPECT_TRUE(test, test_bit(1, t->rp.touched));
	KUNIT_EXPECT_FALSE(test, test_bit(2, t->rp.touched));
}

/* lsn equal to the page's: the first record that it does not contain. */
static void replay_page_boundary(struct kunit *test)
{
	struct replay_test *t = test->priv;

	add_map(t, 0, 1, 1, true);
	add_map(t, 1, 1, 1, true);
	write_block(t);
	/* a page that claims the first record only, but shows neither */
	t->page[0][1].entry[0] = 0;
	t->page[0][1].entry[1] = 0;
	oc_page_seal(&t->page[0][1], uuid, 0, t->lsn - 1, 7);
	read_table(test);
	KUNIT_ASSERT_EQ(test, read_journal(t), -ENODATA);
	KUNIT_EXPECT_EQ(test, t->slots.word[0], 0ULL);
	KUNIT_EXPECT_EQ(test, t->slots.word[1], t->word[1]);
}

/* Hazard 13: the older place and the journal suffice. */
static void replay_torn_page(struct kunit *test)
{
	struct replay_test *t = test->priv;
	u32 i, nr;

	for (i = 0; i < 3; i++)
		write_random_block(t);
	for (nr = 0; nr < PAGES; nr++) {
		write_page(t, nr);
		((u8 *)&t->page[nr][t->page_seq[nr] & 1])[512 * nr + 40] ^= 1;
	}
	expect_state(test, 3);
}

static void replay_page_choice(struct kunit *test)
{
	struct replay_test *t = test->priv;
	struct optcache_table_page *old = &t->page[0][1], *new = &t->page[0][0];

	add_map(t, 0, 1, 1, true);
	write_block(t);
	write_page(t, 0);		/* seq 2, place 0 */
	read_table(test);
	KUNIT_EXPECT_FALSE(test, test_bit(0, t->rp.place));
	KUNIT_EXPECT_EQ(test, t->rp.page_seq[0], 2ULL);
	KUNIT_EXPECT_EQ(test, t->rp.page_lsn[0], 2ULL);
	/* unreadable places */
	KUNIT_EXPECT_EQ(test, oc_replay_page(&t->rp, 0, NULL, old), 0);
	KUNIT_EXPECT_TRUE(test, test_bit(0, t->rp.place));
	KUNIT_EXPECT_EQ(test, oc_replay_page(&t->rp, 0, new, NULL), 0);
	KUNIT_EXPECT_EQ(test, oc_replay_page(&t->rp, 0, NULL, NULL), -EBADMSG);
	/* misplaced */
	KUNIT_EXPECT_EQ(test, oc_replay_page(&t->rp, 1, new, old), -EBADMSG);
	/* whole, newer, senseless: the older one is no way out */
	new->entry[0] = cpu_to_le64(1);
	oc_page_seal(new, uuid, 0, 2, 2);
	KUNIT_EXPECT_EQ(test, oc_replay_page(&t->rp, 0, new, old), -EUCLEAN);
	KUNIT_EXPECT_EQ(test, oc_replay_page(&t->rp, 0, new, NULL), -EUCLEAN);
	/* whole, older, senseless: who cares */
	oc_page_seal(new, uuid, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, oc_replay_page(&t->rp, 0, new, old), 0);
}

static void replay_wraps(struct kunit *test)
{
	struct replay_test *t = test->priv;
	u32 i;

	for (i = 0; i < 31; i++) {
		add_map(t, i, 1, i, true);
		write_block(t);
	}
	checkpoint(t);			/* the tail is in the last unit of the ring */
	for (i = 0; i < 6; i++) {
		add_map(t, 100 + i, 1, i, true);
		write_block(t);
	}
	KUNIT_EXPECT_EQ(test, t->blocks[0].offset, RING - 512ULL);
	KUNIT_EXPECT_EQ(test, t->blocks[1].offset, 0ULL);
	expect_state(test, 6);
}

/* A full ring ends after one lap, even if what comes then would fit. */
static void replay_full_ring(struct kunit *test)
{
	struct replay_test *t = test->priv;
	u32 i;

	for (i = 0; i < MAX_BLOCKS; i++) {
		add_map(t, i, 1, i, true);
		write_block(t);
	}
	KUNIT_EXPECT_EQ(test, t->used, (u64)RING);
	expect_state(test, MAX_BLOCKS);
	/* as if a next lap had begun while the reader was behind */
	read_table(test);
	KUNIT_ASSERT_EQ(test, read_journal(t), -ENODATA);
	oc_journal_seal(t->ring, 512, uuid, t->epoch, t->lsn, 1);
	KUNIT_EXPECT_EQ(test, t->rp.offset, 0ULL);
	KUNIT_EXPECT_EQ(test, oc_replay_block(&t->rp, t->ring, RING), -ENODATA);
	KUNIT_EXPECT_EQ(test, t->rp.used, (u64)RING);
}

/*
 * Hazard 12, section 11: the block at the cut was lost, its successor landed.  The
 * next run writes a block of the same length there, in a new epoch: the successor
 * must not come to life behind it.
 */
static void replay_late_successor(struct kunit *test)
{
	struct replay_test *t = test->priv;
	u32 i;

	for (i = 0; i < 3; i++) {
		add_map(t, i, 1, i, true);
		write_block(t);
	}
	memset(t->ring + 512, 0, 512);
	expect_state(test, 1);

	t->sb.epoch = ++t->epoch;
	t->lsn = t->rp.lsn;
	t->offset = t->rp.offset;
	memcpy(t->word, t->snap[1], sizeof(t->word));
	t->nr_blocks = 1;
	add_end(t, OPTCACHE_REC_UNMAP, 0, 1);
	write_block(t);
	expect_state(test, 2);
}

/* A block from after the superblock's epoch belongs to no run that is known. */
static void replay_future_epoch(struct kunit *test)
{
	struct replay_test *t = test->priv;

	add_map(t, 0, 1, 1, true);
	t->epoch = 2;
	write_block(t);
	/* the superblock is older than the journal: not the end, but a refusal */
	read_table(test);
	KUNIT_EXPECT_EQ(test, read_journal(t), -EUCLEAN);
	t->sb.epoch = 2;
	expect_state(test, 1);
}

static void replay_foreign(struct kunit *test)
{
	static const u8 other[OPTCACHE_UUID_SIZE] = "another cache..";
	struct replay_test *t = test->priv;

	add_map(t, 0, 1, 1, true);
	write_block(t);
	oc_journal_seal(t->ring, 512, other, 1, 1, 1);
	expect_state(test, 0);
	memcpy(t->page[1][1].uuid, other, sizeof(other));
	oc_page_seal(&t->page[1][1], other, 1, 1, 1);
	KUNIT_EXPECT_EQ(test, oc_replay_page(&t->rp, 1, &t->page[1][0], &t->page[1][1]),
			-EBADMSG);
}

/* A sealed block with one senseless record changes nothing at all. */
static void replay_senseless(struct kunit *test)
{
	struct replay_test *t = test->priv;
	struct optcache_record *disk = (void *)t->ring + sizeof(struct optcache_journal_header);
	u32 i;

	for (i = 0; i < 3; i++)
		add_map(t, i, 1, i, true);
	write_block(t);
	disk[2].type |= 0x20;
	oc_journal_seal(t->ring, 512, uuid, 1, 1, 3);
	read_table(test);
	KUNIT_EXPECT_EQ(test, read_journal(t), -EUCLEAN);
	KUNIT_EXPECT_EQ(test, t->slots.word[0], 0ULL);
	KUNIT_EXPECT_EQ(test, t->rp.lsn, 1ULL);
	KUNIT_EXPECT_EQ(test, t->rp.offset, 0ULL);
}

static void replay_twins(struct kunit *test)
{
	struct replay_test *t = test->priv;
	oc_slot_t bad;

	add_map(t, 10, 1, 1, true);
	t->pending[t->nr_pending++] = (struct oc_record){
		.type = OPTCACHE_REC_MAP, .valid = 1, .count = 1,
		.slot = to_slot(900), .block = to_oblock(4096 + 10),
	};
	write_block(t);
	read_table(test);
	KUNIT_ASSERT_EQ(test, read_journal(t), -ENODATA);
	KUNIT_EXPECT_EQ(test, oc_replay_finish(&t->rp, &t->ix, &bad), -EUCLEAN);
	KUNIT_EXPECT_EQ(test, from_slot(bad), 900U);
}

/* A page knows of records that the journal has lost. */
static void replay_lost(struct kunit *test)
{
	struct replay_test *t = test->priv;
	oc_slot_t bad = to_slot(1);

	add_map(t, 0, 1, 1, true);
	write_block(t);
	write_page(t, 0);
	memset(t->ring, 0, 512);
	read_table(test);
	KUNIT_ASSERT_EQ(test, read_journal(t), -ENODATA);
	KUNIT_EXPECT_EQ(test, oc_replay_finish(&t->rp, &t->ix, &bad), -EUCLEAN);
	KUNIT_EXPECT_EQ(test, from_slot(bad), from_slot(OC_NO_SLOT));
}

/* Any bytes: no error but the documented ones, and an end. */
static void replay_garbage(struct kunit *test)
{
	struct replay_test *t = test->priv;
	u32 round, i;
	int err;

	for (round = 0; round < 200; round++) {
		for (i = 0; i < RING; i++)
			t->ring[i] = test_random(&t->seed);
		if (round & 1)
			oc_journal_seal(t->ring, 512 << round % 4, uuid, 1, 1, 1 + round % 20);
		read_table(test);
		err = read_journal(t);
		KUNIT_ASSERT_TRUE(test, err == -ENODATA || err == -EUCLEAN);
	}
}

/* ---- random histories ------------------------------------------------ */

/* The blocks below this one are needed by the pages, which never run ahead. */
static u32 first_cut(const struct replay_test *t)
{
	u32 cut, nr;
	u64 lsn = 0;

	for (nr = 0; nr < PAGES; nr++)
		lsn = max_t(u64, lsn, t->page_lsn[nr]);
	for (cut = 0; cut < t->nr_blocks && t->blocks[cut].lsn < lsn; cut++)
		;
	return cut;
}

/* What is left of block @cut and those behind it: nothing, a part, or all but the first. */
static void lose_blocks(struct replay_test *t, u32 cut)
{
	u32 i, at;

	for (i = cut; i < t->nr_blocks; i++) {
		at = test_below(&t->seed, sizeof(struct optcache_journal_header) +
				t->blocks[i].nr * sizeof(struct optcache_record));
		if (i == cut)
			t->ring[t->blocks[i].offset + at] ^= 0x55;
		else if (test_below(&t->seed, 2))
			memset(t->ring + t->blocks[i].offset, 0, t->blocks[i].size);
	}
}

/* After the cut the next run goes on from what was found, in a new epoch. */
static void next_run(struct replay_test *t, u32 cut)
{
	t->sb.epoch = ++t->epoch;
	memcpy(t->word, t->snap[cut], sizeof(t->word));
	memcpy(t->intent, t->intents[cut], sizeof(t->intent));
	t->nr_blocks = cut;
	t->lsn = t->rp.lsn;
	t->offset = t->rp.offset;
	t->used = t->rp.used;
}

static void replay_random(struct kunit *test)
{
	struct replay_test *t = test->priv;
	u32 round, i, n, cut;

	t->seed = 20;
	for (round = 0; round < 300; round++) {
		n = test_below(&t->seed, 20);
		for (i = 0; i < n; i++) {
			write_random_block(t);
			if (!test_below(&t->seed, 6))
				write_page(t, test_below(&t->seed, PAGES));
			if (!test_below(&t->seed, 15))
				checkpoint(t);
		}
		cut = first_cut(t);
		cut += test_below(&t->seed, t->nr_blocks - cut + 1);
		lose_blocks(t, cut);
		expect_state(test, cut);
		next_run(t, cut);
	}
}

#include "replay_intent.h"

static struct kunit_case replay_cases[] = {
	KUNIT_CASE(replay_nothing),
	KUNIT_CASE(replay_each_type),
	KUNIT_CASE(replay_twice),
	KUNIT_CASE(replay_page_is_newer),
	KUNIT_CASE(replay_page_boundary),
	KUNIT_CASE(replay_torn_page),
	KUNIT_CASE(replay_page_choice),
	KUNIT_CASE(replay_wraps),
	KUNIT_CASE(replay_full_ring),
	KUNIT_CASE(replay_late_successor),
	KUNIT_CASE(replay_future_epoch),
	KUNIT_CASE(replay_foreign),
	KUNIT_CASE(replay_senseless),
	KUNIT_CASE(replay_twins),
	KUNIT_CASE(replay_lost),
	KUNIT_CASE(replay_garbage),
	KUNIT_CASE(replay_random),
	KUNIT_CASE(intent_landed),
	KUNIT_CASE(intent_decides),
	KUNIT_CASE(intent_beats_late_map),
	KUNIT_CASE(intent_against_dirty),
	KUNIT_CASE(intent_resolved),
	KUNIT_CASE(intent_and_page),
	KUNIT_CASE(intent_extends),
	KUNIT_CASE(intent_extends_resolved),
	KUNIT_CASE(intent_of_used_slot),
	{}
};

static struct kunit_suite replay_suite = {
	.name = "optcache_replay",
	.init = replay_test_init,
	.exit = replay_test_exit,
	.test_cases = replay_cases,
};

kunit_test_suite(replay_suite);
