/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all suites share.  A suite includes the unit it tests as source, so that it
 * can look inside; the same sources run as a KUnit module in a kernel and, through
 * user_kunit.h, as a program under the sanitizers.
 */
#ifndef _OPTCACHE_TEST_H
#define _OPTCACHE_TEST_H

#ifdef __KERNEL__
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/slab.h>
#else
#include "user_kunit.h"
#endif

/* A small generator of its own: the same seed gives the same test everywhere. */
static inline u32 test_random(u64 *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

static inline u32 test_below(u64 *state, u32 n)
{
	return test_random(state) % n;
}

static inline void *test_zalloc(struct kunit *test, size_t size)
{
	void *p = kunit_kzalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_TRUE(test, !!p);
	return p;
}

#endif /* _OPTCACHE_TEST_H */
