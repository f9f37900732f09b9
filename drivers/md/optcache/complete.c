// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens when a device has answered a user's bio.  Runs in the device's
 * completion context; whatever must sleep is deferred.
 */
#include "io.h"

#include <linux/device-mapper.h>

void oc_io_unpin(struct oc_io *io, oc_slot_t slot, bool write)
{
	struct oc_core *core = io->core;
	bool last;

	if (write)
		last = oc_slot_unpin_write(&core->slots, slot);
	else
		last = oc_slot_unpin_read(&core->slots, slot);
	if (unlikely(last))
		oc_index_release(&core->index, slot);
	if (unlikely(READ_ONCE(core->starved)))
		oc_feed(core);
}

static void unpin_run(struct oc_io *io, bool write)
{
	u32 i;

	for (i = 0; i < io->nr; i++)
		oc_io_unpin(io, slot_add(io->slot, i), write);
}

void oc_io_finish(struct oc_io *io, blk_status_t status)
{
	io->kind = OC_IO_IDLE;
	io->flags &= ~OC_IO_FINISH;
	io->bio->bi_status = status;
	bio_endio(io->bio);	/* and so back to oc_io_end() */
}

/*
 * Make a bio that has been at a device fit to be sent once more: the block layer took
 * REQ_FUA off if the device needs none, whoever split it below has counted __bi_remaining
 * down to zero, and a request that it was merged into has left it pointing to its neighbour.
 */
static void restore(struct oc_io *io)
{
	struct bio *bio = io->bio;

	bio->bi_iter = io->iter;
	bio->bi_next = NULL;
	bio->bi_status = BLK_STS_OK;
	atomic_set(&bio->__bi_remaining, 1);
	if (io->flags & OC_IO_FUA)
		bio->bi_opf |= REQ_FUA;
}

static void route_again(struct oc_io *io, u8 flags)
{
	restore(io);
	io->flags |= flags;
	io->kind = OC_IO_IDLE;
	io->credits = 0;
	io->bypass = false;
	oc_defer(io);
}

#define OC_HASTY	(REQ_RAHEAD | REQ_FAILFAST_MASK)

static bool is_media_error(blk_status_t status)
{
	return status != BLK_STS_OK && status != BLK_STS_AGAIN;
}

/*
 * A write is in the cache, and mapped.  FUA: the records it depends on must be durable too.
 * Return: true when it is finished with *status, false when it will be completed later.
 */
static bool finish_write(struct oc_io *io, blk_status_t *status)
{
	if (!(io->flags & OC_IO_FUA))
		return true;
	io->flags |= OC_IO_FINISH;
	io->status = BLK_STS_OK;
	switch (oc_journal_wait_io(&io->core->journal, io)) {
	case OC_PENDING:
		return false;
	case OC_NEVER:
		*status = BLK_STS_IOERR;
		fallthrough;
	case OC_DURABLE:
		break;
	}
	io->flags &= ~OC_IO_FINISH;
	return true;
}

/*
 * A cached read failed: what is clean the origin has as well.  On the second failure
 * what was asked for is dirty, and gone.
 */
static bool end_read_hit(struct oc_io *io, blk_status_t status)
{
	struct oc_core *core = io->core;

	unpin_run(io, false);
	if (likely(!is_media_error(status)))
		return true;
	oc_count(core, cache_errors);
	if (io->bio->bi_opf & OC_HASTY) {
		/* read-ahead is not retried below: a reset controller is enough to fail it */
		io->bio->bi_opf &= ~OC_HASTY;
		route_again(io, 0);
		return false;
	}
	oc_core_degrade(core, OC_DEGRADED, "reading the cache device failed");
	if (io->flags & OC_IO_NOCACHE) {
		oc_lost_add(core, oc_sector_block(io->iter.bi_sector));
		return true;
	}
	route_again(io, OC_IO_NOCACHE);
	return false;
}

/* In place: where it went is mapped durably already. */
static void end_write_hit(struct oc_io *io, blk_status_t status)
{
	unpin_run(io, true);
	if (likely(!status)) {
		oc_lost_overwritten(io->core, io->iter.bi_sector,
				    io->iter.bi_size >> SECTOR_SHIFT);
	} else if (is_media_error(status)) {
		oc_count(io->core, cache_errors);
		oc_core_degrade(io->core, OC_DEGRADED, "writing the cache device failed");
	}
}

/* FUA data does not stay in a volatile cache. */
static unsigned int unflushed(const struct oc_io *io)
{
	return io->flags & OC_IO_FUA ? 0 : OC_UNFLUSHED;
}

/*
 * Records about what has just been written are appended: what does it depend on?  On its
 * INTENTs, which are open no more, or on all of them.  Journal lock held.
 */
static void recorded(struct oc_io *io)
{
	struct oc_journal *j = &io->core->journal;

	if (io->flags & OC_IO_INTENT)
		oc_journal_close_intents(j, io->generation);
	else
		io->lsn = j->head_lsn;
	io->flags &= ~OC_IO_INTENT;
	oc_journal_done(j, io->lsn);
}

/*
 * The journal has failed, and there is no INTENT: nothing would ever speak of what was
 * written.  Journal lock held.
 */
static bool too_late(const struct oc_io *io)
{
	return io->core->journal.failed && !(io->flags & OC_IO_INTENT);
}

/* The new sectors of a dirty block are there.  Return: as map_new(). */
static bool map_sectors(struct oc_io *io)
{
	struct oc_core *core = io->core;
	struct oc_journal *j = &core->journal;
	u8 valid = oc_sector_mask(oc_sector_offset(io->iter.bi_sector),
				  io->iter.bi_size >> SECTOR_SHIFT);
	unsigned long flags;
	u64 word;

	oc_journal_lock(j, flags);
	if (too_late(io)) {
		oc_journal_unlock(j, flags);
		return false;
	}
	word = oc_slot_extend(&core->slots, io->slot, valid);
	if (word && !j->failed) {
		oc_journal_map(j, io->slot, word, unflushed(io));
		io->credits--;
	}
	recorded(io);
	oc_journal_unlock(j, flags);
	return true;
}

static bool end_extend(struct oc_io *io, blk_status_t *status)
{
	if (*status && io->flags & OC_IO_INTENT)
		oc_intent_void_extend(io);
	if (!*status && !map_sectors(io))
		*status = BLK_STS_IOERR;
	oc_io_return_credits(io);
	if (!(io->flags & OC_IO_REST))
		oc_io_unlock(io);
	end_write_hit(io, *status);
	return *status || finish_write(io, status);
}

/*
 * The old version of @block, if any, makes room for a new one.  The record comes before
 * the new one's MAP, so when the journal is cut between both, the block falls back to the
 * origin; it was clean there, hence the same bytes.  Journal lock held.
 */
static void supersede(struct oc_io *io, oc_block_t block)
{
	struct oc_core *core = io->core;
	oc_slot_t old;
	bool ending;
	u64 was;

	old = oc_index_find_locked(&core->index, block, &ending);
	if (old == OC_NO_SLOT || !oc_slot_kill(&core->slots, old, ~0U, &was))
		return;
	/* a FRESH one was never recorded; fresh.c frees it */
	if (oc_word_state(was) == OC_FRESH || core->journal.failed)
		return;
	oc_journal_unmap(&core->journal, old, 0);
	io->credits--;
}

/* Map a new version.  Its record, if there can be one.  Journal lock held. */
static void map_one(struct oc_io *io, oc_slot_t slot, oc_block_t block, u8 valid,
		    unsigned int how)
{
	struct oc_core *core = io->core;
	u64 word = oc_word_make(block, valid, OC_SEALED) | OC_WORD_DIRTY | OC_WORD_HOT;

	supersede(io, block);
	oc_slot_install(&core->slots, slot, word);
	oc_index_insert(&core->index, slot);
	if (core->journal.failed)
		return;
	oc_journal_map(&core->journal, slot, word, how);
	io->credits--;
}

/*
 * New versions are on the cache device: map them.
 * Return: false when it is too late for that.
 */
static bool map_new(struct oc_io *io)
{
	struct oc_core *core = io->core;
	struct oc_journal *j = &core->journal;
	oc_block_t block = oc_sector_block(io->iter.bi_sector);
	unsigned int off = oc_sector_offset(io->iter.bi_sector);
	unsigned int left = io->iter.bi_size >> SECTOR_SHIFT, len;
	unsigned long flags;
	u32 i;

	WRITE_ONCE(core->ever_dirty, true);
	oc_journal_lock(j, flags);
	if (too_late(io)) {
		oc_journal_unlock(j, flags);
		return false;
	}
	for (i = 0; i < io->nr; i++, left -= len, off = 0) {
		len = min(left, OPTCACHE_SECTORS_PER_BLOCK - off);
		map_one(io, slot_add(io->slot, i), oblock_add(block, i),
			oc_sector_mask(off, len), unflushed(io));
	}
	recorded(io);
	oc_journal_unlock(j, flags);
	return true;
}

static bool end_new(struct oc_io *io, blk_status_t *status)
{
	struct oc_core *core = io->core;
	bool mapped = !*status && map_new(io);

	if (io->flags & OC_IO_INTENT)
		oc_intent_void_new(io);
	else if (!mapped)
		oc_slots_free(&core->slots, io->slot, io->nr);
	oc_io_return_credits(io);
	if (is_media_error(*status)) {
		oc_count(core, cache_errors);
		oc_core_degrade(core, OC_DEGRADED, "writing the cache device failed");
	}
	if (!mapped && *status != BLK_STS_AGAIN) {
		route_again(io, OC_IO_NOCACHE);
		return false;
	}
	if (!(io->flags & OC_IO_REST))
		oc_io_unlock(io);
	if (*status)
		return true;
	oc_writeback_kick(core);
	return finish_write(io, status);
}

static bool end_miss(struct oc_io *io, blk_status_t status)
{
	if (is_media_error(status))
		oc_count(io->core, origin_errors);
	return true;
}

static bool end_bypass(struct oc_io *io, blk_status_t status)
{
	/* even a failed write may have changed something */
	oc_origin_wrote(io->core);
	if (is_media_error(status))
		oc_count(io->core, origin_errors);
	return true;
}

/* The mappings are gone; what the origin makes of the hint is its own affair. */
static bool end_discard(struct oc_io *io, blk_status_t *status)
{
	oc_origin_wrote(io->core);
	if (*status == BLK_STS_NOTSUPP)
		*status = BLK_STS_OK;
	return true;
}

/* A part has ended well: go on behind it. */
static void route_rest(struct oc_io *io)
{
	struct bio *bio = io->bio;

	restore(io);
	bio_advance_iter(bio, &bio->bi_iter, io->iter.bi_size);
	bio->bi_iter.bi_size = io->rest;
	io->flags &= ~(OC_IO_REST | OC_IO_ENDED | OC_IO_STREAMED | OC_IO_NOCACHE);
	oc_defer(io);
}

bool oc_io_end(struct oc_io *io, blk_status_t *status)
{
	enum oc_io_kind kind = io->kind;
	bool done = true;

	io->kind = OC_IO_IDLE;
	switch (kind) {
	case OC_IO_READ_HIT:
		done = end_read_hit(io, *status);
		break;
	case OC_IO_WRITE_HIT:
		end_write_hit(io, *status);
		break;
	case OC_IO_EXTEND:
		done = end_extend(io, status);
		break;
	case OC_IO_NEW:
		done = end_new(io, status);
		break;
	case OC_IO_MISS:
		done = end_miss(io, *status);
		break;
	case OC_IO_BYPASS:
		done = end_bypass(io, *status);
		break;
	case OC_IO_DISCARD:
		done = end_discard(io, status);
		break;
	case OC_IO_FLUSH:
		done = !is_media_error(*status);
		if (!done) {	/* does it matter?  The worker knows */
			io->status = *status;
			oc_flush_queue(io);
		} else if (!*status) {
			oc_journal_covered(&io->core->journal, io->lsn);
		}
		break;
	default:
		break;
	}
	if (!done)
		return false;
	if (unlikely(io->flags & OC_IO_REST) && !*status) {
		route_rest(io);
		return false;
	}
	oc_io_unlock(io);
	return true;
}
