/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Seeded randomness: the same seed gives the same run on every kernel, so
 * nothing here may come from the kernel's own generators.
 */
#ifndef _LAB_RANDOM_H
#define _LAB_RANDOM_H

#include <linux/math64.h>
#include <linux/types.h>

/* splitmix64: a good hash of one word, and a generator when fed a counter. */
static inline u64 lab_mix(u64 x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static inline u64 lab_random(u64 *state)
{
	return lab_mix((*state)++);
}

/* 0 .. n - 1; the bias of the remainder is far below anything measured here. */
static inline u64 lab_random_below(u64 *state, u64 n)
{
	u64 rest;

	div64_u64_rem(lab_random(state), n, &rest);
	return rest;
}

#endif
