/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ground the core stands on.  The core (index, slots, policy, streams,
 * format, replay, write-back order) is plain C that also runs in optcachectl,
 * in the fuzzers and in KUnit; whatever it needs from its surroundings comes
 * through this header, with the kernel's names.
 */
#ifndef _OPTCACHE_ENV_H
#define _OPTCACHE_ENV_H

#ifdef __KERNEL__

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/vmalloc.h>

/*
 * Memory of the core: zeroed, aligned to cache lines, of any size, and rather none at all
 * than the OOM killer.  May sleep.  Size 0 happens: a spinlock takes no room on one processor.
 */
static inline void *oc_zalloc(size_t bytes)
{
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN;

	if (bytes > PAGE_SIZE / 2)
		return __vmalloc(bytes, gfp);
	/* a power of two is aligned to itself */
	return kmalloc(roundup_pow_of_two(max_t(size_t, bytes, SMP_CACHE_BYTES)), gfp);
}

static inline void oc_free(void *p)
{
	kvfree(p);
}

#else

#include "user_env.h"	/* tools/lib */

#endif

#endif /* _OPTCACHE_ENV_H */
