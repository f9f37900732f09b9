// SPDX-License-Identifier: GPL-2.0
/*
 * Latencies, in buckets of 1/64 of a power of two: percentiles are right to
 * 0.8 %; mean and maximum are exact.
 */
#include <linux/bitops.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "labgen.h"

static unsigned int gen_bucket_of(u64 ns)
{
	unsigned int shift;

	if (ns < 64)
		return ns;
	shift = fls64(ns) - 7;
	return min_t(unsigned int, shift * 64 + (ns >> shift), GEN_BUCKETS - 1);
}

/* The middle of a bucket. */
static u64 gen_bucket_value(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < 128)
		return bucket;
	shift = bucket / 64 - 1;
	return ((u64)(bucket % 64 + 64) << shift) + (1ULL << shift) / 2;
}

void gen_latency_add(struct gen_latency *l, u64 ns)
{
	l->count++;
	l->sum += ns;
	l->max = max(l->max, ns);
	l->bucket[gen_bucket_of(ns)]++;
}

u64 gen_latency_mean(const struct gen_latency *l)
{
	return l->count ? div64_u64(l->sum, l->count) : 0;
}

u64 gen_latency_at(const struct gen_latency *l, u64 per_100000)
{
	u64 wanted = div_u64(l->count * per_100000 + 99999, 100000), seen = 0;
	unsigned int i;

	for (i = 0; i < GEN_BUCKETS; i++) {
		seen += l->bucket[i];
		if (seen && seen >= wanted)
			return min(gen_bucket_value(i), l->max);
	}
	return l->max;
}
