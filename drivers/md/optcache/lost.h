/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lost blocks: dirty, and the cache device cannot read them.  Each is counted and told once,
 * however often it is asked for, and no longer when it has been written anew or discarded.
 * The list is bounded; beyond that blocks are counted with every read that fails.
 * lock protects it; any context.
 */
#ifndef _OC_LOST_H
#define _OC_LOST_H

#include <optcache/types.h>

struct oc_core;

#define OC_LOST_MAX	256

struct oc_lost {
	spinlock_t lock;
	u32 nr;			/* of block[]; READ_ONCE without the lock */
	u64 more;		/* that found no place */
	u64 block[OC_LOST_MAX];
};

void oc_lost_init(struct oc_lost *lost);
void oc_lost_add(struct oc_core *core, oc_block_t block);
void oc_lost_remove(struct oc_core *core, oc_block_t block, u32 nr);
void oc_lost_overwritten(struct oc_core *core, sector_t sector, u32 sectors);
u64 oc_lost_count(const struct oc_core *core);

#endif /* _OC_LOST_H */
