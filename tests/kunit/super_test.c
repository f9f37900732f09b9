// SPDX-License-Identifier: GPL-2.0-only
/*
 * Superblock and geometry (format.c, which format_test.c includes): every plan fits,
 * every field that cannot be is refused, the right copy is chosen.
 */
#include <optcache/format.h>

#include "test.h"

static const u8 uuid[OPTCACHE_UUID_SIZE] = "a cache's uuid.";
static const u8 origin_uuid[OPTCACHE_UUID_SIZE] = "an origin's one";
static const u8 foreign[OPTCACHE_UUID_SIZE] = "another cache's";

struct super_test {
	struct oc_geometry geo;
	struct oc_super sb, bad, got;
	struct optcache_super disk[2];
	const char *why;
};

static int super_test_init(struct kunit *test)
{
	struct super_test *t = test_zalloc(test, sizeof(*t));

	test->priv = t;
	if (oc_geometry_plan(&t->geo, 16 << 11, 1000001, 512, &t->why))
		return -EINVAL;
	oc_super_new(&t->sb, &t->geo, uuid, origin_uuid);
	return 0;
}

/* ---- geometry -------------------------------------------------------- */

/* The plan passes the checks of a superblock, and survives the disk. */
static void expect_accepted(struct kunit *test)
{
	struct super_test *t = test->priv;

	oc_super_new(&t->sb, &t->geo, uuid, origin_uuid);
	oc_super_encode(&t->sb, &t->disk[0]);
	KUNIT_EXPECT_EQ(test, oc_super_decode(&t->got, &t->disk[0], &t->why), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&t->got, &t->sb, sizeof(t->sb)), 0);
}

static void expect_geometry(struct kunit *test, u64 sectors, u32 lbs)
{
	struct super_test *t = test->priv;
	struct oc_geometry *geo = &t->geo;
	u64 spare;

	KUNIT_ASSERT_EQ(test, oc_geometry_plan(geo, sectors, 1ULL << 43, lbs, &t->why), 0);
	KUNIT_EXPECT_LE(test, geo->cache_sectors, sectors);
	KUNIT_EXPECT_GE(test, geo->journal_unit, lbs);
	KUNIT_EXPECT_GE(test, geo->journal_size, 64ULL << 10);
	KUNIT_EXPECT_LE(test, geo->journal_size, 64ULL << 20);
	/* no room for one more slot was left unused */
	spare = sectors - geo->cache_sectors;
	if (geo->nr_slots < OPTCACHE_MAX_SLOTS)
		KUNIT_EXPECT_LT(test, spare, 8ULL * (geo->nr_slots % 506 ? 2 : 4));
	expect_accepted(test);
}

static void geometry_sizes(struct kunit *test)
{
	u64 sectors, seed = 4;
	u32 i;

	for (sectors = 2048; sectors <= 1ULL << 35; sectors *= 2)
		for (i = 0; i < 4; i++) {
			expect_geometry(test, sectors, 512U << i);
			expect_geometry(test, sectors + sectors / (2 + test_below(&seed, 99)),
					512U << i);
		}
}

static void geometry_every_slot_count(struct kunit *test)
{
	u32 pages;

	for (pages = 200; pages < 200 + 3 * 508; pages++)
		expect_geometry(test, pages * 8ULL, 512);
}

static void geometry_limits(struct kunit *test)
{
	struct super_test *t = test->priv;
	u64 sectors = 0;

	KUNIT_EXPECT_EQ(test, oc_geometry_plan(&t->geo, 2048, 0, 512, &t->why), -EINVAL);
	KUNIT_EXPECT_EQ(test, oc_geometry_plan(&t->geo, 2048, (1ULL << 43) + 1, 512, &t->why),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, oc_geometry_plan(&t->geo, 2048, 1, 256, &t->why), -EINVAL);
	KUNIT_EXPECT_EQ(test, oc_geometry_plan(&t->geo, 2048, 1, 8192, &t->why), -EINVAL);
	KUNIT_EXPECT_EQ(test, oc_geometry_plan(&t->geo, 2048, 1, 1000, &t->why), -EINVAL);
	while (oc_geometry_plan(&t->geo, sectors, 1, 512, &t->why) == -ENOSPC)
		sectors++;
	KUNIT_EXPECT_EQ(test, t->geo.nr_slots, (u32)OPTCACHE_MIN_SLOTS);
	KUNIT_EXPECT_EQ(test, t->geo.cache_sectors, sectors);
	KUNIT_EXPECT_LE(test, sectors, 2048ULL);
	KUNIT_EXPECT_EQ(test, oc_geometry_plan(&t->geo, ~0ULL, 1, 512, &t->why), 0);
	KUNIT_EXPECT_EQ(test, t->geo.nr_slots, OPTCACHE_MAX_SLOTS);
	expect_accepted(test);
}

static void geometry_far_slots(struct kunit *test)
{
	struct super_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, oc_geometry_plan(&t->geo, 1ULL << 35, 1ULL << 43, 512, &t->why), 0);
	KUNIT_EXPECT_EQ(test, oc_slot_sector(&t->geo, to_slot(0x20000000)),
			(t->geo.data_start >> 9) + (1ULL << 32));
	KUNIT_EXPECT_LE(test, oc_slot_sector(&t->geo, to_slot(t->geo.nr_slots - 1)) + 8,
			t->geo.cache_sectors);
	KUNIT_EXPECT_EQ(test, oc_page_offset(&t->geo, t->geo.nr_pages, 0), t->geo.data_start);
}

/* ---- superblock ------------------------------------------------------ */

static void super_round_trip(struct kunit *test)
{
	struct super_test *t = test->priv;
	u32 i;

	t->sb.features_compat = 1ULL << 63;
	t->sb.seq = 0x123456789abcdefULL;
	t->sb.generation = ~0ULL;
	t->sb.flags = OPTCACHE_SUPER_CLEAN_STOP | OPTCACHE_SUPER_FAILED | OPTCACHE_SUPER_STALE;
	t->sb.epoch = ~0ULL;
	t->sb.tail_epoch = 7;
	t->sb.tail_lsn = 1ULL << 33;
	t->sb.tail_offset = t->geo.journal_size - 512;
	t->sb.nr_samples = OPTCACHE_MAX_SAMPLES;
	for (i = 0; i < OPTCACHE_MAX_SAMPLES; i++)
		t->sb.sample[i] = (struct oc_sample){
			.sector = 9 * i, .sectors = 1 + i % 9, .hash = ~i,
		};
	t->sb.option_mask = ~0U;
	for (i = 0; i < OPTCACHE_MAX_OPTIONS; i++)
		t->sb.option[i] = i * 0x1111111111ULL;
	oc_super_encode(&t->sb, &t->disk[0]);
	KUNIT_EXPECT_EQ(test, oc_super_decode(&t->got, &t->disk[0], &t->why), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&t->got, &t->sb, sizeof(t->sb)), 0);
}

static void super_any_bit_counts(struct kunit *test)
{
	struct super_test *t = test->priv;
	u8 *byte = (u8 *)&t->disk[0];
	u32 i;

	oc_super_encode(&t->sb, &t->disk[0]);
	for (i = 0; i < sizeof(t->disk[0]); i++) {
		byte[i] ^= 1 << i % 8;
		KUNIT_ASSERT_EQ(test, oc_super_decode(&t->got, &t->disk[0], &t->why),
				i < 8 ? -ENODATA : -EBADMSG);
		byte[i] ^= 1 << i % 8;
	}
	KUNIT_EXPECT_EQ(test, oc_super_decode(&t->got, &t->disk[0], &t->why), 0);
	memset(&t->disk[0], 0, sizeof(t->disk[0]));
	KUNIT_EXPECT_EQ(test, oc_super_decode(&t->got, &t->disk[0], &t->why), -ENODATA);
}

static void super_torn(struct kunit *test)
{
	struct super_test *t = test->priv;

	oc_super_encode(&t->sb, &t->disk[0]);
	t->sb.seq++;
	oc_super_encode(&t->sb, &t->disk[1]);
	memcpy(&t->disk[0], &t->disk[1], 512);	/* the rest is the older version's */
	t->disk[0].option[31] ^= cpu_to_le64(1);
	KUNIT_EXPECT_EQ(test, oc_super_decode(&t->got, &t->disk[0], &t->why), -EBADMSG);
}

static void reseal(struct optcache_super *disk)
{
	disk->crc = cpu_to_le32(oc_crc(disk, sizeof(*disk), offsetof(struct optcache_super, crc)));
}

static void super_unknown(struct kunit *test)
{
	struct super_test *t = test->priv;

	oc_super_encode(&t->sb, &t->disk[0]);
	t->disk[0].version = cpu_to_le32(2);
	reseal(&t->disk[0]);
	KUNIT_EXPECT_EQ(test, oc_super_decode(&t->got, &t->disk[0], &t->why), -EPROTONOSUPPORT);

	oc_super_encode(&t->sb, &t->disk[0]);
	t->disk[0].features_incompat = cpu_to_le64(1ULL << 63);
	reseal(&t->disk[0]);
	KUNIT_EXPECT_EQ(test, oc_super_decode(&t->got, &t->disk[0], &t->why), -EPROTONOSUPPORT);
}

/* One field at a time takes a value that cannot be. */
#define SENSELESS(field, value) \
	do { \
		t->bad = t->sb; \
		t->bad.field = (value); \
		oc_super_encode(&t->bad, &t->disk[0]); \
		t->why = NULL; \
		KUNIT_EXPECT_EQ(test, oc_super_decode(&t->got, &t->disk[0], &t->why), -EUCLEAN); \
		KUNIT_EXPECT_TRUE(test, !!t->why); \
	} while (0)

static void super_senseless_sizes(struct kunit *test)
{
	struct super_test *t = test->priv;
	const struct oc_geometry *geo = &t->geo;

	SENSELESS(geo.cache_sectors, 0);
	SENSELESS(geo.cache_sectors, geo->cache_sectors - 1);
	SENSELESS(geo.cache_sectors, ~0ULL);
	SENSELESS(geo.origin_sectors, 0);
	SENSELESS(geo.origin_sectors, (1ULL << 43) + 1);
	SENSELESS(geo.nr_slots, 0);
	SENSELESS(geo.nr_slots, OPTCACHE_MIN_SLOTS - 1);
	SENSELESS(geo.nr_slots, geo->nr_slots + 1);
	SENSELESS(geo.nr_slots, ~0U);
	SENSELESS(geo.slot_size, 0);
	SENSELESS(geo.slot_size, 8192);
	SENSELESS(geo.journal_unit, 0);
	SENSELESS(geo.journal_unit, 1024);
}

static void super_senseless_regions(struct kunit *test)
{
	struct super_test *t = test->priv;
	const struct oc_geometry *geo = &t->geo;

	SENSELESS(geo.journal_start, 4096);
	SENSELESS(geo.journal_start, 8192 + 512);
	SENSELESS(geo.journal_start, geo->journal_start + 4096);
	SENSELESS(geo.journal_start, -4096ULL);
	SENSELESS(geo.journal_size, 0);
	SENSELESS(geo.journal_size, 4096);
	SENSELESS(geo.journal_size, geo->journal_size - 512);
	SENSELESS(geo.journal_size, geo->journal_size + 4096);
	SENSELESS(geo.journal_size, -8192ULL);
	SENSELESS(geo.table_start, 8192);
	SENSELESS(geo.table_start, geo->table_start + 512);
	SENSELESS(geo.table_start, geo->table_start + 4096);
	SENSELESS(geo.table_start, -4096ULL);
	SENSELESS(geo.data_start, geo->data_start - 4096);
	SENSELESS(geo.data_start, geo->data_start + 4096);
	SENSELESS(geo.data_start, -4096ULL);
	/* a ring of few units: one INTENT wants room for three records at once */
	t->sb.geo.journal_unit = 4096;
	SENSELESS(geo.journal_size, 15 * 4096);
}

static void super_senseless_state(struct kunit *test)
{
	struct super_test *t = test->priv;

	SENSELESS(flags, 1U << 3);
	SENSELESS(seq, 0);
	SENSELESS(epoch, 0);
	SENSELESS(tail_epoch, 0);
	SENSELESS(tail_epoch, 2);
	SENSELESS(tail_lsn, 0);
	SENSELESS(tail_offset, 100);
	SENSELESS(tail_offset, t->geo.journal_size);
	SENSELESS(tail_offset, -512ULL);
	SENSELESS(nr_samples, OPTCACHE_MAX_SAMPLES + 1);
	SENSELESS(nr_samples, ~0U);
	SENSELESS(nr_samples, 1);	/* of no length */
}

static void super_senseless_samples(struct kunit *test)
{
	struct super_test *t = test->priv;
	const u64 end = t->geo.origin_sectors;

	t->sb.nr_samples = 2;
	t->sb.sample[0] = (struct oc_sample){ .sector = 0, .sectors = 8 };
	t->sb.sample[1] = (struct oc_sample){ .sector = 8, .sectors = 8 };
	oc_super_encode(&t->sb, &t->disk[0]);
	KUNIT_EXPECT_EQ(test, oc_super_decode(&t->got, &t->disk[0], &t->why), 0);
	SENSELESS(sample[1].sector, 7);
	SENSELESS(sample[1].sector, end);
	SENSELESS(sample[1].sector, end - 7);
	SENSELESS(sample[1].sector, ~0ULL);
	SENSELESS(sample[1].sectors, OPTCACHE_SAMPLE_SECTORS + 1);
	SENSELESS(sample[1].sectors, ~0U);
	SENSELESS(sample[0].sectors, 9);
	SENSELESS(sample[0].sectors, 0);
}

static void expect_choice(struct kunit *test, int err, u32 which)
{
	struct super_test *t = test->priv;
	u32 got_which = ~0U;

	KUNIT_EXPECT_EQ(test, oc_super_choose(&t->got, t->disk, &got_which, &t->why), err);
	KUNIT_EXPECT_EQ(test, oc_super_choose(&t->got, t->disk, NULL, &t->why), err);
	if (!err)
		KUNIT_EXPECT_EQ(test, got_which, which);
}

/* Both copies with these numbers. */
static void put_copies(struct super_test *t, u64 seq0, u64 seq1)
{
	t->sb.seq = seq0;
	oc_super_encode(&t->sb, &t->disk[0]);
	t->sb.seq = seq1;
	oc_super_encode(&t->sb, &t->disk[1]);
}

static void super_choice(struct kunit *test)
{
	struct super_test *t = test->priv;

	put_copies(t, 5, 6);
	expect_choice(test, 0, 1);
	KUNIT_EXPECT_EQ(test, t->got.seq, 6ULL);
	t->disk[1].uuid[0] ^= 1;			/* torn: the older one */
	expect_choice(test, 0, 0);
	KUNIT_EXPECT_EQ(test, t->got.seq, 5ULL);
	put_copies(t, BIT_ULL(40), 5);
	expect_choice(test, 0, 0);
	put_copies(t, 0x100000000ULL, 0xffffffffULL);
	expect_choice(test, 0, 0);
	t->disk[0].uuid[0] ^= 1;
	expect_choice(test, 0, 1);
	t->disk[1].uuid[0] ^= 1;
	expect_choice(test, -EBADMSG, 0);
	t->disk[0].magic[0] ^= 1;
	expect_choice(test, -EBADMSG, 0);
	t->disk[1].magic[0] ^= 1;
	expect_choice(test, -ENODATA, 0);
}

static void super_choice_unknown(struct kunit *test)
{
	struct super_test *t = test->priv;
	u32 i;

	for (i = 0; i < 2; i++) {
		/* a newer module was at work last: its word stands */
		put_copies(t, 5 + !i, 5 + i);
		t->disk[i].features_incompat = cpu_to_le64(1);
		reseal(&t->disk[i]);
		expect_choice(test, -EPROTONOSUPPORT, 0);
		/* it left long ago */
		put_copies(t, 5 + i, 5 + !i);
		t->disk[i].features_incompat = cpu_to_le64(1);
		reseal(&t->disk[i]);
		expect_choice(test, 0, !i);
		/* another version may keep its number elsewhere */
		put_copies(t, 5 + i, 5 + !i);
		t->disk[i].version = cpu_to_le32(2);
		reseal(&t->disk[i]);
		expect_choice(test, -EPROTONOSUPPORT, 0);
	}
}

/* A format that was cut between its two copies is nobody's cache. */
static void super_choice_two_formats(struct kunit *test)
{
	struct super_test *t = test->priv;

	put_copies(t, 100, 1);
	memcpy(t->sb.uuid, foreign, sizeof(foreign));
	oc_super_encode(&t->sb, &t->disk[1]);
	expect_choice(test, -EUCLEAN, 0);
}

static struct kunit_case super_cases[] = {
	KUNIT_CASE(geometry_sizes),
	KUNIT_CASE(geometry_every_slot_count),
	KUNIT_CASE(geometry_limits),
	KUNIT_CASE(geometry_far_slots),
	KUNIT_CASE(super_round_trip),
	KUNIT_CASE(super_any_bit_counts),
	KUNIT_CASE(super_torn),
	KUNIT_CASE(super_unknown),
	KUNIT_CASE(super_senseless_sizes),
	KUNIT_CASE(super_senseless_regions),
	KUNIT_CASE(super_senseless_state),
	KUNIT_CASE(super_senseless_samples),
	KUNIT_CASE(super_choice),
	KUNIT_CASE(super_choice_unknown),
	KUNIT_CASE(super_choice_two_formats),
	{}
};

static struct kunit_suite super_suite = {
	.name = "optcache_super",
	.init = super_test_init,
	.test_cases = super_cases,
};

kunit_test_suite(super_suite);
