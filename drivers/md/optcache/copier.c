// SPDX-License-Identifier: GPL-2.0-only
/* The copier; see copier.h. */
#include "copier.h"
#include "io.h"
#include "trace.h"

#include <linux/device-mapper.h>

/* ---- 2. runs --------------------------------------------------------- */

static void granted(struct oc_range *range)
{
	struct oc_copier *cp = range->owner;

	complete(&cp->granted);
}

/*
 * Lock the run at order[pos].  A drain waits for its turn, but only for the first run of
 * a batch, when it holds neither other ranges nor credits that the owner may wait for;
 * ordinary write-back comes back later.
 */
static bool lock_run(struct oc_copier *cp, struct oc_copy_run *run)
{
	struct oc_ranges *rs = &cp->core->ranges;
	u64 first = from_oblock(cp->order.item[cp->pos].block);
	u32 max = OC_REGION_BLOCKS - (first & (OC_REGION_BLOCKS - 1));

	run->range.first = first;
	run->range.nr = oc_order_run(&cp->order, cp->pos, max);
	run->range.grant = granted;
	run->range.owner = cp;
	if (cp->nr_runs || !cp->wait)
		return oc_range_trylock(rs, &run->range);
	reinit_completion(&cp->granted);
	if (!oc_range_lock(rs, &run->range))
		wait_for_completion(&cp->granted);
	return true;
}

/* Pin the slots of the run that starts at order[pos]; cut it where one is busy. */
static u32 begin_copies(struct oc_copier *cp, u32 nr, bool force)
{
	struct oc_core *core = cp->core;
	const struct oc_dirty *d = &cp->order.item[cp->pos];
	struct oc_copy_item *item;
	u64 word;
	u32 i;

	for (i = 0; i < nr; i++) {
		word = oc_slot_copy_begin(&core->slots, d[i].slot, d[i].block, force);
		if (!word)
			break;
		item = &cp->item[cp->nr_items++];
		item->block = d[i].block;
		item->slot = d[i].slot;
		item->valid = oc_word_valid(word);
		item->failed = false;
		item->lost = false;
	}
	return i;
}

/* Begin the copies of a locked run, at most @max of them; unlocks what it does not take. */
static void take_run(struct oc_copier *cp, struct oc_copy_run *run, u32 max, bool force)
{
	struct oc_core *core = cp->core;
	u32 nr = min(run->range.nr, max), got;

	run->first = cp->nr_items;
	got = begin_copies(cp, nr, force);
	cp->pos += got;
	if (got < nr) {
		cp->skipped++;
		cp->pos++;		/* past the busy one */
	}
	if (!got) {
		oc_range_unlock(&core->ranges, &run->range);
		return;
	}
	oc_range_shrink(&core->ranges, &run->range, got);
	run->nr = got;
	cp->nr_runs++;
}

static void skip_run(struct oc_copier *cp, const struct oc_copy_run *run)
{
	cp->skipped += run->range.nr;
	cp->pos += run->range.nr;
}

/* ---- 4. reading and writing ------------------------------------------ */

struct copy_io {
	struct oc_copier *cp;
	struct bio *bio;
	blk_opf_t opf;
};

static void put_io(struct oc_copier *cp)
{
	if (atomic_dec_and_test(&cp->in_flight))
		complete(&cp->done);
}

static void copy_endio(struct bio *bio)
{
	struct oc_copier *cp = bio->bi_private;
	struct bvec_iter_all iter;
	struct bio_vec *bv;
	u32 i;

	if (bio->bi_status)
		bio_for_each_segment_all(bv, bio, iter)
			for (i = 0; i < cp->nr_items; i++)
				if (cp->item[i].page == bv->bv_page)
					cp->item[i].failed = true;
	bio_put(bio);
	put_io(cp);
}

static void submit(struct copy_io *io)
{
	if (!io->bio)
		return;
	atomic_inc(&io->cp->in_flight);
	submit_bio(io->bio);
	io->bio = NULL;
}

/* One piece of an item at @sector of the device; joined to the bio before where it fits. */
static void add_piece(struct copy_io *io, struct block_device *bdev, sector_t sector,
		      struct oc_copy_item *item, unsigned int off, unsigned int len)
{
	struct oc_core *core = io->cp->core;

	if (io->bio && (bio_end_sector(io->bio) != sector ||
			io->bio->bi_vcnt == io->bio->bi_max_vecs))
		submit(io);
	if (!io->bio) {
		io->bio = bio_alloc_bioset(bdev, BIO_MAX_VECS, io->opf, GFP_NOIO, &core->bs);
		io->bio->bi_iter.bi_sector = sector;
		io->bio->bi_end_io = copy_endio;
		io->bio->bi_private = io->cp;
		if (op_is_write(io->opf))
			oc_count(core, writeback_ios);
	}
	__bio_add_page(io->bio, item->page, len << SECTOR_SHIFT, off << SECTOR_SHIFT);
}

/* Read or write @nr items from @first on, and wait. */
static void transfer(struct oc_copier *cp, u32 first, u32 nr, bool write)
{
	struct oc_core *core = cp->core;
	struct copy_io io = {
		.cp = cp,
		.opf = write ? REQ_OP_WRITE | REQ_BACKGROUND : REQ_OP_READ,
	};
	struct blk_plug plug;
	unsigned int off, len;
	struct oc_copy_item *item;
	sector_t base;
	u32 i;

	reinit_completion(&cp->done);
	atomic_set(&cp->in_flight, 1);
	blk_start_plug(&plug);
	for (i = first; i < first + nr; i++) {
		item = &cp->item[i];
		if (item->failed)
			continue;
		base = write ? from_oblock(item->block) * OPTCACHE_SECTORS_PER_BLOCK
			     : oc_cache_sector(core, item->slot);
		for (off = 0; off < OPTCACHE_SECTORS_PER_BLOCK; off += len) {
			len = 1;
			if (!(item->valid & (1U << off)))
				continue;
			while (off + len < OPTCACHE_SECTORS_PER_BLOCK &&
			       item->valid & (1U << (off + len)))
				len++;
			add_piece(&io, write ? core->origin : core->cache, base + off, item,
				  off, len);
		}
	}
	submit(&io);
	blk_finish_plug(&plug);
	put_io(cp);
	wait_for_completion_io(&cp->done);
	if (write)
		atomic64_inc(&core->origin_state.writes);
}

/* What failed in company is tried again alone, so that only bad blocks fail. */
static void transfer_singly(struct oc_copier *cp, bool write)
{
	struct oc_core *core = cp->core;
	struct oc_copy_item *item;
	u32 i;

	for (i = 0; i < cp->nr_items; i++) {
		item = &cp->item[i];
		if (!item->failed || item->lost)
			continue;
		/* each may take the device's own retries; who suspends does not wait for all */
		if (READ_ONCE(core->stopping))
			break;
		item->failed = false;
		transfer(cp, i, 1, write);
		if (item->failed && !write) {
			item->lost = true;
			oc_lost_add(core, item->block);
		}
	}
	if (write)
		atomic64_inc(&core->origin_state.writes);
}

static u32 count_failed(const struct oc_copier *cp)
{
	u32 i, n = 0;

	for (i = 0; i < cp->nr_items; i++)
		n += cp->item[i].failed;
	return n;
}

/* ---- 6., 7. ---------------------------------------------------------- */

/* Return: blocks that became clean. */
static u32 end_copies(struct oc_copier *cp, bool flushed)
{
	struct oc_core *core = cp->core;
	struct oc_journal *j = &core->journal;
	unsigned long flags;
	u32 i, clean = 0;
	bool ok;

	oc_journal_lock(j, flags);
	for (i = 0; i < cp->nr_items; i++) {
		ok = flushed && !cp->item[i].failed;
		if (!oc_slot_copy_end(&core->slots, cp->item[i].slot, ok && !j->failed))
			continue;
		oc_journal_clean(j, cp->item[i].slot);
		clean++;
	}
	oc_journal_unlock(j, flags);

	for (i = 0; i < cp->nr_items; i++)
		if (oc_slot_unpin_read(&core->slots, cp->item[i].slot))
			oc_index_release(&core->index, cp->item[i].slot);
	for (i = 0; i < cp->nr_runs; i++)
		oc_range_unlock(&core->ranges, &cp->run[i].range);
	if (READ_ONCE(core->starved))
		oc_feed(core);
	return clean;
}

static void copy(struct oc_copier *cp)
{
	struct oc_core *core = cp->core;
	u32 failed;

	transfer(cp, 0, cp->nr_items, false);
	transfer_singly(cp, false);
	failed = count_failed(cp);
	if (failed) {
		oc_count_add(core, cache_errors, failed);
		oc_core_degrade(core, OC_DEGRADED, "dirty blocks cannot be read");
	}
	transfer(cp, 0, cp->nr_items, true);
	transfer_singly(cp, true);
	if (count_failed(cp) > failed) {
		oc_count_add(core, origin_errors, count_failed(cp) - failed);
		oc_core_degrade(core, OC_DEGRADED, "writing dirty blocks to the origin failed");
	}
}

/* Steps 1 and 2.  Return: credits held for the items, 0 when the journal is full. */
static u32 gather(struct oc_copier *cp, bool force)
{
	struct oc_core *core = cp->core;
	/* on a small cache leave credits to those who write meanwhile */
	u32 share = clamp_t(u32, core->journal.pending_max / 4, 1, cp->max_items);
	struct oc_copy_run *run = cp->run;
	u32 credits = 0;

	cp->nr_items = 0;
	cp->nr_runs = 0;
	while (cp->pos < cp->order.nr && cp->nr_runs < OC_COPY_RUNS) {
		run = &cp->run[cp->nr_runs];
		if (cp->nr_items == (credits ? credits : share))
			break;
		if (!lock_run(cp, run)) {
			skip_run(cp, run);
			continue;
		}
		if (!credits && !oc_failed(core))
			credits = oc_journal_reserve(&core->journal, 1, share);
		if (!credits && !oc_failed(core)) {
			oc_range_unlock(&core->ranges, &run->range);
			return 0;
		}
		take_run(cp, run, (credits ? credits : share) - cp->nr_items, force);
		if (!cp->nr_runs) {	/* nothing held, so the next may be waited for */
			oc_journal_unreserve(&core->journal, credits);
			credits = 0;
		}
	}
	return credits;
}

int oc_copier_batch(struct oc_copier *cp, bool force, bool wait)
{
	struct oc_core *core = cp->core;
	struct oc_journal *j = &core->journal;
	u32 credits, clean;
	int r;

	cp->wait = wait;
	if (cp->pos == cp->order.nr) {
		cp->pos = 0;
		/* what is SEALED becomes LIVE, and may be copied */
		if (!oc_failed(core))
			oc_journal_sync(j);
		oc_order_collect(&cp->order, &core->slots, force);
		cp->skipped += cp->order.sealed;
		if (!cp->order.nr)
			return -EAGAIN;
	}
	credits = gather(cp, force);
	if (!cp->nr_items) {
		oc_journal_unreserve(j, credits);
		return cp->pos < cp->order.nr && !credits && !oc_failed(core) ? -ENOSPC : 0;
	}
	/*
	 * When the journal has failed the blocks are saved all the same.  They stay
	 * dirty, as they are on the device.
	 */
	copy(cp);
	r = oc_origin_flush(core);
	clean = end_copies(cp, !r && !oc_failed(core));
	oc_journal_unreserve(j, credits - clean);
	oc_count_add(core, writeback_blocks, clean);
	cp->cleaned += clean;
	trace_optcache_writeback(core, cp->item[0].block, cp->nr_items, cp->item[0].slot);
	if (!r && count_failed(cp))
		r = -EIO;
	return r ? r : clean;
}

/* ---- life cycle ------------------------------------------------------ */

void oc_copier_rewind(struct oc_copier *cp)
{
	cp->skipped = 0;
	cp->cleaned = 0;
	cp->order.cursor = to_oblock(0);
	cp->pos = cp->order.nr;
}

int oc_copier_init(struct oc_copier *cp, struct oc_core *core)
{
	u32 i;

	cp->core = core;
	init_completion(&cp->done);
	init_completion(&cp->granted);
	cp->max_items = clamp_t(u32, core->slots.nr / (2 * PAGE_SIZE), OC_COPY_ITEMS_MIN,
				OC_COPY_ITEMS_MAX);
	cp->item = kvcalloc(cp->max_items, sizeof(*cp->item), GFP_KERNEL);
	if (!cp->item)
		return -ENOMEM;
	for (i = 0; i < cp->max_items; i++) {
		cp->item[i].page = alloc_page(GFP_KERNEL);
		if (!cp->item[i].page)
			return -ENOMEM;
	}
	return oc_order_init(&cp->order, cp->max_items * OC_COPY_BATCHES);
}

void oc_copier_exit(struct oc_copier *cp)
{
	u32 i;

	for (i = 0; cp->item && i < cp->max_items && cp->item[i].page; i++)
		__free_page(cp->item[i].page);
	kvfree(cp->item);
	oc_order_exit(&cp->order);
}

size_t oc_copier_bytes(const struct oc_copier *cp)
{
	return cp->max_items * (PAGE_SIZE + sizeof(*cp->item)) +
	       cp->order.max * sizeof(*cp->order.item);
}
