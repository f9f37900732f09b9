/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers that must not be mixed up.  sparse tells an origin block from a slot;
 * everything else sees plain integers.
 */
#ifndef _OPTCACHE_TYPES_H
#define _OPTCACHE_TYPES_H

#include "env.h"
#include <linux/dm-optcache.h>

typedef u64 __bitwise oc_block_t;	/* 4 KiB block of the origin */
typedef u32 __bitwise oc_slot_t;	/* slot of the cache device */

#define OC_NO_SLOT	((__force oc_slot_t)~0U)

static inline oc_block_t to_oblock(u64 n)
{
	return (__force oc_block_t)n;
}

static inline u64 from_oblock(oc_block_t b)
{
	return (__force u64)b;
}

static inline oc_slot_t to_slot(u32 n)
{
	return (__force oc_slot_t)n;
}

static inline u32 from_slot(oc_slot_t s)
{
	return (__force u32)s;
}

static inline oc_block_t oblock_add(oc_block_t b, u64 n)
{
	return to_oblock(from_oblock(b) + n);
}

static inline oc_slot_t slot_add(oc_slot_t s, u32 n)
{
	return to_slot(from_slot(s) + n);
}

#endif /* _OPTCACHE_TYPES_H */
