// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write-through: origin and cache are written in parallel from one copy, so both hold
 * the same bytes even if the caller changes its pages meanwhile.  The old
 * mapping is durably gone before; the new one is FRESH until the origin
 * has been flushed.  The caller's write is complete when both are, and fails if
 * the origin's did; a failed cache write only costs the mapping.
 */
#include "buffer.h"

#define RUN_TRIES	8	/* free places that are looked at */
#define RUNS_AHEAD	4	/* to be made when there is none */

static void through_done(struct oc_buffer *b)
{
	struct oc_core *core = b->core;
	struct oc_io *io = b->io;

	oc_origin_wrote(core);
	b->gen = atomic64_read(&core->origin_state.writes);
	if (b->origin_status)
		oc_count(core, origin_errors);
	if (b->cache_status) {
		oc_count(core, cache_errors);
		oc_core_degrade(core, OC_DEGRADED, "writing the cache device failed");
	}
	if (b->origin_status || b->cache_status) {
		oc_fresh_unreserve(core);
		oc_slots_free(&core->slots, b->slot, b->run);
	} else {
		oc_buffer_install(b);
	}
	oc_io_finish(io, b->origin_status);
	oc_buffer_put(b);
}

static void through_put(struct oc_buffer *b)
{
	if (atomic_dec_and_test(&b->pending))
		through_done(b);
}

static void origin_endio(struct bio *bio)
{
	struct oc_buffer *b = bio->bi_private;

	b->origin_status = bio->bi_status;
	bio_put(bio);
	through_put(b);
}

static void cache_endio(struct bio *bio)
{
	struct oc_buffer *b = bio->bi_private;

	b->cache_status = bio->bi_status;
	bio_put(bio);
	through_put(b);
}

static struct bio *make_bio(struct oc_buffer *b, struct block_device *bdev, blk_opf_t opf,
			    bio_end_io_t *end, sector_t *sector)
{
	struct bio *bio;

	bio = bio_alloc_bioset(bdev, b->nr, opf, GFP_NOWAIT, &b->core->bs);
	if (!bio)
		return NULL;
	*sector = oc_buffer_add(b, bio, 0, b->nr);
	bio->bi_end_io = end;
	bio->bi_private = b;
	return bio;
}

/* Slots in a row for all of it. Each try looks at the next free ones. */
static bool take_run(struct oc_buffer *b)
{
	struct oc_slots *slots = &b->core->slots;
	unsigned int tries;

	for (tries = 0; tries < RUN_TRIES; tries++) {
		b->run = oc_slots_alloc(slots, b->nr, &b->slot);
		if (b->run == b->nr)
			return true;
		oc_slots_free(slots, b->slot, b->run);
	}
	return false;
}

/* ... and the promise of a ring entry. */
static bool take_slots(struct oc_buffer *b)
{
	struct oc_core *core = b->core;

	if (!oc_fresh_reserve(core))
		return false;
	if (take_run(b)) {
		oc_evict_kick(core);
		return true;
	}
	oc_fresh_unreserve(core);
	/* whoever writes like this goes on with it */
	oc_evict_for_run(core, RUNS_AHEAD * b->nr);
	return false;
}

bool oc_through_begin(struct oc_io *io)
{
	struct oc_core *core = io->core;
	struct bio *to_origin, *to_cache;
	struct oc_buffer *b;
	sector_t sector;

	b = oc_buffer_get(io, false);
	if (!b)
		return false;
	if (!take_slots(b))
		goto no_slots;
	/* who holds one bio of a pool must not wait for another */
	to_origin = make_bio(b, core->origin, io->bio->bi_opf & ~REQ_NOWAIT, origin_endio,
			     &sector);
	to_cache = make_bio(b, core->cache, REQ_OP_WRITE, cache_endio, &sector);
	if (!to_origin || !to_cache)
		goto no_bio;
	oc_buffer_copy_in(b);
	oc_count(core, write_through);
	atomic_set(&b->pending, 2);
	to_origin->bi_iter.bi_sector = sector;
	to_cache->bi_iter.bi_sector = oc_cache_sector(core, b->slot) + oc_sector_offset(sector);
	submit_bio_noacct(to_origin);
	submit_bio_noacct(to_cache);
	return true;
no_bio:
	if (to_origin)
		bio_put(to_origin);
	if (to_cache)
		bio_put(to_cache);
	oc_slots_free(&core->slots, b->slot, b->run);
	oc_fresh_unreserve(core);
no_slots:
	oc_buffer_put(b);
	return false;
}
