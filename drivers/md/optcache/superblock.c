// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading and writing the superblock.  Copies are written alternately, so a torn
 * write leaves the other one; super_lock protects core->super and the buffer.
 */
#include "core.h"

#include <linux/device-mapper.h>

int oc_sync_page_io(struct block_device *bdev, blk_opf_t opf, u64 offset, struct page *page,
		    unsigned int start, unsigned int bytes)
{
	struct bio_vec bvec;
	struct bio bio;
	int r;

	bio_init(&bio, bdev, &bvec, 1, opf);
	bio.bi_iter.bi_sector = offset >> SECTOR_SHIFT;
	__bio_add_page(&bio, page, bytes, start);
	r = submit_bio_wait(&bio);
	bio_uninit(&bio);
	return r;
}

/* A copy that cannot be read counts as one that is not valid, as long as the other is. */
int oc_super_load(struct block_device *cache, struct oc_super *sb, unsigned int *place,
		  const char **why)
{
	struct optcache_super *copy = kcalloc(OPTCACHE_SUPER_COPIES, sizeof(*copy), GFP_KERNEL);
	struct page *page = alloc_page(GFP_KERNEL);
	unsigned int i;
	int r = -ENOMEM, err = 0;

	*why = "out of memory";
	if (!copy || !page)
		goto out;
	for (i = 0; i < OPTCACHE_SUPER_COPIES; i++) {
		r = oc_sync_page_io(cache, REQ_OP_READ | REQ_SYNC | REQ_META,
				    (u64)i * OPTCACHE_PAGE_SIZE, page, 0, OPTCACHE_PAGE_SIZE);
		if (r)
			err = r;
		else
			memcpy(&copy[i], page_address(page), sizeof(*copy));
	}
	r = oc_super_choose(sb, copy, place, why);
	if (r && err) {
		*why = "the superblock cannot be read: check the cache device for media errors";
		r = err;
	}
out:
	if (page)
		__free_page(page);
	kfree(copy);
	return r;
}

static void put_options(const struct oc_core *core, struct oc_super *sb)
{
	unsigned int i;

	sb->option_mask = core->options.mask;
	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++)
		sb->option[i] = sb->option_mask & (1U << i) ? core->options.value[i] : 0;
}

/*
 * Write @sb to the place that does not hold the last good copy, which so survives
 * whatever happens.  super_lock held.
 */
static int write_copy(struct oc_core *core, struct oc_super *sb)
{
	struct oc_journal *j = &core->journal;
	unsigned int place = !core->super_place;
	bool failed, stuck;
	int r;

	spin_lock_irq(&j->lock);
	failed = j->failed;
	stuck = failed && core->stuck_dirty;
	spin_unlock_irq(&j->lock);
	/*
	 * After a failure there is only one thing left to say.  But a failed cache that may hold
	 * the only copy of something lets no write past its mappings, so they stay right, and it
	 * can be activated again.  It needs no mark.
	 */
	if (core->marked_failed || stuck)
		return -EIO;
	if (failed)
		sb->flags |= OPTCACHE_SUPER_FAILED;
	sb->seq++;
	if (sb->epoch != j->epoch) {
		sb->epoch = j->epoch;
		sb->generation++;
	}
	put_options(core, sb);
	oc_super_encode(sb, page_address(core->super_page));
	r = oc_sync_page_io(core->cache,
			    REQ_OP_WRITE | REQ_SYNC | REQ_META | REQ_PREFLUSH | REQ_FUA,
			    (u64)place * OPTCACHE_PAGE_SIZE, core->super_page, 0,
			    OPTCACHE_PAGE_SIZE);
	if (r) {
		oc_count(core, cache_errors);
		oc_journal_fail(j);
		return r;
	}
	core->super = *sb;
	core->super_place = place;
	core->marked_failed = sb->flags & OPTCACHE_SUPER_FAILED;
	return 0;
}

/*
 * A new epoch goes to both places before the first journal block that carries it: else,
 * if the newer copy became unreadable, the older one would hide that block.
 */
static int write_locked(struct oc_core *core, struct oc_super *sb)
{
	struct oc_journal *j = &core->journal;
	bool both = !j->epoch_durable && !j->failed;
	int r = write_copy(core, sb);

	if (!r && both)
		r = write_copy(core, sb);
	if (!r)
		j->epoch_durable = true;
	return r;
}

/* The next superblock of a cache in use: the origin may change.  super_lock held. */
static struct oc_super *next_super(struct oc_core *core)
{
	struct oc_super *sb = core->super_next;

	*sb = core->super;
	sb->nr_samples = 0;
	sb->flags &= ~(OPTCACHE_SUPER_CLEAN_STOP | OPTCACHE_SUPER_STALE);
	if (core->clean_stale)
		sb->flags |= OPTCACHE_SUPER_STALE;
	return sb;
}

int oc_super_write(struct oc_core *core)
{
	int r;

	mutex_lock(&core->super_lock);
	r = write_locked(core, next_super(core));
	mutex_unlock(&core->super_lock);
	return r;
}

void oc_super_save_work(struct work_struct *work)
{
	struct oc_core *core = container_of(work, struct oc_core, save_work);
	bool failed = oc_failed(core);	/* if it fails from here on, we come back */

	oc_super_write(core);
	if (failed)
		oc_journal_fence(&core->journal);
}

int oc_super_set_tail(struct oc_core *core, u64 lsn, u64 offset, bool clean_stop)
{
	struct oc_super *sb;
	int r;

	mutex_lock(&core->super_lock);
	sb = next_super(core);
	sb->tail_lsn = lsn;
	sb->tail_offset = offset;
	sb->tail_epoch = core->journal.epoch;
	if (clean_stop)
		sb->flags |= OPTCACHE_SUPER_CLEAN_STOP;
	r = write_locked(core, sb);
	mutex_unlock(&core->super_lock);
	return r;
}

int oc_super_seal(struct oc_core *core)
{
	struct oc_super *sb = core->super_next;
	int r;

	mutex_lock(&core->super_lock);
	*sb = core->super;
	oc_fingerprint_take(core, sb);
	r = write_locked(core, sb);
	mutex_unlock(&core->super_lock);
	return r;
}

void oc_super_options(const struct oc_super *sb, struct oc_options *opt)
{
	unsigned int i;

	opt->mask = sb->option_mask & ((1U << OPTCACHE_NR_OPTIONS) - 1);
	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++)
		opt->value[i] = sb->option[i];
}
