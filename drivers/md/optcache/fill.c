// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fill: what a miss reads from the origin enters the cache, behind the reader's back.
 *
 *	1. read the origin, whole blocks, into a buffer of ours: the reader could
 *	   scribble on its own pages, and that must not enter the cache
 *	2. copy to the reader, take over the range lock, complete the reader's bio
 *	3. worker: allocate slots in a row, write them (again until all is written)
 *	4. install them FRESH; fresh.c records them when the origin has been flushed
 *	5. unlock the range
 *
 * No write to these blocks can have begun since the disk was read: it would have
 * needed the range lock.
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

/* Step 4, for the run that was written. */
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

/* Step 3.  Return: false when there is no room. */
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

/* Step 2. */
static void read_endio(struct bio *bio)
{
	struct oc_buffer *b = bio->bi_private;
	struct oc_core *core = b->core;
	struct oc_io *io = b->io;
	blk_status_t status = bio->bi_status;

	bio_put(bio);
	if (status) {
		if (status != BLK_STS_AGAIN)
			oc_count(core, origin_errors);
		if (b->sectors != bio_sectors(io->bio)) {
			/* perhaps not the reader's sectors are bad but their neighbours */
			io->bypass = true;
			io->kind = OC_IO_IDLE;
			oc_defer(io);
		} else {
			oc_io_finish(io, status);
		}
		oc_buffer_put(b);
		return;
	}
	b->gen = atomic64_read(&core->origin_state.writes);
	oc_buffer_copy_out(b);
	oc_range_move(&core->ranges, &io->range, &b->range);
	io->flags &= ~OC_IO_LOCKED;
	oc_io_finish(io, BLK_STS_OK);
	INIT_WORK(&b->work, fill_work);
	queue_work(core->wq, &b->work);
}

bool oc_fill_begin(struct oc_io *io)
{
	struct oc_core *core = io->core;
	struct oc_buffer *b = NULL;
	struct bio *bio;

	oc_evict_kick(core);
	if (oc_slots_nr_free(&core->slots))
		b = oc_buffer_get(io, true);
	if (!b)
		goto skip;
	bio = bio_alloc_bioset(core->origin, b->nr, io->bio->bi_opf, GFP_NOWAIT, &core->bs);
	if (!bio)
		goto skip_buffer;
	bio->bi_iter.bi_sector = oc_buffer_add(b, bio, 0, b->nr);
	bio->bi_end_io = read_endio;
	bio->bi_private = b;
	submit_bio_noacct(bio);
	return true;

skip_buffer:
	oc_buffer_put(b);
skip:
	oc_count(core, fills_skipped);
	return false;
}
