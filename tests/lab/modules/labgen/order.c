// SPDX-License-Identifier: GPL-2.0
/*
 * Which block the i-th I/O goes to.
 */
#include <linux/log2.h>
#include <linux/math64.h>

#include "labgen.h"
#include "random.h"

/*
 * A seeded permutation of 0 .. n - 1: a Feistel network over the next even
 * power of two, walked until it comes out inside.
 */
static u64 gen_permute(u64 i, u64 n, u64 seed)
{
	unsigned int half = (max(2, ilog2(max(n, 2ULL) - 1) + 1) + 1) / 2;
	u64 mask = (1ULL << half) - 1, left, right, next;
	unsigned int round;

	do {
		left = i >> half;
		right = i & mask;
		for (round = 0; round < 4; round++) {
			next = left ^ (lab_mix(right ^ seed << 8 ^ round) & mask);
			left = right;
			right = next;
		}
		i = left << half | right;
	} while (i >= n);
	return i;
}

u64 gen_block_of(const struct gen_job *job, u64 nr_blocks, u64 i, u64 *random)
{
	u64 width, at;

	switch (job->order) {
	case GEN_RAND:
		return lab_random_below(random, nr_blocks);
	case GEN_PERM:
		div64_u64_rem(i, nr_blocks, &at);
		return gen_permute(at, nr_blocks, job->seed);
	case GEN_ASC:	/* one at random from each n-th of the span */
		width = max(1ULL, div64_u64(nr_blocks, job->ios));
		at = i * width + lab_random_below(random, width);
		return min(at, nr_blocks - 1);
	default:
		div64_u64_rem(i, nr_blocks, &at);
		return at;
	}
}
