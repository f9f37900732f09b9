// SPDX-License-Identifier: GPL-2.0-only
/* Samples: which parts of the origin make its fingerprint. */
#include "drivers/md/optcache/sample.c"

#include "test.h"

#define NR	1000
#define MIB	2048ULL		/* sectors */

struct sample_test {
	struct oc_slots slots;
	struct oc_super sb;
	oc_slot_t slot[SLOTS_EACH];
};

static int sample_test_init(struct kunit *test)
{
	struct sample_test *t = test_zalloc(test, sizeof(*t));

	test->priv = t;
	t->sb.geo.origin_sectors = 1000 * MIB;
	return oc_slots_init(&t->slots, NR);
}

static void sample_test_exit(struct kunit *test)
{
	struct sample_test *t = test->priv;

	oc_slots_exit(&t->slots);
}

/* Slots @first on hold blocks @block on. */
static void hold(struct sample_test *t, u32 first, u32 nr, u64 block, u8 valid, u64 flags)
{
	u32 i;

	for (i = 0; i < nr; i++)
		oc_slot_install(&t->slots, to_slot(first + i),
				oc_word_make(to_oblock(block + i), valid, OC_LIVE) | flags);
}

static bool sampled(const struct sample_test *t, u64 sector)
{
	u32 i;

	for (i = 0; i < t->sb.nr_samples; i++)
		if (sector >= t->sb.sample[i].sector &&
		    sector < t->sb.sample[i].sector + t->sb.sample[i].sectors)
			return true;
	return false;
}

/* What the superblock's decoder asks for. */
static void expect_sound(struct kunit *test)
{
	struct sample_test *t = test->priv;
	u64 end = 0;
	u32 i;

	KUNIT_EXPECT_LE(test, t->sb.nr_samples, (u32)OPTCACHE_MAX_SAMPLES);
	for (i = 0; i < t->sb.nr_samples; i++) {
		KUNIT_EXPECT_GE(test, t->sb.sample[i].sector, end);
		KUNIT_EXPECT_GE(test, t->sb.sample[i].sectors, 1U);
		KUNIT_EXPECT_LE(test, t->sb.sample[i].sectors, (u32)OPTCACHE_SAMPLE_SECTORS);
		end = t->sb.sample[i].sector + t->sb.sample[i].sectors;
	}
	KUNIT_EXPECT_LE(test, end, t->sb.geo.origin_sectors);
}

static void sample_ends(struct kunit *test)
{
	struct sample_test *t = test->priv;

	oc_sample_plan(&t->sb, &t->slots);
	expect_sound(test);
	KUNIT_EXPECT_EQ(test, t->sb.nr_samples, 7U);
	KUNIT_EXPECT_TRUE(test, sampled(t, 0));
	KUNIT_EXPECT_TRUE(test, sampled(t, MIB));		/* a partition's start */
	KUNIT_EXPECT_TRUE(test, sampled(t, 16 * MIB + 127));
	KUNIT_EXPECT_TRUE(test, sampled(t, 1000 * MIB - 1));
	KUNIT_EXPECT_FALSE(test, sampled(t, 500 * MIB));
}

static void sample_small_origins(struct kunit *test)
{
	static const u64 size[] = { 1, 7, 8, 2047, 2048, 2049, 4095, 4096, 4097, 34000 };
	struct sample_test *t = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(size); i++) {
		t->sb.geo.origin_sectors = size[i];
		oc_sample_plan(&t->sb, &t->slots);
		expect_sound(test);
		KUNIT_EXPECT_TRUE(test, sampled(t, 0));
	}
}

/* As few dirty blocks as there is room for: each of them, the last one cut short. */
static void sample_few_dirty(struct kunit *test)
{
	struct sample_test *t = test->priv;
	u32 i;

	t->sb.geo.origin_sectors = 1000 * MIB - 3;
	hold(t, 500, SLOTS_EACH - 1, 100000, 0x10, OC_WORD_DIRTY);
	hold(t, 3, 1, 300 * MIB / 8, 0xff, OC_WORD_DIRTY);
	oc_sample_plan(&t->sb, &t->slots);
	expect_sound(test);
	for (i = 0; i < SLOTS_EACH - 1; i++)
		KUNIT_EXPECT_TRUE(test, sampled(t, (100000 + i) * 8ULL));
	KUNIT_EXPECT_TRUE(test, sampled(t, 300 * MIB));
}

/* Of many some of every part. */
static void sample_spread(struct kunit *test)
{
	struct sample_test *t = test->priv;
	u32 i;

	hold(t, 0, NR, 100000, 0xff, 0);
	KUNIT_EXPECT_EQ(test, oc_sample_slots(&t->slots, true, t->slot, SLOTS_EACH), 0U);
	KUNIT_EXPECT_EQ(test, oc_sample_slots(&t->slots, false, t->slot, SLOTS_EACH),
			(u32)SLOTS_EACH);
	for (i = 0; i < SLOTS_EACH; i++) {
		KUNIT_EXPECT_GE(test, from_slot(t->slot[i]), i * 63);
		KUNIT_EXPECT_LT(test, from_slot(t->slot[i]), (i + 1) * 63);
	}
}

static void sample_hottest(struct kunit *test)
{
	struct sample_test *t = test->priv;
	oc_slot_t slot;

	hold(t, 0, 90, 100000, 0xff, 0);
	hold(t, 90, 1, 200000, 0xff, OC_WORD_FREQ);
	hold(t, 91, 9, 300000, 0xff, 0);
	KUNIT_EXPECT_EQ(test, oc_sample_slots(&t->slots, false, &slot, 1), 1U);
	KUNIT_EXPECT_EQ(test, from_slot(slot), 90U);
	hold(t, 200, 2, 0, 0xff, 0);	/* the superblock of most file systems */
	KUNIT_EXPECT_EQ(test, oc_sample_slots(&t->slots, false, &slot, 1), 1U);
	KUNIT_EXPECT_EQ(test, from_slot(slot), 200U);
}

/* What the journal does not know yet is not on the origin for sure. */
static void sample_fresh(struct kunit *test)
{
	struct sample_test *t = test->priv;
	u32 i;

	for (i = 0; i < 100; i++)
		oc_slot_install(&t->slots, to_slot(i),
				oc_word_make(to_oblock(i), 0xff, OC_FRESH));
	KUNIT_EXPECT_EQ(test, oc_sample_slots(&t->slots, false, t->slot, SLOTS_EACH), 0U);
	hold(t, 600, 1, 200000, 0x01, 0);
	KUNIT_EXPECT_EQ(test, oc_sample_slots(&t->slots, false, t->slot, SLOTS_EACH), 1U);
	KUNIT_EXPECT_EQ(test, from_slot(t->slot[0]), 600U);
}

static void sample_full(struct kunit *test)
{
	struct sample_test *t = test->priv;

	hold(t, 0, NR / 2, 100000, 0xff, 0);
	hold(t, NR / 2, NR / 2, 180000, 0xff, OC_WORD_DIRTY);
	oc_sample_plan(&t->sb, &t->slots);
	expect_sound(test);
	KUNIT_EXPECT_EQ(test, t->sb.nr_samples, 7U + 2 * SLOTS_EACH);
}

/* From the paper's reference code: key and message are 0, 1, 2, ... */
static void sample_siphash(struct kunit *test)
{
	siphash_key_t key = {{ 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL }};
	u8 message[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };

	KUNIT_EXPECT_EQ(test, siphash(message, 0, &key), 0x726fdb47dd0e0e31ULL);
	KUNIT_EXPECT_EQ(test, siphash(message, 8, &key), 0x93f5f5799a932462ULL);
}

static u32 hash_of(const void *buf, size_t first, size_t rest)
{
	static const u8 uuid[OPTCACHE_UUID_SIZE] = { 1, 2, 3 };
	struct oc_sample_hash h;

	oc_sample_hash_begin(&h, uuid);
	oc_sample_hash_add(&h, buf, first);
	oc_sample_hash_add(&h, (const u8 *)buf + first, rest);
	return oc_sample_hash_end(&h);
}

/* However it is cut; and a block that ends in its own CRC32C is no blind spot. */
static void sample_hashes(struct kunit *test)
{
	const size_t len = 3 * OPTCACHE_BLOCK_SIZE + 512;
	u8 *buf = test_zalloc(test, len);
	u32 whole = hash_of(buf, len, 0), crc[2], hash[2], i;
	__le32 end;

	KUNIT_EXPECT_EQ(test, hash_of(buf, OPTCACHE_BLOCK_SIZE, len - OPTCACHE_BLOCK_SIZE), whole);
	KUNIT_EXPECT_NE(test, hash_of(buf, len - 512, 0), whole);
	for (i = 0; i < 2; i++) {
		buf[100] = i;
		end = cpu_to_le32(crc32c(~0U, buf, 1020));
		memcpy(buf + 1020, &end, sizeof(end));
		crc[i] = crc32c(~0U, buf, 1024);
		hash[i] = hash_of(buf, 1024, 0);
	}
	KUNIT_EXPECT_EQ(test, crc[0], crc[1]);
	KUNIT_EXPECT_NE(test, hash[0], hash[1]);
}

static struct kunit_case sample_cases[] = {
	KUNIT_CASE(sample_ends),
	KUNIT_CASE(sample_small_origins),
	KUNIT_CASE(sample_few_dirty),
	KUNIT_CASE(sample_spread),
	KUNIT_CASE(sample_hottest),
	KUNIT_CASE(sample_fresh),
	KUNIT_CASE(sample_full),
	KUNIT_CASE(sample_siphash),
	KUNIT_CASE(sample_hashes),
	{}
};

static struct kunit_suite sample_suite = {
	.name = "optcache_sample",
	.init = sample_test_init,
	.exit = sample_test_exit,
	.test_cases = sample_cases,
};

kunit_test_suite(sample_suite);
