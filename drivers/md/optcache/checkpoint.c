// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checkpoint: write the pages of the mapping table that are behind the journal, then
 * move the journal's tail.
 *
 * A sweep:
 *	1. note where the next journal block will go: the new tail.  No INTENT before it may
 *	   be open, as no page knows of them: wait for the MAPs and UNMAPs that follow
 *	2. for each dirty page: under the journal's lock encode it from the slots; it now
 *	   equals all records below head_lsn = n, no more and no less
 *	3. wait until the journal is durable up to n (write-ahead), write the page to
 *	   the place that does not hold its current version
 *	4. when all are written: superblock with the new tail (PREFLUSH, FUA)
 *
 * Every record before the new tail dirtied its page before the sweep began, so it
 * is in a page written by the sweep.  A torn page leaves the other place, which is
 * older, and the journal from the old tail on still covers the difference.
 *
 * dirty bits are set under the journal's lock; everything else belongs to the one
 * worker (or to start and stop, when it does not run).
 */
#include "io.h"

#include <linux/device-mapper.h>

/* Pages in flight: the 128th part of all, between these. */
#define OC_BATCH_MIN	4
#define OC_BATCH_MAX	32

struct page_write {
	struct bio bio;
	struct bio_vec bvec;
	struct optcache_table_page *page;
	u32 nr;
	struct oc_checkpoint *ck;
};

struct oc_checkpoint {
	struct oc_core *core;
	u32 nr_pages;
	unsigned long *dirty;
	unsigned long *place;	/* where the current version is */
	u64 *seq;
	struct work_struct work;
	struct mutex lock;	/* one sweep at a time */
	atomic_t in_flight;
	struct completion done;
	blk_status_t status;
	u32 batch;
	struct page_write *write;	/* batch of them */
};

void oc_checkpoint_dirty(struct oc_core *core, oc_slot_t slot)
{
	set_bit(from_slot(slot) / OC_GROUP_SLOTS, core->checkpoint->dirty);
}

void oc_checkpoint_kick(struct oc_core *core)
{
	if (READ_ONCE(core->stopping))
		return;
	queue_work(core->bg_wq, &core->checkpoint->work);
}

static void encode(struct oc_checkpoint *ck, struct page_write *w)
{
	struct oc_core *core = ck->core;
	struct oc_journal *j = &core->journal;
	u32 first = w->nr * OC_GROUP_SLOTS, i;
	u32 n = min_t(u32, OC_GROUP_SLOTS, core->slots.nr - first);
	unsigned long flags;
	u64 lsn;

	memset(w->page, 0, sizeof(*w->page));
	oc_journal_lock(j, flags);
	clear_bit(w->nr, ck->dirty);
	for (i = 0; i < n; i++)
		w->page->entry[i] =
			cpu_to_le64(oc_entry_encode(oc_slot_read(&core->slots,
								 to_slot(first + i))));
	lsn = j->head_lsn;
	j->closed_lsn = lsn;
	oc_journal_unlock(j, flags);
	oc_page_seal(w->page, core->super.uuid, w->nr, lsn, ++ck->seq[w->nr]);
}

static void put_batch(struct oc_checkpoint *ck)
{
	if (atomic_dec_and_test(&ck->in_flight))
		complete(&ck->done);
}

static void page_endio(struct bio *bio)
{
	struct page_write *w = container_of(bio, struct page_write, bio);
	struct oc_checkpoint *ck = w->ck;

	if (bio->bi_status)
		WRITE_ONCE(ck->status, bio->bi_status);
	put_batch(ck);
}

static void submit_page(struct oc_checkpoint *ck, struct page_write *w)
{
	struct oc_core *core = ck->core;
	unsigned int place = !test_bit(w->nr, ck->place);

	bio_init(&w->bio, core->cache, &w->bvec, 1, REQ_OP_WRITE | REQ_META);
	w->bio.bi_iter.bi_sector =
		oc_page_offset(&core->super.geo, w->nr, place) >> SECTOR_SHIFT;
	w->bio.bi_end_io = page_endio;
	__bio_add_page(&w->bio, virt_to_page(w->page), OPTCACHE_PAGE_SIZE, 0);
	submit_bio(&w->bio);
}

/* Pages not written stay dirty. */
static void give_back(struct oc_checkpoint *ck, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		set_bit(ck->write[i].nr, ck->dirty);
}

static int write_batch(struct oc_checkpoint *ck, u32 n)
{
	u32 i;
	int r;

	r = oc_journal_sync(&ck->core->journal);
	/* what was encoded after a failure is in no record */
	if (!r && oc_failed(ck->core))
		r = -EIO;
	if (r) {
		give_back(ck, n);
		return r;
	}
	ck->status = BLK_STS_OK;
	reinit_completion(&ck->done);
	atomic_set(&ck->in_flight, 1);
	for (i = 0; i < n; i++) {
		atomic_inc(&ck->in_flight);
		submit_page(ck, &ck->write[i]);
	}
	put_batch(ck);
	wait_for_completion_io(&ck->done);
	for (i = 0; i < n; i++)
		bio_uninit(&ck->write[i].bio);
	if (ck->status) {
		give_back(ck, n);
		return blk_status_to_errno(ck->status);
	}
	for (i = 0; i < n; i++)
		change_bit(ck->write[i].nr, ck->place);
	oc_count_add(ck->core, checkpoint_pages, n);
	return 0;
}

static int sweep(struct oc_checkpoint *ck)
{
	u32 page, n = 0;
	int r;

	for_each_set_bit(page, ck->dirty, ck->nr_pages) {
		ck->write[n].nr = page;
		encode(ck, &ck->write[n]);
		if (++n < ck->batch)
			continue;
		r = write_batch(ck, n);
		if (r)
			return r;
		n = 0;
	}
	return n ? write_batch(ck, n) : 0;
}

int oc_checkpoint_run(struct oc_core *core, bool clean_stop)
{
	struct oc_checkpoint *ck = core->checkpoint;
	struct oc_journal *j = &core->journal;
	u64 lsn, offset, freed;
	unsigned long flags;
	int r;

	mutex_lock(&ck->lock);
	spin_lock_irq(&j->lock);
	lsn = j->issued_lsn;
	offset = j->head_offset;
	freed = j->used;
	spin_unlock_irq(&j->lock);

	oc_journal_wait_intents(j);
	r = sweep(ck);
	if (!r)
		r = oc_journal_sync(j);	/* what follows those INTENTs, if no page did it */
	if (!r)
		r = oc_super_set_tail(core, lsn, offset, clean_stop);
	if (r) {
		oc_count(core, cache_errors);
		oc_journal_fail(j);
	} else {
		oc_count(core, checkpoints);
		spin_lock_irqsave(&j->lock, flags);
		j->used -= freed;
		spin_unlock_irqrestore(&j->lock, flags);
		/* whoever waited for space looks again */
		oc_journal_unreserve(j, 0);
		oc_fresh_settle(core);
	}
	mutex_unlock(&ck->lock);
	return r;
}

static void checkpoint_work(struct work_struct *work)
{
	struct oc_checkpoint *ck = container_of(work, struct oc_checkpoint, work);

	/* a kick that came while the last sweep made room needs nothing */
	if (ck->core->journal.used > ck->core->journal.size / 2 && !ck->core->journal.failed)
		oc_checkpoint_run(ck->core, false);
}

void oc_checkpoint_loaded(struct oc_core *core, u32 page, u64 seq, unsigned int place,
			  bool behind)
{
	struct oc_checkpoint *ck = core->checkpoint;

	ck->seq[page] = seq;
	if (place)
		set_bit(page, ck->place);
	if (behind)
		set_bit(page, ck->dirty);
}

int oc_checkpoint_init(struct oc_core *core)
{
	struct oc_checkpoint *ck;
	unsigned int i;

	ck = kzalloc(sizeof(*ck), GFP_KERNEL);
	if (!ck)
		return -ENOMEM;
	core->checkpoint = ck;
	ck->core = core;
	ck->nr_pages = core->super.geo.nr_pages;
	mutex_init(&ck->lock);
	init_completion(&ck->done);
	INIT_WORK(&ck->work, checkpoint_work);
	ck->dirty = kvcalloc(BITS_TO_LONGS(ck->nr_pages), sizeof(long), GFP_KERNEL);
	ck->place = kvcalloc(BITS_TO_LONGS(ck->nr_pages), sizeof(long), GFP_KERNEL);
	ck->seq = kvcalloc(ck->nr_pages, sizeof(*ck->seq), GFP_KERNEL);
	ck->batch = clamp_t(u32, ck->nr_pages / 128, OC_BATCH_MIN, OC_BATCH_MAX);
	ck->write = kcalloc(ck->batch, sizeof(*ck->write), GFP_KERNEL);
	if (!ck->dirty || !ck->place || !ck->seq || !ck->write)
		return -ENOMEM;
	for (i = 0; i < ck->batch; i++) {
		ck->write[i].ck = ck;
		ck->write[i].page = (void *)get_zeroed_page(GFP_KERNEL);
		if (!ck->write[i].page)
			return -ENOMEM;
	}
	return 0;
}

void oc_checkpoint_exit(struct oc_core *core)
{
	struct oc_checkpoint *ck = core->checkpoint;
	unsigned int i;

	if (!ck)
		return;
	cancel_work_sync(&ck->work);
	for (i = 0; ck->write && i < ck->batch; i++)
		free_page((unsigned long)ck->write[i].page);
	kfree(ck->write);
	kvfree(ck->seq);
	kvfree(ck->place);
	kvfree(ck->dirty);
	kfree(ck);
	core->checkpoint = NULL;
}

void oc_checkpoint_stop(struct oc_core *core)
{
	cancel_work_sync(&core->checkpoint->work);
}

size_t oc_checkpoint_slot_bytes(const struct oc_core *core)
{
	const struct oc_checkpoint *ck = core->checkpoint;

	return ck ? ck->nr_pages * sizeof(*ck->seq) +
		    2 * BITS_TO_LONGS(ck->nr_pages) * sizeof(long) : 0;
}

size_t oc_checkpoint_bytes(const struct oc_core *core)
{
	const struct oc_checkpoint *ck = core->checkpoint;

	return ck ? sizeof(*ck) + ck->batch * (PAGE_SIZE + sizeof(*ck->write)) +
		    oc_checkpoint_slot_bytes(core) : 0;
}
