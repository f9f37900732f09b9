// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading and writing the superblock.  Copies are written alternately, so a torn
 * write leaves the other one; super_lock protects core->super and the buffer.
 */
#include "core.h"

#include <linux/device-mapper.h>

#define OC_SUPER_BYTES	(OPTCACHE_SUPER_COPIES * OPTCACHE_PAGE_SIZE)

int oc_sync_page_io(struct block_device *bdev, blk_opf_t opf, u64 offset, struct page *page,
		    unsigned int bytes)
{
	struct bio_vec bvec;
	struct bio bio;
	int r;

	bio_init(&bio, bdev, &bvec, 1, opf);
	bio.bi_iter.bi_sector = offset >> SECTOR_SHIFT;
	__bio_add_page(&bio, page, bytes, 0);
	r = submit_bio_wait(&bio);
	bio_uninit(&bio);
	return r;
}

int oc_super_load(struct block_device *cache, struct oc_super *sb, const char **why)
{
	struct page *page = alloc_pages(GFP_KERNEL, get_order(OC_SUPER_BYTES));
	int r;

	*why = "out of memory";
	if (!page)
		return -ENOMEM;
	*why = "the superblock cannot be read: check the cache device for media errors";
	r = oc_sync_page_io(cache, REQ_OP_READ | REQ_SYNC | REQ_META, 0, page, OC_SUPER_BYTES);
	if (!r)
		r = oc_super_choose(sb, page_address(page), NULL, why);
	__free_pages(page, get_order(OC_SUPER_BYTES));
	return r;
}

/* super_lock held.  What the journal knows goes in, too. */
static int write_locked(struct oc_core *core)
{
	struct oc_super *sb = &core->super;
	struct oc_journal *j = &core->journal;
	unsigned int copy;
	int r;

	if (sb->flags & OPTCACHE_SUPER_FAILED)
		return -EIO;
	sb->seq++;
	if (!j->epoch_durable) {
		sb->epoch = j->epoch;
		sb->generation++;
	}
	copy = sb->seq & 1;
	oc_super_encode(sb, page_address(core->super_page));
	r = oc_sync_page_io(core->cache,
			    REQ_OP_WRITE | REQ_SYNC | REQ_META | REQ_PREFLUSH | REQ_FUA,
			    (u64)copy * OPTCACHE_PAGE_SIZE, core->super_page, OPTCACHE_PAGE_SIZE);
	if (r) {
		oc_count(core, cache_errors);
		oc_core_degrade(core, OC_FAILED, "the superblock cannot be written");
		return r;
	}
	j->epoch_durable = true;
	return 0;
}

int oc_super_write(struct oc_core *core)
{
	int r;

	mutex_lock(&core->super_lock);
	core->super.flags &= ~OPTCACHE_SUPER_CLEAN_STOP;
	r = write_locked(core);
	mutex_unlock(&core->super_lock);
	return r;
}

void oc_super_save_work(struct work_struct *work)
{
	oc_super_write(container_of(work, struct oc_core, save_work));
}

int oc_super_set_tail(struct oc_core *core, u64 lsn, u64 offset, bool clean_stop)
{
	struct oc_super *sb = &core->super;
	int r;

	mutex_lock(&core->super_lock);
	sb->tail_lsn = lsn;
	sb->tail_offset = offset;
	sb->tail_epoch = core->journal.epoch;
	if (clean_stop)
		sb->flags |= OPTCACHE_SUPER_CLEAN_STOP;
	else
		sb->flags &= ~OPTCACHE_SUPER_CLEAN_STOP;
	r = write_locked(core);
	mutex_unlock(&core->super_lock);
	return r;
}

void oc_super_set_options(struct oc_core *core, const struct oc_options *opt)
{
	unsigned int i;

	mutex_lock(&core->super_lock);
	core->super.option_mask = opt->mask;
	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++)
		core->super.option[i] = opt->mask & (1U << i) ? opt->value[i] : 0;
	mutex_unlock(&core->super_lock);
}

void oc_super_options(const struct oc_super *sb, struct oc_options *opt)
{
	unsigned int i;

	opt->mask = sb->option_mask & ((1U << OPTCACHE_NR_OPTIONS) - 1);
	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++)
		opt->value[i] = sb->option[i];
}
