/* SPDX-License-Identifier: GPL-2.0-only */
/* INTENTs: which stand at the end of the journal, and what becomes of them. */

static void intent_landed(struct kunit *test)
{
	u8 *data = test_zalloc(test, OPTCACHE_BLOCK_SIZE);
	struct oc_intent in = { .valid = 0x26 };	/* sectors 1, 2, 5 */
	u32 i;

	for (i = 0; i < OPTCACHE_BLOCK_SIZE; i++)
		data[i] = i * 7 + (i >> 8);
	in.crc = oc_data_crc(oc_data_crc(~0U, data + 512, 1024), data + 5 * 512, 512);
	KUNIT_EXPECT_TRUE(test, oc_intent_landed(&in, data));
	for (i = 0; i < OPTCACHE_BLOCK_SIZE; i += 256) {
		data[i] ^= 0x10;
		KUNIT_EXPECT_EQ(test, oc_intent_landed(&in, data), !(in.valid & 1 << i / 512));
		data[i] ^= 0x10;
	}
}

/* Replay up to the decision. */
static void read_intents(struct kunit *test, u32 nr)
{
	struct replay_test *t = test->priv;

	read_table(test);
	KUNIT_ASSERT_EQ(test, read_journal(t), -ENODATA);
	KUNIT_ASSERT_EQ(test, oc_replay_collect(&t->rp), 0);
	KUNIT_ASSERT_EQ(test, t->rp.nr_intents, nr);
}

/* Slot 7 is to hold what slot 3 holds, clean. */
static void intent_decides(struct kunit *test)
{
	struct replay_test *t = test->priv;
	const oc_block_t block = to_oblock(4096 + 3);
	oc_slot_t bad;
	bool ending;

	add_map(t, 3, 1, 1, false);
	t->pending[t->nr_pending++] = (struct oc_record){
		.type = OPTCACHE_REC_INTENT, .valid = 0x0f, .count = 1, .crc = 99,
		.slot = to_slot(7), .block = block,
	};
	write_block(t);

	read_intents(test, 1);
	KUNIT_ASSERT_EQ(test, oc_replay_finish(&t->rp, &t->ix, &bad), 0);
	KUNIT_EXPECT_EQ(test, from_slot(oc_index_find_locked(&t->ix, block, &ending)), 3U);
	KUNIT_EXPECT_TRUE(test, ending);
	KUNIT_EXPECT_EQ(test, t->slots.word[7], oc_word_make(block, 0x0f, OC_DEAD));

	read_intents(test, 1);
	t->rp.intent[0].landed = true;
	KUNIT_ASSERT_EQ(test, oc_replay_finish(&t->rp, &t->ix, &bad), 0);
	KUNIT_EXPECT_EQ(test, from_slot(t->rp.intent[0].old), 3U);
	KUNIT_EXPECT_EQ(test, from_slot(oc_index_find_locked(&t->ix, block, &ending)), 7U);
	KUNIT_EXPECT_EQ(test, t->slots.word[7],
			oc_word_make(block, 0x0f, OC_SEALED) | OC_WORD_DIRTY);
	KUNIT_EXPECT_EQ(test, oc_word_state(t->slots.word[3]), OC_DEAD);
	KUNIT_EXPECT_EQ(test, (u32)atomic64_read(&t->slots.nr_mapped), 1U);
	KUNIT_EXPECT_EQ(test, (u32)atomic64_read(&t->slots.nr_dirty), 1U);
}

/* A fill became known to the journal after the INTENT: it is older all the same. */
static void intent_beats_late_map(struct kunit *test)
{
	struct replay_test *t = test->priv;
	oc_slot_t bad;

	add_intent(t, 7, 1, 0xff, 5);
	t->pending[t->nr_pending++] = (struct oc_record){
		.type = OPTCACHE_REC_MAP, .valid = 0xff, .count = 1,
		.slot = to_slot(3), .block = to_oblock(4096 + 7),
	};
	write_block(t);
	read_intents(test, 1);
	t->rp.intent[0].landed = true;
	KUNIT_ASSERT_EQ(test, oc_replay_finish(&t->rp, &t->ix, &bad), 0);
	KUNIT_EXPECT_EQ(test, from_slot(t->rp.intent[0].old), 3U);
	KUNIT_EXPECT_EQ(test, from_slot(oc_index_find(&t->ix, to_oblock(4096 + 7))), 7U);
}

/* Nobody writes a block anew that is dirty. */
static void intent_against_dirty(struct kunit *test)
{
	struct replay_test *t = test->priv;
	oc_slot_t bad;

	add_intent(t, 7, 1, 0xff, 5);
	t->pending[t->nr_pending++] = (struct oc_record){
		.type = OPTCACHE_REC_MAP, .valid = 0xff, .count = 1, .dirty = true,
		.slot = to_slot(3), .block = to_oblock(4096 + 7),
	};
	write_block(t);
	read_intents(test, 1);
	t->rp.intent[0].landed = true;
	KUNIT_EXPECT_EQ(test, oc_replay_finish(&t->rp, &t->ix, &bad), -EUCLEAN);
	KUNIT_EXPECT_EQ(test, from_slot(bad), 7U);
}

static void intent_resolved(struct kunit *test)
{
	struct replay_test *t = test->priv;

	add_intent(t, 10, 1, 0xff, 1);
	add_intent(t, 11, 1, 0xff, 2);
	add_intent(t, 12, 1, 0xff, 3);
	write_block(t);
	expect_state(test, 1);
	add_map(t, 10, 1, 1, true);
	add_end(t, OPTCACHE_REC_UNMAP, 11, 1);
	write_block(t);
	expect_state(test, 2);
	add_intent(t, 11, 2, 0x3c, 4);	/* its slot was used again */
	write_block(t);
	expect_state(test, 3);
	read_intents(test, 2);
	KUNIT_EXPECT_EQ(test, t->rp.intent[0].crc, 4U);
	KUNIT_EXPECT_EQ(test, t->rp.intent[1].crc, 3U);
}

/* A page that is newer than an INTENT knows nothing of it, only of what followed. */
static void intent_and_page(struct kunit *test)
{
	struct replay_test *t = test->priv;

	add_intent(t, 10, 1, 0xff, 1);
	add_intent(t, 11, 1, 0xff, 2);
	add_intent(t, 12, 1, 0xff, 3);
	write_block(t);
	write_page(t, 0);
	expect_state(test, 1);

	add_map(t, 10, 1, 1, true);
	add_end(t, OPTCACHE_REC_UNMAP, 11, 1);
	write_block(t);
	write_page(t, 0);
	expect_state(test, 2);

	add_intent(t, 11, 3, 0x01, 4);
	add_map(t, 11, 1, 3, true);
	add_map(t, 12, 1, 1, true);
	write_block(t);
	write_page(t, 0);
	expect_state(test, 3);
}

/* New sectors of a dirty block: sectors 4 and 5 of what holds 0 to 3. */
static void intent_extends(struct kunit *test)
{
	struct replay_test *t = test->priv;
	const oc_block_t block = to_oblock(4096 * 15 + 3);	/* lap 14: valid 0x0f */
	const u64 before = oc_word_make(block, 0x0f, OC_SEALED) | OC_WORD_DIRTY;
	oc_slot_t bad;
	u32 landed;

	t->pending[t->nr_pending++] = (struct oc_record){
		.type = OPTCACHE_REC_MAP, .valid = 0x0f, .count = 1, .dirty = true,
		.slot = to_slot(3), .block = block,
	};
	t->pending[t->nr_pending++] = (struct oc_record){
		.type = OPTCACHE_REC_INTENT, .valid = 0x30, .count = 1, .crc = 99,
		.slot = to_slot(3), .block = block,
	};
	write_block(t);
	for (landed = 0; landed < 2; landed++) {
		read_intents(test, 1);
		KUNIT_EXPECT_TRUE(test, t->rp.intent[0].extends);
		KUNIT_EXPECT_EQ(test, t->rp.intent[0].valid, 0x30);
		KUNIT_EXPECT_EQ(test, t->rp.intent[0].crc, 99U);
		t->rp.intent[0].landed = landed;
		KUNIT_ASSERT_EQ(test, oc_replay_finish(&t->rp, &t->ix, &bad), 0);
		KUNIT_EXPECT_EQ(test, t->slots.word[3],
				landed ? before | 0x30ULL << OC_WORD_VALID_SHIFT : before);
		KUNIT_EXPECT_EQ(test, from_slot(oc_index_find(&t->ix, block)), 3U);
		KUNIT_EXPECT_EQ(test, (u32)atomic64_read(&t->slots.nr_dirty), 1U);
	}
}

/* What follows it, in the journal alone or in the page as well. */
static void intent_extends_resolved(struct kunit *test)
{
	struct replay_test *t = test->priv;
	struct oc_record r = {
		.type = OPTCACHE_REC_MAP, .valid = 0x0f, .count = 1, .dirty = true,
		.slot = to_slot(3), .block = to_oblock(4096),
	};
	u32 with_page;

	add_record(t, &r);
	r = (struct oc_record){
		.type = OPTCACHE_REC_INTENT, .valid = 0x30, .count = 1,
		.slot = to_slot(3), .block = to_oblock(4096),
	};
	t->pending[t->nr_pending++] = r;
	r.type = OPTCACHE_REC_MAP;
	r.dirty = true;
	r.valid = 0x3f;
	add_record(t, &r);
	write_block(t);
	for (with_page = 0; with_page < 2; with_page++) {
		if (with_page)
			write_page(t, 0);
		expect_state(test, 1);
	}
}

static void intent_of_used_slot(struct kunit *test)
{
	struct replay_test *t = test->priv;

	add_map(t, 10, 1, 1, true);
	add_intent(t, 10, 2, 0xff, 1);
	write_block(t);
	read_table(test);
	KUNIT_EXPECT_EQ(test, read_journal(t), -EUCLEAN);

	/* sectors that are valid need no INTENT */
	t->nr_blocks = 0;
	t->lsn = t->sb.tail_lsn;
	t->offset = t->sb.tail_offset;
	add_map(t, 10, 1, 1, true);
	add_intent(t, 10, 1, 0x82, 1);
	write_block(t);
	read_table(test);
	KUNIT_EXPECT_EQ(test, read_journal(t), -EUCLEAN);
}
