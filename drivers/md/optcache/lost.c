// SPDX-License-Identifier: GPL-2.0-only
/* Lost blocks; see lost.h. */
#include "io.h"

#include <linux/device-mapper.h>

void oc_lost_init(struct oc_lost *lost)
{
	spin_lock_init(&lost->lock);
}

/* lock held. */
static bool known(const struct oc_lost *lost, u64 block)
{
	u32 i;

	for (i = 0; i < lost->nr; i++)
		if (lost->block[i] == block)
			return true;
	return false;
}

void oc_lost_add(struct oc_core *core, oc_block_t block)
{
	struct oc_lost *lost = &core->lost;
	u64 n = from_oblock(block);
	unsigned long flags;
	bool new;

	spin_lock_irqsave(&lost->lock, flags);
	new = !known(lost, n);
	if (new && lost->nr < OC_LOST_MAX)
		lost->block[lost->nr++] = n;
	else if (new)
		lost->more++;
	spin_unlock_irqrestore(&lost->lock, flags);
	if (new)
		DMERR_LIMIT("%s: lost: the cache device cannot read the only good copy of sectors %llu to %llu; write them anew, or discard them",
			    dm_device_name(core->md), n * OPTCACHE_SECTORS_PER_BLOCK,
			    (n + 1) * OPTCACHE_SECTORS_PER_BLOCK - 1);
}

void oc_lost_remove(struct oc_core *core, oc_block_t block, u32 nr)
{
	struct oc_lost *lost = &core->lost;
	u64 first = from_oblock(block);
	unsigned long flags;
	u32 i;

	if (likely(!READ_ONCE(lost->nr)))
		return;
	spin_lock_irqsave(&lost->lock, flags);
	for (i = 0; i < lost->nr; )
		if (lost->block[i] - first < nr)
			lost->block[i] = lost->block[--lost->nr];
		else
			i++;
	spin_unlock_irqrestore(&lost->lock, flags);
}

/* A block of which some sectors stay as they were stays lost. */
void oc_lost_overwritten(struct oc_core *core, sector_t sector, u32 sectors)
{
	sector_t end = sector + sectors;
	u64 first = from_oblock(oc_sector_block(sector + OPTCACHE_SECTORS_PER_BLOCK - 1));
	u64 last;

	/* the origin's last block may be a short one */
	if (end == core->origin_sectors)
		end += OPTCACHE_SECTORS_PER_BLOCK - 1;
	last = from_oblock(oc_sector_block(end));
	if (first < last)
		oc_lost_remove(core, to_oblock(first), last - first);
}

u64 oc_lost_count(const struct oc_core *core)
{
	return READ_ONCE(core->lost.nr) + READ_ONCE(core->lost.more);
}
