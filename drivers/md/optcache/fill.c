// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fill: what a reader brought from the origin enters the cache, behind the reader's
 * back.
 *
 *	1. the read is complete: copy the data, take over the range lock; the bio ends
 *	2. worker: allocate slots in a row, write them (again until all is written)
 *	3. install them FRESH; fresh.c records them when the origin has been flushed
 *	4. unlock the range
 *
 * No write to these blocks can have begun since the disk was read: it would have
 * needed the range lock (hazard 9).
 */
#include "buffer.h"
#include "trace.h"

static void fill_done(struct oc_buffer *b)
{
	struct oc_core *core = b->core;

	oc_range_unlock(&core->ranges, &b->range);
	oc_buffer_put(b);
}

static void fill_endio(struct bio *bio)
{
	struct oc_buffer *b = bio->bi_private;

	b->cache_status = bio->bi_status;
	bio_put(bio);
	queue_work(b->core->wq, &b->work);
}

/* Step 3, for the run that was written. */
static void finish_run(struct oc_buffer *b)
{
	struct oc_core *core = b->core;

	if (b->cache_status) {
		oc_fresh_unreserve(core);
		oc_slots_free(&core->slots, b->slot, b->run);
		oc_count(core, cache_errors);
		oc_core_degrade(core, OC_DEGRADED, "writing the cache device failed");
		b->first = b->nr;	/* no more of it */
		return;
	}
	oc_buffer_install(b);
	oc_count_add(core, fills, b->run);
	b->first += b->run;
	b->run = 0;
}

/* Step 2.  Return: false when there is no room. */
static bool write_run(struct oc_buffer *b)
{
	struct oc_core *core = b->core;
	struct bio *bio;

	if (!oc_fresh_reserve(core))
		return false;
	b->run = oc_slots_alloc(&core->slots, b->nr - b->first, &b->slot);
	oc_evict_kick(core);
	if (!b->run) {
		oc_fresh_unreserve(core);
		return false;
	}
	bio = bio_alloc_bioset(core->cache, b->run, REQ_OP_WRITE, GFP_NOIO, &core->bs);
	bio->bi_iter.bi_sector = oc_cache_sector(core, b->slot) +
		oc_sector_offset(oc_buffer_add(b, bio, b->first, b->run));
	bio->bi_end_io = fill_endio;
	bio->bi_private = b;
	trace_optcache_fill(core, oblock_add(oc_sector_block(b->sector), b->first), b->run,
			    b->slot);
	submit_bio_noacct(bio);
	return true;
}

static void fill_work(struct work_struct *work)
{
	struct oc_buffer *b = container_of(work, struct oc_buffer, work);

	if (b->run)
		finish_run(b);
	if (b->first < b->nr && write_run(b))
		return;
	if (b->first < b->nr)
		oc_count(b->core, fills_skipped);
	fill_done(b);
}

void oc_fill_begin(struct oc_io *io)
{
	struct oc_core *core = io->core;
	struct oc_buffer *b;

	if (!oc_slots_nr_free(&core->slots)) {
		oc_evict_kick(core);
		oc_count(core, fills_skipped);
		return;
	}
	b = oc_buffer_copy(io, &io->iter);
	if (!b) {
		oc_count(core, fills_skipped);
		return;
	}
	b->gen = atomic64_read(&core->origin_state.writes);
	oc_range_move(&core->ranges, &io->range, &b->range);
	io->flags &= ~OC_IO_LOCKED;
	INIT_WORK(&b->work, fill_work);
	queue_work(core->wq, &b->work);
}
