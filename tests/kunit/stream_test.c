// SPDX-License-Identifier: GPL-2.0-only
/* Streams: what is seen as sequential, and what is forgotten. */
#include "drivers/md/optcache/stream.c"

#include "test.h"

static int stream_test_init(struct kunit *test)
{
	test->priv = test_zalloc(test, sizeof(struct oc_streams));
	oc_streams_init(test->priv);
	return 0;
}

static void stream_single(struct kunit *test)
{
	struct oc_streams *st = test->priv;

	KUNIT_EXPECT_EQ(test, oc_stream_add(st, 0, 8, false), 8ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_add(st, 8, 248, false), 256ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_add(st, 256, 1, false), 257ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_add(st, 256, 1, false), 1ULL);	/* behind: a new one */
	KUNIT_EXPECT_EQ(test, oc_stream_add(st, 258, 8, false), 8ULL);	/* a gap: a new one */
}

static void stream_peek_changes_nothing(struct kunit *test)
{
	struct oc_streams *st = test->priv;

	KUNIT_EXPECT_EQ(test, oc_stream_peek(st, 0, false), 0ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_add(st, 0, 8, false), 8ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_peek(st, 8, false), 8ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_peek(st, 8, false), 8ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_peek(st, 0, false), 0ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_add(st, 8, 8, false), 16ULL);
}

static void stream_nothing(struct kunit *test)
{
	struct oc_streams *st = test->priv;

	KUNIT_EXPECT_EQ(test, oc_stream_add(st, 100, 8, false), 8ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_add(st, 108, 0, false), 0ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_add(st, 108, 8, false), 16ULL);
}

static void stream_far(struct kunit *test)
{
	struct oc_streams *st = test->priv;
	const u64 at = 0xfffffff8ULL;

	KUNIT_EXPECT_EQ(test, oc_stream_add(st, at, 8, false), 8ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_add(st, at + 8, 8, false), 16ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_add(st, 0, 8, false), 8ULL);	/* not taken for 2^32 */
	KUNIT_EXPECT_EQ(test, oc_stream_add(st, at + 16, ~0U, false), 16 + 0xffffffffULL);
}

/* As many readers as there are streams, in turn: each is followed. */
static void stream_interleaved(struct kunit *test)
{
	struct oc_streams *st = test->priv;
	u32 round, i;

	for (round = 0; round < 10; round++)
		for (i = 0; i < OC_STREAMS; i++)
			KUNIT_ASSERT_EQ(test,
					oc_stream_add(st, ((u64)i << 30) + round * 8, 8, false),
					(round + 1) * 8ULL);
}

/* One more, and who was seen least lately is forgotten, nobody else. */
static void stream_forgets_oldest(struct kunit *test)
{
	struct oc_streams *st = test->priv;
	u32 i;

	for (i = 0; i <= OC_STREAMS; i++)
		oc_stream_add(st, (u64)i << 30, 8, false);
	for (i = 1; i <= OC_STREAMS; i++)
		KUNIT_ASSERT_EQ(test, oc_stream_add(st, ((u64)i << 30) + 8, 8, false), 16ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_add(st, 8, 8, false), 8ULL);
}

/* Random reads between do not cut a stream that goes on often enough. */
static void stream_among_noise(struct kunit *test)
{
	struct oc_streams *st = test->priv;
	u64 seed = 3, row = 0;
	u32 i, k;

	for (i = 0; i < 1000; i++) {
		row += 8;
		KUNIT_ASSERT_EQ(test, oc_stream_add(st, (1ULL << 40) + i * 8, 8, false), row);
		for (k = 0; k < OC_STREAMS - 1; k++)
			oc_stream_add(st, test_random(&seed) * 1000ULL, 8, false);
	}
}

/* After any history each stream is once in the ring and once in its bucket. */
static void stream_structure(struct kunit *test)
{
	struct oc_streams *st = test->priv;
	u32 i, ring = 0, hashed = 0;
	u64 seed = 9;
	u16 k;

	for (i = 0; i < 20000; i++)
		oc_stream_add(st, test_below(&seed, 3000), 1 + test_below(&seed, 4), false);
	for (k = st->stream[0].lru_next; k && ring <= OC_STREAMS; k = st->stream[k].lru_next)
		ring++;
	for (i = 0; i < OC_STREAM_HASH; i++)
		for (k = st->hash[i]; k && hashed <= OC_STREAMS; k = st->stream[k].hash_next) {
			KUNIT_EXPECT_TRUE(test, stream_bucket(st, st->stream[k].next_sector) ==
						&st->hash[i]);
			hashed++;
		}
	KUNIT_EXPECT_EQ(test, ring, (u32)OC_STREAMS);
	KUNIT_EXPECT_EQ(test, hashed, (u32)OC_STREAMS);
}

/* A log: writes in a row with flushes between, which are no stream.  Reads are. */
static void stream_flushed(struct kunit *test)
{
	struct oc_streams *st = test->priv;

	KUNIT_EXPECT_EQ(test, oc_stream_add(st, 0, 8, true), 8ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_peek(st, 8, true), 8ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_add(st, 8, 8, true), 16ULL);
	oc_stream_flush(st);
	KUNIT_EXPECT_EQ(test, oc_stream_peek(st, 16, true), 0ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_peek(st, 16, false), 16ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_add(st, 16, 8, true), 8ULL);
	KUNIT_EXPECT_EQ(test, oc_stream_peek(st, 24, true), 8ULL);
	oc_stream_flush(st);
	KUNIT_EXPECT_EQ(test, oc_stream_add(st, 24, 8, false), 16ULL);
}

static struct kunit_case stream_cases[] = {
	KUNIT_CASE(stream_flushed),
	KUNIT_CASE(stream_single),
	KUNIT_CASE(stream_peek_changes_nothing),
	KUNIT_CASE(stream_nothing),
	KUNIT_CASE(stream_far),
	KUNIT_CASE(stream_interleaved),
	KUNIT_CASE(stream_forgets_oldest),
	KUNIT_CASE(stream_among_noise),
	KUNIT_CASE(stream_structure),
	{}
};

static struct kunit_suite stream_suite = {
	.name = "optcache_stream",
	.init = stream_test_init,
	.test_cases = stream_cases,
};

kunit_test_suite(stream_suite);
