// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write-back: bring dirty blocks to the origin, in LBA order, in large writes.
 *
 * One batch:
 *	1. credits for the CLEAN records; the next dirty blocks above the cursor
 *	2. sync the journal: a block may reach the origin only when its mapping is durable,
 *	   else a crash could bring an older clean mapping back over it
 *	3. lock runs of adjacent blocks, take their slots from LIVE to COPY (pinned)
 *	4. read the slots, then write the origin, ascending
 *	5. flush the origin
 *	6. COPY to LIVE and clean, with a CLEAN record; but a block that was written
 *	   meanwhile has left COPY and stays dirty (hazard 10).  The journal block has
 *	   PREFLUSH, so the slot's bytes are durable before they are called clean
 *	7. unpin, unlock
 *
 * The range lock keeps everything off these blocks but hits; the pin keeps the slot.
 *
 * When: always until nothing is dirty if the mode is not write-back or a flush was
 * asked for; above dirty_high whatever the disk is doing; above dirty_low what was
 * not written for writeback_delay seconds.  The hot marks of all slots are taken off once a
 * delay, so a block waits one to two delays.  Nothing dirty: no timer, no wake-up.
 *
 * Everything here belongs to the one worker, except the request bits.
 */
#include "io.h"
#include "trace.h"

#include <linux/device-mapper.h>

#define OC_WB_ITEMS	512		/* blocks a batch */
#define OC_WB_RUNS	64
#define OC_WB_ORDER	8192		/* blocks collected by one scan */
#define OC_WB_PASSES	8		/* of one flush, over blocks that were busy */
#define OC_WB_PAUSE	(HZ / 10)	/* between batches while others use the origin */

/* oc_writeback.request */
#define OC_WB_FLUSH	0
#define OC_WB_CANCEL	1
#define OC_WB_URGENT	2		/* the worker is called to come at once */

struct wb_item {
	oc_block_t block;
	oc_slot_t slot;
	u8 valid;
	bool failed;
	bool lost;			/* cannot be read */
	struct page *page;
};

struct wb_run {
	struct oc_range range;
	u32 first, nr;			/* items */
};

struct oc_writeback {
	struct oc_core *core;
	struct oc_order order;
	u32 pos;			/* next of order */
	struct delayed_work work;
	unsigned long request;
	bool flushing;
	bool errors;			/* of this flush */
	u64 left;			/* what the last flush could not bring to the origin */
	unsigned int passes;
	u32 skipped;			/* busy blocks of this pass */
	u64 cleaned;			/* blocks of this pass */
	unsigned long cooled;		/* jiffies of the last ager round */
	u64 foreground;			/* origin I/O of others at the last batch */
	bool stopped;

	u32 nr_items, nr_runs;
	struct wb_item item[OC_WB_ITEMS];
	struct wb_run run[OC_WB_RUNS];

	atomic_t in_flight;
	struct completion done;
	struct completion granted;
};

static u64 percent_of(const struct oc_core *core, unsigned int opt)
{
	return div_u64((u64)core->slots.nr * core->options.value[opt], 100);
}

static u64 nr_dirty(const struct oc_core *core)
{
	return atomic64_read(&core->slots.nr_dirty);
}

static bool draining(const struct oc_core *core)
{
	return core->writeback->flushing || core->mode != OPTCACHE_MODE_WRITEBACK;
}

/* ---- 3. runs --------------------------------------------------------- */

static void granted(struct oc_range *range)
{
	struct oc_writeback *wb = range->owner;

	complete(&wb->granted);
}

/*
 * Lock the run at order[pos].  A drain waits for its turn, but only for the first run of
 * a batch, when it holds neither other ranges nor credits that the owner may wait for;
 * ordinary write-back comes back later.
 */
static bool lock_run(struct oc_writeback *wb, struct wb_run *run)
{
	struct oc_ranges *rs = &wb->core->ranges;
	u64 first = from_oblock(wb->order.item[wb->pos].block);
	u32 max = OC_REGION_BLOCKS - (first & (OC_REGION_BLOCKS - 1));

	run->range.first = first;
	run->range.nr = oc_order_run(&wb->order, wb->pos, max);
	run->range.grant = granted;
	run->range.owner = wb;
	if (wb->nr_runs || !draining(wb->core))
		return oc_range_trylock(rs, &run->range);
	reinit_completion(&wb->granted);
	if (!oc_range_lock(rs, &run->range))
		wait_for_completion(&wb->granted);
	return true;
}

/* Pin the slots of the run that starts at order[pos]; cut it where one is busy. */
static u32 begin_copies(struct oc_writeback *wb, u32 nr, bool force)
{
	struct oc_core *core = wb->core;
	const struct oc_dirty *d = &wb->order.item[wb->pos];
	struct wb_item *item;
	u64 word;
	u32 i;

	for (i = 0; i < nr; i++) {
		word = oc_slot_copy_begin(&core->slots, d[i].slot, d[i].block, force);
		if (!word)
			break;
		item = &wb->item[wb->nr_items++];
		item->block = d[i].block;
		item->slot = d[i].slot;
		item->valid = oc_word_valid(word);
		item->failed = false;
		item->lost = false;
	}
	return i;
}

/* Begin the copies of a locked run, at most @max of them; unlocks what it does not take. */
static void take_run(struct oc_writeback *wb, struct wb_run *run, u32 max, bool force)
{
	struct oc_core *core = wb->core;
	u32 nr = min(run->range.nr, max), got;

	run->first = wb->nr_items;
	got = begin_copies(wb, nr, force);
	wb->pos += got;
	if (got < nr) {
		wb->skipped++;
		wb->pos++;		/* past the busy one */
	}
	if (!got) {
		oc_range_unlock(&core->ranges, &run->range);
		return;
	}
	oc_range_shrink(&core->ranges, &run->range, got);
	run->nr = got;
	wb->nr_runs++;
}

static void skip_run(struct oc_writeback *wb, const struct wb_run *run)
{
	wb->skipped += run->range.nr;
	wb->pos += run->range.nr;
}

/* ---- 4. reading and writing ------------------------------------------ */

struct wb_io {
	struct oc_writeback *wb;
	struct bio *bio;
	blk_opf_t opf;
};

static void put_io(struct oc_writeback *wb)
{
	if (atomic_dec_and_test(&wb->in_flight))
		complete(&wb->done);
}

static void wb_endio(struct bio *bio)
{
	struct oc_writeback *wb = bio->bi_private;
	struct bvec_iter_all iter;
	struct bio_vec *bv;
	u32 i;

	if (bio->bi_status)
		bio_for_each_segment_all(bv, bio, iter)
			for (i = 0; i < wb->nr_items; i++)
				if (wb->item[i].page == bv->bv_page)
					wb->item[i].failed = true;
	bio_put(bio);
	put_io(wb);
}

static void submit(struct wb_io *io)
{
	if (!io->bio)
		return;
	atomic_inc(&io->wb->in_flight);
	submit_bio(io->bio);
	io->bio = NULL;
}

/* One piece of an item at @sector of the device; joined to the bio before where it fits. */
static void add_piece(struct wb_io *io, struct block_device *bdev, sector_t sector,
		      struct wb_item *item, unsigned int off, unsigned int len)
{
	struct oc_core *core = io->wb->core;

	if (io->bio && (bio_end_sector(io->bio) != sector ||
			io->bio->bi_vcnt == io->bio->bi_max_vecs))
		submit(io);
	if (!io->bio) {
		io->bio = bio_alloc_bioset(bdev, BIO_MAX_VECS, io->opf, GFP_NOIO, &core->bs);
		io->bio->bi_iter.bi_sector = sector;
		io->bio->bi_end_io = wb_endio;
		io->bio->bi_private = io->wb;
		if (op_is_write(io->opf))
			oc_count(core, writeback_ios);
	}
	__bio_add_page(io->bio, item->page, len << SECTOR_SHIFT, off << SECTOR_SHIFT);
}

/* Read or write @nr items from @first on, and wait. */
static void transfer(struct oc_writeback *wb, u32 first, u32 nr, bool write)
{
	struct oc_core *core = wb->core;
	struct wb_io io = {
		.wb = wb,
		.opf = write ? REQ_OP_WRITE | REQ_BACKGROUND : REQ_OP_READ,
	};
	struct blk_plug plug;
	unsigned int off, len;
	struct wb_item *item;
	sector_t base;
	u32 i;

	reinit_completion(&wb->done);
	atomic_set(&wb->in_flight, 1);
	blk_start_plug(&plug);
	for (i = first; i < first + nr; i++) {
		item = &wb->item[i];
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
	put_io(wb);
	wait_for_completion_io(&wb->done);
	if (write)
		atomic64_inc(&core->origin_state.writes);
}

/* What failed in company is tried again alone, so that only bad blocks fail. */
static void transfer_singly(struct oc_writeback *wb, bool write)
{
	struct oc_core *core = wb->core;
	struct wb_item *item;
	u32 i;

	for (i = 0; i < wb->nr_items; i++) {
		item = &wb->item[i];
		if (!item->failed || item->lost)
			continue;
		item->failed = false;
		transfer(wb, i, 1, write);
		if (item->failed && !write) {
			item->lost = true;
			oc_lost_add(core, item->block);
		}
	}
	if (write)
		atomic64_inc(&core->origin_state.writes);
}

static u32 count_failed(const struct oc_writeback *wb)
{
	u32 i, n = 0;

	for (i = 0; i < wb->nr_items; i++)
		n += wb->item[i].failed;
	return n;
}

/* ---- 6., 7. ---------------------------------------------------------- */

/* Return: blocks that became clean. */
static u32 end_copies(struct oc_writeback *wb, bool flushed)
{
	struct oc_core *core = wb->core;
	struct oc_journal *j = &core->journal;
	unsigned long flags;
	u32 i, clean = 0;
	bool ok;

	oc_journal_lock(j, flags);
	for (i = 0; i < wb->nr_items; i++) {
		ok = flushed && !wb->item[i].failed;
		if (!oc_slot_copy_end(&core->slots, wb->item[i].slot, ok && !j->failed))
			continue;
		oc_journal_clean(j, wb->item[i].slot);
		clean++;
	}
	oc_journal_unlock(j, flags);

	for (i = 0; i < wb->nr_items; i++)
		if (oc_slot_unpin_read(&core->slots, wb->item[i].slot))
			oc_index_release(&core->index, wb->item[i].slot);
	for (i = 0; i < wb->nr_runs; i++)
		oc_range_unlock(&core->ranges, &wb->run[i].range);
	if (READ_ONCE(core->starved))
		oc_feed(core);
	return clean;
}

static void copy(struct oc_writeback *wb)
{
	struct oc_core *core = wb->core;
	u32 failed;

	transfer(wb, 0, wb->nr_items, false);
	transfer_singly(wb, false);
	failed = count_failed(wb);
	if (failed) {
		oc_count_add(core, cache_errors, failed);
		oc_core_degrade(core, OC_DEGRADED, "dirty blocks cannot be read");
	}
	transfer(wb, 0, wb->nr_items, true);
	transfer_singly(wb, true);
	if (count_failed(wb) > failed) {
		oc_count_add(core, origin_errors, count_failed(wb) - failed);
		oc_core_degrade(core, OC_DEGRADED, "writing dirty blocks to the origin failed");
	}
}

/* Steps 1 and 3.  Return: credits held for the items, 0 when the journal is full. */
static u32 gather(struct oc_writeback *wb, bool force)
{
	struct oc_core *core = wb->core;
	/* on a small cache leave credits to those who write meanwhile */
	u32 share = clamp_t(u32, core->journal.pending_max / 4, 1, OC_WB_ITEMS);
	struct wb_run *run = wb->run;
	u32 credits = 0;

	wb->nr_items = 0;
	wb->nr_runs = 0;
	while (wb->pos < wb->order.nr && wb->nr_runs < OC_WB_RUNS) {
		run = &wb->run[wb->nr_runs];
		if (wb->nr_items == (credits ? credits : share))
			break;
		if (!lock_run(wb, run)) {
			skip_run(wb, run);
			continue;
		}
		if (!credits && !oc_failed(core))
			credits = oc_journal_reserve(&core->journal, 1, share);
		if (!credits && !oc_failed(core)) {
			oc_range_unlock(&core->ranges, &run->range);
			return 0;
		}
		take_run(wb, run, (credits ? credits : share) - wb->nr_items, force);
		if (!wb->nr_runs) {	/* nothing held, so the next may be waited for */
			oc_journal_unreserve(&core->journal, credits);
			credits = 0;
		}
	}
	return credits;
}

/*
 * Return: blocks that became clean; -EAGAIN when there is nothing (more) to do in this
 * pass, -ENOSPC when the journal has no room now, -EIO after errors.
 */
static int batch(struct oc_writeback *wb, bool force)
{
	struct oc_core *core = wb->core;
	struct oc_journal *j = &core->journal;
	u32 credits, clean;
	int r;

	if (wb->pos == wb->order.nr) {
		wb->pos = 0;
		if (!oc_order_collect(&wb->order, &core->slots, force))
			return -EAGAIN;
	}
	credits = gather(wb, force);
	if (!wb->nr_items) {
		oc_journal_unreserve(j, credits);
		return wb->pos < wb->order.nr && !credits && !oc_failed(core) ? -ENOSPC : 0;
	}
	/*
	 * When the journal has failed the blocks are saved all the same.  They stay
	 * dirty: this cache will never be activated again (see oc_journal_fence()).
	 */
	r = oc_failed(core) ? 0 : oc_journal_sync(j);
	if (!r) {
		copy(wb);
		r = oc_origin_flush(core);
	}
	clean = end_copies(wb, !r && !oc_failed(core));
	oc_journal_unreserve(j, credits - clean);
	oc_count_add(core, writeback_blocks, clean);
	wb->cleaned += clean;
	trace_optcache_writeback(core, wb->item[0].block, wb->nr_items, wb->item[0].slot);
	if (!r && count_failed(wb))
		r = -EIO;
	return r ? r : clean;
}

/* ---- when ------------------------------------------------------------ */

static void cool(struct oc_writeback *wb, unsigned long delay)
{
	struct oc_slots *s = &wb->core->slots;
	u32 g;

	if (time_before(jiffies, wb->cooled + delay))
		return;
	wb->cooled = jiffies;
	for (g = 0; g < s->nr_groups; g++) {
		if (atomic_read(&s->group_dirty[g]))
			oc_slots_cool(s, g);
		cond_resched();
	}
}

static void end_flush(struct oc_writeback *wb, bool complete)
{
	/* a failed cache cannot call blocks clean; what was copied is on the origin all the same */
	wb->left = complete && !wb->errors ? 0 : nr_dirty(wb->core);
	wb->flushing = false;
	oc_core_event(wb->core);
}

/* The end of a pass over all dirty blocks.  Return: jiffies until the next. */
static unsigned long end_pass(struct oc_writeback *wb, bool force, unsigned long delay)
{
	bool busy = wb->skipped, moved = wb->cleaned;

	wb->skipped = 0;
	wb->cleaned = 0;
	if (wb->flushing && !(busy && ++wb->passes < OC_WB_PASSES))
		end_flush(wb, !busy);
	if (!force)
		return delay;
	return moved ? 0 : HZ / 10;
}

static void take_requests(struct oc_writeback *wb)
{
	if (test_and_clear_bit(OC_WB_CANCEL, &wb->request) && wb->flushing)
		end_flush(wb, false);
	if (test_and_clear_bit(OC_WB_FLUSH, &wb->request)) {
		wb->flushing = true;
		wb->errors = false;
		wb->passes = 0;
		wb->skipped = 0;
		wb->cleaned = 0;
		wb->order.cursor = to_oblock(0);
		wb->pos = wb->order.nr;
	}
}

/* Do others use the origin?  Then leave it to them for a while. */
static bool others_active(struct oc_writeback *wb)
{
	struct oc_core *core = wb->core;
	u64 now = oc_stat_sum(core, OC_STAT_read_misses) +
		  oc_stat_sum(core, OC_STAT_write_bypass) +
		  oc_stat_sum(core, OC_STAT_write_through);
	bool active = now != wb->foreground;

	wb->foreground = now;
	return active;
}

static void again(struct oc_writeback *wb, unsigned long delay)
{
	if (!READ_ONCE(wb->stopped))
		mod_delayed_work(wb->core->wb_wq, &wb->work, delay);
}

static void writeback_work(struct work_struct *work)
{
	struct oc_writeback *wb = container_of(to_delayed_work(work), struct oc_writeback, work);
	struct oc_core *core = wb->core;
	unsigned long delay = max_t(unsigned long, 1,
		core->options.value[OPTCACHE_OPT_WRITEBACK_DELAY] * HZ);
	bool full, force;
	int r;

	clear_bit(OC_WB_URGENT, &wb->request);
	if (READ_ONCE(wb->stopped) || !READ_ONCE(core->armed))
		return;
	take_requests(wb);
	full = nr_dirty(core) > percent_of(core, OPTCACHE_OPT_DIRTY_HIGH);
	force = draining(core) || full;
	if (!force && nr_dirty(core) <= percent_of(core, OPTCACHE_OPT_DIRTY_LOW))
		return;
	if (!nr_dirty(core)) {
		if (wb->flushing)
			end_flush(wb, true);
		return;
	}
	if (oc_failed(core) && !wb->flushing)
		return;		/* it could not call them clean: on request only */
	r = batch(wb, force);
	switch (r) {
	case -EAGAIN:
		/* behind the pass: what has just lost its mark waits for the next */
		cool(wb, delay);
		again(wb, end_pass(wb, force, delay));
		break;
	case -ENOSPC:
		oc_checkpoint_kick(core);
		again(wb, 1);
		break;
	default:
		wb->errors |= r < 0;
		if (r >= 0)
			again(wb, !force && others_active(wb) ? OC_WB_PAUSE : 0);
		else	/* the bad blocks are behind the cursor now; do not hammer */
			again(wb, HZ);
	}
}

void oc_writeback_kick(struct oc_core *core)
{
	struct oc_writeback *wb = core->writeback;

	if (READ_ONCE(wb->stopped))
		return;
	if (core->mode != OPTCACHE_MODE_WRITEBACK ||
	    nr_dirty(core) > percent_of(core, OPTCACHE_OPT_DIRTY_HIGH)) {
		if (!test_and_set_bit(OC_WB_URGENT, &wb->request))
			mod_delayed_work(core->wb_wq, &wb->work, 0);
	} else if (!delayed_work_pending(&wb->work)) {
		queue_delayed_work(core->wb_wq, &wb->work,
				   core->options.value[OPTCACHE_OPT_WRITEBACK_DELAY] * HZ);
	}
}

void oc_writeback_hurry(struct oc_core *core)
{
	again(core->writeback, 0);
}

void oc_writeback_flush(struct oc_core *core)
{
	oc_core_arm(core);
	set_bit(OC_WB_FLUSH, &core->writeback->request);
	again(core->writeback, 0);
}

void oc_writeback_cancel(struct oc_core *core)
{
	set_bit(OC_WB_CANCEL, &core->writeback->request);
	again(core->writeback, 0);
}

bool oc_writeback_flushing(struct oc_core *core, u64 *left)
{
	struct oc_writeback *wb = core->writeback;

	bool flushing = READ_ONCE(wb->flushing) || test_bit(OC_WB_FLUSH, &wb->request);

	*left = flushing ? nr_dirty(core) : wb->left;
	return flushing;
}

/* ---- life cycle ------------------------------------------------------ */

void oc_writeback_start(struct oc_core *core)
{
	core->writeback->stopped = false;
	if (nr_dirty(core))
		oc_writeback_kick(core);
}

void oc_writeback_stop(struct oc_core *core)
{
	WRITE_ONCE(core->writeback->stopped, true);
	cancel_delayed_work_sync(&core->writeback->work);
}

int oc_writeback_init(struct oc_core *core)
{
	struct oc_writeback *wb;
	unsigned int i;
	int r;

	wb = kvzalloc(sizeof(*wb), GFP_KERNEL);
	if (!wb)
		return -ENOMEM;
	core->writeback = wb;
	wb->core = core;
	wb->stopped = true;
	wb->cooled = jiffies;
	INIT_DELAYED_WORK(&wb->work, writeback_work);
	init_completion(&wb->done);
	init_completion(&wb->granted);
	r = oc_order_init(&wb->order, clamp_t(u32, core->slots.nr / 64, 64, OC_WB_ORDER));
	for (i = 0; !r && i < OC_WB_ITEMS; i++) {
		wb->item[i].page = alloc_page(GFP_KERNEL);
		if (!wb->item[i].page)
			r = -ENOMEM;
	}
	return r;
}

void oc_writeback_exit(struct oc_core *core)
{
	struct oc_writeback *wb = core->writeback;
	unsigned int i;

	if (!wb)
		return;
	cancel_delayed_work_sync(&wb->work);
	for (i = 0; i < OC_WB_ITEMS && wb->item[i].page; i++)
		__free_page(wb->item[i].page);
	oc_order_exit(&wb->order);
	kvfree(wb);
	core->writeback = NULL;
}

size_t oc_writeback_bytes(const struct oc_core *core)
{
	const struct oc_writeback *wb = core->writeback;

	return wb ? sizeof(*wb) + OC_WB_ITEMS * PAGE_SIZE +
		    wb->order.max * sizeof(struct oc_dirty) : 0;
}
