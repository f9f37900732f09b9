// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records, journal blocks, table pages: what is written reads back; whatever is torn,
 * foreign, misplaced or senseless is refused with the error that says so.
 */
#include "drivers/md/optcache/format.c"

#include "test.h"

static const u8 uuid[OPTCACHE_UUID_SIZE] = "a cache's uuid.";
static const u8 foreign[OPTCACHE_UUID_SIZE] = "another cache's";

struct format_test {
	struct oc_geometry geo;
	struct optcache_table_page page;
	u8 block[OPTCACHE_JOURNAL_BLOCK_MAX];
};

static int format_test_init(struct kunit *test)
{
	struct format_test *t = test_zalloc(test, sizeof(*t));
	const char *why;

	test->priv = t;
	return oc_geometry_plan(&t->geo, 16 << 11, 1000001, 512, &why);
}

/* The checksum as the header describes it, a byte and a bit at a time. */
static u32 slow_crc(const u8 *p, size_t len, size_t crc_at)
{
	u32 crc = ~0U;
	size_t i;
	int bit;

	for (i = 0; i < len; i++) {
		crc ^= i >= crc_at && i < crc_at + 4 ? 0 : p[i];
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return crc;
}

static void crc_is_castagnoli(struct kunit *test)
{
	struct format_test *t = test->priv;
	u64 seed = 2;
	u32 i;

	/* the standard's check value, which inverts at the end */
	KUNIT_EXPECT_EQ(test, ~crc32c(~0U, "123456789", 9), 0xe3069283U);
	for (i = 0; i < sizeof(t->block); i++)
		t->block[i] = test_random(&seed);
	KUNIT_EXPECT_EQ(test, oc_crc(t->block, 4096, 12), slow_crc(t->block, 4096, 12));
	KUNIT_EXPECT_EQ(test, oc_crc(t->block, 48, 4), slow_crc(t->block, 48, 4));
	KUNIT_EXPECT_EQ(test, oc_crc(t->block, 512, 508), slow_crc(t->block, 512, 508));
}

/* ---- records --------------------------------------------------------- */

static void record_round_trip(struct kunit *test)
{
	struct format_test *t = test->priv;
	struct optcache_record disk;
	struct oc_record r = {}, got;
	bool mapping;
	u64 seed = 8;
	u32 i;

	t->geo.origin_sectors = 1ULL << 43;
	for (i = 0; i < 1000; i++) {
		r.type = 1 + test_below(&seed, 4);
		mapping = r.type == OPTCACHE_REC_MAP || r.type == OPTCACHE_REC_INTENT;
		r.count = r.type == OPTCACHE_REC_INTENT ? 1 : 1 + test_below(&seed, 256);
		r.crc = r.type == OPTCACHE_REC_INTENT ? test_random(&seed) : 0;
		r.slot = to_slot(test_below(&seed, t->geo.nr_slots - r.count + 1));
		r.dirty = r.type == OPTCACHE_REC_MAP && test_below(&seed, 2);
		r.valid = mapping ? 1 + test_below(&seed, 255) : 0;
		r.block = to_oblock(0);
		if (mapping)
			r.block = to_oblock(BIT_ULL(40) - r.count -
					    test_random(&seed) * (u64)(i & 1));
		oc_record_encode(&r, &disk);
		KUNIT_ASSERT_EQ(test, oc_record_decode(&got, &disk, &t->geo), 0);
		KUNIT_ASSERT_EQ(test, got.type, r.type);
		KUNIT_ASSERT_EQ(test, got.count, r.count);
		KUNIT_ASSERT_EQ(test, from_slot(got.slot), from_slot(r.slot));
		KUNIT_ASSERT_EQ(test, got.dirty, r.dirty);
		KUNIT_ASSERT_EQ(test, got.valid, r.valid);
		KUNIT_ASSERT_EQ(test, got.crc, r.crc);
		KUNIT_ASSERT_EQ(test, from_oblock(got.block), from_oblock(r.block));
	}
}

#define SENSELESS_RECORD(change) \
	do { \
		struct optcache_record disk; \
		struct oc_record got; \
		oc_record_encode(&r, &disk); \
		KUNIT_EXPECT_EQ(test, oc_record_decode(&got, &disk, &t->geo), 0); \
		change; \
		KUNIT_EXPECT_EQ(test, oc_record_decode(&got, &disk, &t->geo), -EUCLEAN); \
	} while (0)

static void record_senseless(struct kunit *test)
{
	struct format_test *t = test->priv;
	/* the last block is a partial one */
	const u64 blocks = DIV_ROUND_UP(t->geo.origin_sectors, 8);
	struct oc_record r = {
		.type = OPTCACHE_REC_MAP, .dirty = true, .valid = 1,
		.slot = to_slot(t->geo.nr_slots - 2), .block = to_oblock(blocks - 2), .count = 2,
	};

	SENSELESS_RECORD(disk.type = OPTCACHE_REC_MAP | 0x20);
	SENSELESS_RECORD(disk.type = OPTCACHE_REC_MAP | 0x40);
	SENSELESS_RECORD(disk.type = OPTCACHE_REC_INTENT);
	SENSELESS_RECORD(disk.type = 5);
	SENSELESS_RECORD(disk.type = 0);
	SENSELESS_RECORD(disk.type = 15);
	SENSELESS_RECORD(disk.type = OPTCACHE_REC_UNMAP);
	SENSELESS_RECORD(disk.crc = cpu_to_le32(1));
	SENSELESS_RECORD(disk.count = 2);
	SENSELESS_RECORD(disk.count = 255);
	SENSELESS_RECORD(disk.slot = cpu_to_le32(t->geo.nr_slots - 1));
	SENSELESS_RECORD(disk.slot = cpu_to_le32(t->geo.nr_slots));
	SENSELESS_RECORD(disk.slot = cpu_to_le32(from_slot(OC_NO_SLOT)));
	SENSELESS_RECORD(disk.block_lo = cpu_to_le32(blocks - 1));
	SENSELESS_RECORD(disk.block_hi = 0xff);
	SENSELESS_RECORD(disk.valid = 0);
	r.type = OPTCACHE_REC_UNMAP;
	r.dirty = false;
	SENSELESS_RECORD(disk.valid = 1);
	SENSELESS_RECORD(disk.block_lo = cpu_to_le32(1));
	SENSELESS_RECORD(disk.type |= OPTCACHE_REC_DIRTY);
	SENSELESS_RECORD(disk.slot = cpu_to_le32(t->geo.nr_slots - 1));
	r.type = OPTCACHE_REC_CLEAN;
	SENSELESS_RECORD(disk.type |= OPTCACHE_REC_DIRTY);
	SENSELESS_RECORD(disk.crc = cpu_to_le32(1));
	r.type = OPTCACHE_REC_INTENT;
	r.valid = 0x18;
	r.count = 1;
	r.crc = 5;
	SENSELESS_RECORD(disk.count = 1);
	SENSELESS_RECORD(disk.type |= OPTCACHE_REC_DIRTY);
	SENSELESS_RECORD(disk.valid = 0);
	SENSELESS_RECORD(disk.block_lo = cpu_to_le32(blocks));
	SENSELESS_RECORD(disk.slot = cpu_to_le32(t->geo.nr_slots));
}

/* ---- journal blocks -------------------------------------------------- */

#define EPOCH	9
#define LSN	BIT_ULL(40)

static void seal(struct format_test *t, u32 size, u32 nr)
{
	struct optcache_record *disk = (void *)t->block + sizeof(struct optcache_journal_header);
	struct oc_record r = { .type = OPTCACHE_REC_UNMAP, .count = 1 };
	u32 i;

	memset(t->block, 0xee, sizeof(t->block));
	for (i = 0; i < nr; i++)
		oc_record_encode(&r, &disk[i]);
	oc_journal_seal(t->block, size, uuid, EPOCH, LSN, nr);
}

static int open_block(struct format_test *t, size_t avail, const u8 *id, u64 min, u64 max, u64 lsn)
{
	u32 size, nr;
	u64 epoch;

	return oc_journal_open(t->block, avail, &t->geo, id, min, max, lsn, &size, &nr, &epoch);
}

static void journal_open(struct kunit *test)
{
	struct format_test *t = test->priv;
	u32 want, nr_want, size, nr, i;
	u64 epoch;

	for (want = 512; want <= 4096; want += 512) {
		nr_want = OPTCACHE_RECORDS_IN(want);
		seal(t, want, nr_want);
		KUNIT_EXPECT_EQ(test, oc_journal_open(t->block, 4096, &t->geo, uuid, 0, ~0ULL, LSN,
						      &size, &nr, &epoch), 0);
		KUNIT_EXPECT_EQ(test, size, want);
		KUNIT_EXPECT_EQ(test, nr, nr_want);
		KUNIT_EXPECT_EQ(test, epoch, (u64)EPOCH);
		for (i = sizeof(struct optcache_journal_header) + nr * 20; i < want; i++)
			KUNIT_ASSERT_EQ(test, t->block[i], 0);
		KUNIT_EXPECT_EQ(test, open_block(t, want, uuid, 0, ~0ULL, LSN), 0);
		KUNIT_EXPECT_EQ(test, open_block(t, want - 1, uuid, 0, ~0ULL, LSN), -ENODATA);
		KUNIT_EXPECT_EQ(test, open_block(t, 0, uuid, 0, ~0ULL, LSN), -ENODATA);
	}
}

/* Hazard 12: an earlier lap, an earlier format, another pair. */
static void journal_foreign(struct kunit *test)
{
	struct format_test *t = test->priv;

	seal(t, 512, 3);
	KUNIT_EXPECT_EQ(test, open_block(t, 512, uuid, EPOCH, EPOCH, LSN), 0);
	KUNIT_EXPECT_EQ(test, open_block(t, 512, foreign, EPOCH, EPOCH, LSN), -ENODATA);
	KUNIT_EXPECT_EQ(test, open_block(t, 512, uuid, EPOCH + 1, EPOCH + 1, LSN), -ENODATA);
	KUNIT_EXPECT_EQ(test, open_block(t, 512, uuid, EPOCH - 1, EPOCH - 1, LSN), -EUCLEAN);
	KUNIT_EXPECT_EQ(test, open_block(t, 512, uuid, EPOCH, EPOCH, LSN - 1), -ENODATA);
	KUNIT_EXPECT_EQ(test, open_block(t, 512, uuid, EPOCH, EPOCH, LSN + 1), -ENODATA);
	t->geo.journal_unit = 4096;
	KUNIT_EXPECT_EQ(test, open_block(t, 4096, uuid, EPOCH, EPOCH, LSN), -ENODATA);
}

static void journal_torn(struct kunit *test)
{
	const u32 used = sizeof(struct optcache_journal_header) +
			 2 * sizeof(struct optcache_record);
	struct format_test *t = test->priv;
	u32 i;

	for (i = 0; i < 4096; i += 512) {
		seal(t, 4096, OPTCACHE_RECORDS_IN(4096));
		memset(t->block + i, 0, 512);
		KUNIT_EXPECT_EQ(test, open_block(t, 4096, uuid, 0, ~0ULL, LSN), -ENODATA);
	}
	seal(t, 512, 2);
	for (i = 0; i < 512; i++) {
		t->block[i] ^= 0x10;
		/* what lies behind the records does not matter */
		KUNIT_ASSERT_EQ(test, open_block(t, 512, uuid, EPOCH, EPOCH, LSN),
				i < used ? -ENODATA : 0);
		t->block[i] ^= 0x10;
	}
}

/* A right checksum over sizes that lie. */
static void journal_lies(struct kunit *test)
{
	static const u16 lie[][2] = {
		{ 0, 1 }, { 256, 1 }, { 768, 1 }, { 4096 + 512, 1 }, { 0xfe00, 1 },
		{ 512, 0 }, { 512, OPTCACHE_RECORDS_IN(512) + 1 }, { 512, 0xffff },
	};
	struct format_test *t = test->priv;
	struct optcache_journal_header *h = (void *)t->block;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lie); i++) {
		seal(t, 512, 1);
		h->size = cpu_to_le16(lie[i][0]);
		h->nr = cpu_to_le16(lie[i][1]);
		if (lie[i][0] >= sizeof(*h) && lie[i][0] <= sizeof(t->block))
			h->crc = cpu_to_le32(oc_crc(t->block, lie[i][0], 4));
		KUNIT_EXPECT_EQ(test, open_block(t, 4096, uuid, 0, ~0ULL, LSN), -ENODATA);
	}
}

/* ---- table ----------------------------------------------------------- */

static void entry_states(struct kunit *test)
{
	const u64 noise = OC_WORD_HOT | OC_WORD_FREQ | OC_WORD_READERS | OC_WORD_WRITERS;
	const u64 plain = oc_word_make(to_oblock(OC_WORD_BLOCK), 0xa5, OC_LIVE);
	u32 state;
	u64 w;

	for (state = OC_FREE; state <= OC_GONE; state++) {
		bool mapped = state >= OC_SEALED && state <= OC_COPY;

		w = oc_word_with_state(plain, state) | noise | OC_WORD_DIRTY;
		KUNIT_EXPECT_EQ(test, oc_entry_word(oc_entry_encode(w)),
				mapped ? plain | OC_WORD_DIRTY : 0);
		w &= ~OC_WORD_DIRTY;
		KUNIT_EXPECT_EQ(test, oc_entry_word(oc_entry_encode(w)),
				mapped ? plain : 0);
	}
	KUNIT_EXPECT_EQ(test, oc_entry_encode(0), 0ULL);
}

static u64 good_entry(void)
{
	return oc_entry_encode(oc_word_make(to_oblock(77), 0x0f, OC_LIVE));
}

static int check_page(struct format_test *t, u32 nr)
{
	return oc_page_check(&t->page, &t->geo, uuid, nr);
}

static void page_whole(struct kunit *test)
{
	struct format_test *t = test->priv;
	u32 i;

	for (i = 0; i < OPTCACHE_ENTRIES_PER_PAGE; i++)
		t->page.entry[i] = cpu_to_le64(good_entry());
	oc_page_seal(&t->page, uuid, 2, 100, 3);
	KUNIT_EXPECT_EQ(test, check_page(t, 2), 0);
	KUNIT_EXPECT_EQ(test, check_page(t, 1), -EBADMSG);
	KUNIT_EXPECT_EQ(test, oc_page_check(&t->page, &t->geo, foreign, 2), -EBADMSG);
	for (i = 0; i < sizeof(t->page); i++) {
		((u8 *)&t->page)[i] ^= 1;
		KUNIT_ASSERT_EQ(test, check_page(t, 2), -EBADMSG);
		((u8 *)&t->page)[i] ^= 1;
	}
	/* a page that the table does not have */
	oc_page_seal(&t->page, uuid, t->geo.nr_pages, 100, 3);
	KUNIT_EXPECT_EQ(test, check_page(t, t->geo.nr_pages), -EBADMSG);
}

static void page_torn(struct kunit *test)
{
	struct format_test *t = test->priv;
	u8 *old = test_zalloc(test, 4096);
	u32 i;

	t->page.entry[400] = cpu_to_le64(good_entry());
	oc_page_seal(&t->page, uuid, 0, 1, 1);
	memcpy(old, &t->page, 4096);
	for (i = 512; i < 4096; i += 512) {
		memcpy(&t->page, old, 4096);
		t->page.entry[0] = cpu_to_le64(good_entry());
		t->page.entry[505] = cpu_to_le64(good_entry());
		oc_page_seal(&t->page, uuid, 0, 2, 2);
		memcpy((u8 *)&t->page + i, old + i, 4096 - i);
		KUNIT_EXPECT_EQ(test, check_page(t, 0), -EBADMSG);
	}
}

static void page_senseless(struct kunit *test)
{
	struct format_test *t = test->priv;
	const u64 blocks = DIV_ROUND_UP(t->geo.origin_sectors, 8);
	const u64 last_entry = oc_entry_encode(oc_word_make(to_oblock(blocks - 1), 1, OC_LIVE));
	const u64 bad[] = {
		1,						/* not mapped, not zero */
		OPTCACHE_ENTRY_DIRTY,
		good_entry() | 1ULL << 50, good_entry() | 1ULL << 63,	/* unknown bits */
		OPTCACHE_ENTRY_MAPPED | 5,			/* nothing valid */
		oc_entry_encode(oc_word_make(to_oblock(blocks), 1, OC_LIVE)),
		oc_entry_encode(oc_word_make(to_oblock(OC_WORD_BLOCK), 1, OC_LIVE)),
	};
	u32 i, last = t->geo.nr_pages - 1, used = t->geo.nr_slots % OPTCACHE_ENTRIES_PER_PAGE;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		t->page.entry[i * 80] = cpu_to_le64(bad[i]);
		oc_page_seal(&t->page, uuid, 0, 1, 1);
		KUNIT_EXPECT_EQ(test, check_page(t, 0), -EUCLEAN);
		t->page.entry[i * 80] = cpu_to_le64(last_entry);
		oc_page_seal(&t->page, uuid, 0, 1, 1);
		KUNIT_EXPECT_EQ(test, check_page(t, 0), 0);
		t->page.entry[i * 80] = 0;
	}
	/* behind the last slot there is nothing */
	KUNIT_ASSERT_NE(test, used, 0U);
	t->page.entry[used - 1] = cpu_to_le64(good_entry());
	oc_page_seal(&t->page, uuid, last, 1, 1);
	KUNIT_EXPECT_EQ(test, check_page(t, last), 0);
	t->page.entry[used] = cpu_to_le64(good_entry());
	oc_page_seal(&t->page, uuid, last, 1, 1);
	KUNIT_EXPECT_EQ(test, check_page(t, last), -EUCLEAN);
}

static struct kunit_case format_cases[] = {
	KUNIT_CASE(crc_is_castagnoli),
	KUNIT_CASE(record_round_trip),
	KUNIT_CASE(record_senseless),
	KUNIT_CASE(journal_open),
	KUNIT_CASE(journal_foreign),
	KUNIT_CASE(journal_torn),
	KUNIT_CASE(journal_lies),
	KUNIT_CASE(entry_states),
	KUNIT_CASE(page_whole),
	KUNIT_CASE(page_torn),
	KUNIT_CASE(page_senseless),
	{}
};

static struct kunit_suite format_suite = {
	.name = "optcache_format",
	.init = format_test_init,
	.test_cases = format_cases,
};

kunit_test_suite(format_suite);
