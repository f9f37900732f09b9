// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a bio to the device that serves it.
 *
 * oc_map() is the hit path: find the slot, pin it, remap; no lock, no allocation.
 * Everything else goes through oc_route() under the range lock of its blocks:
 *
 *	1. lock the range (or be deferred until it is granted)
 *	2. plan what to do with the first sectors, see plan.h
 *	3. take what that needs: pins, slots, credits of the journal
 *	4. shorten the bio to it (the rest follows, see io.h)
 *	5. send
 */
#include "plan.h"
#include "trace.h"

#include <linux/device-mapper.h>

static void send_to_cache(struct oc_io *io, oc_slot_t slot)
{
	struct oc_core *core = io->core;
	struct bio *bio = io->bio;

	io->iter = bio->bi_iter;
	bio_set_dev(bio, core->cache);
	bio->bi_iter.bi_sector = oc_cache_sector(core, slot) +
				 oc_sector_offset(bio->bi_iter.bi_sector);
}

static void send_to_origin(struct oc_io *io)
{
	io->iter = io->bio->bi_iter;
	bio_set_dev(io->bio, io->core->origin);
}

static bool pin(struct oc_slots *slots, oc_slot_t slot, oc_block_t block, u8 need, bool write)
{
	return write ? oc_slot_pin_write(slots, slot, block, need)
		     : oc_slot_pin_read(slots, slot, block, need);
}

/*
 * Pin the slots of up to @n sectors from @sector on, as long as they are current,
 * in a row and hold the data.  Return: sectors pinned.
 */
static unsigned int pin_run(struct oc_io *io, oc_slot_t slot, sector_t sector,
			    unsigned int n, bool write)
{
	struct oc_slots *slots = &io->core->slots;
	oc_block_t block = oc_sector_block(sector);
	unsigned int off = oc_sector_offset(sector);
	unsigned int done = 0, nr = 0, len;
	u8 need;

	do {
		len = min(n - done, OPTCACHE_SECTORS_PER_BLOCK - off);
		need = oc_sector_mask(off, len);
		if (from_slot(slot) + nr >= slots->nr)
			break;
		if (!pin(slots, slot_add(slot, nr), oblock_add(block, nr), need, write))
			break;
		nr++;
		done += len;
		off = 0;
	} while (done < n);

	io->slot = slot;
	io->nr = nr;
	io->kind = write ? OC_IO_WRITE_HIT : OC_IO_READ_HIT;
	return done;
}

/* What the hit path does without. */
static void route_init(struct oc_io *io)
{
	io->bypass = false;
	io->credits = 0;
	io->lsn = 0;
	io->status = BLK_STS_OK;
}

/* The first write.  Return: it goes on later. */
static bool wait_armed(struct oc_io *io)
{
	route_init(io);
	return oc_wait_armed(io);
}

int oc_map(struct oc_io *io)
{
	struct oc_core *core = io->core;
	struct bio *bio = io->bio;
	bool write = bio_op(bio) == REQ_OP_WRITE;
	unsigned int done;
	oc_slot_t slot;

	io->kind = OC_IO_IDLE;
	io->flags = bio->bi_opf & REQ_FUA ? OC_IO_FUA : 0;
	if (unlikely(!write && bio_op(bio) != REQ_OP_READ))
		return oc_discard_route(io);
	if (unlikely(!bio_sectors(bio)))
		return oc_flush_map(io);

	bio->bi_opf &= ~core->strip;
	if (write) {
		oc_count(core, writes);
		if (unlikely(!READ_ONCE(core->armed)) && wait_armed(io))
			return DM_MAPIO_SUBMITTED;
	} else {
		oc_count(core, reads);
	}
	/* outside of write-back mode a write in place must not race with the drain */
	if (unlikely(write ? core->mode != OPTCACHE_MODE_WRITEBACK
			   : core->mode == OPTCACHE_MODE_PASSTHROUGH))
		goto route;
	slot = oc_index_find(&core->index, oc_sector_block(bio->bi_iter.bi_sector));
	if (slot == OC_NO_SLOT)
		goto route;
	done = pin_run(io, slot, bio->bi_iter.bi_sector, bio_sectors(bio), write);
	if (!done)
		goto route;

	if (write)
		oc_count(core, write_hits);
	else
		oc_count(core, read_hits);
	if (done < bio_sectors(bio))
		dm_accept_partial_bio(bio, done);
	trace_optcache_hit(io, slot);
	send_to_cache(io, slot);
	return DM_MAPIO_REMAPPED;

route:
	io->kind = OC_IO_IDLE;
	return oc_route(io, true);
}

/* ---- 3. take --------------------------------------------------------- */

enum oc_take { OC_TAKEN, OC_WAITING, OC_AGAIN };

/* The journal has failed and this write could not be told from an older one later. */
static enum oc_take refuse(struct oc_io *io)
{
	io->kind = OC_IO_IDLE;
	oc_io_finish(io, BLK_STS_IOERR);
	return OC_WAITING;
}

/* Its record must be durable before the data may change; after a failure it never is. */
static enum oc_take wait_sealed(struct oc_io *io)
{
	if (oc_failed(io->core))
		return refuse(io);
	switch (oc_journal_wait_all(&io->core->journal, io)) {
	case OC_PENDING:
		return OC_WAITING;
	case OC_NEVER:
		return refuse(io);
	default:
		return OC_AGAIN;
	}
}

static bool sealed(const struct oc_io *io, oc_slot_t slot)
{
	return oc_word_state(oc_slot_read(&io->core->slots, slot)) == OC_SEALED;
}

/* No pin was to be had. */
static enum oc_take starve_for_pin(struct oc_io *io, oc_slot_t slot)
{
	struct oc_core *core = io->core;

	io->kind = OC_IO_IDLE;
	if (oc_io_is_write(io) && sealed(io, slot))
		return wait_sealed(io);
	if (!oc_slot_crowded(&core->slots, slot))
		return OC_AGAIN;	/* the slot has changed meanwhile */
	oc_starve(io);
	if (!oc_slot_crowded(&core->slots, slot))
		oc_feed(core);
	return OC_WAITING;
}

static enum oc_take take_hit(struct oc_io *io, struct oc_plan *plan)
{
	plan->sectors = pin_run(io, plan->slot, io->bio->bi_iter.bi_sector, plan->sectors,
				plan->kind == OC_IO_WRITE_HIT);
	if (!plan->sectors)
		return starve_for_pin(io, plan->slot);
	if (plan->kind == OC_IO_WRITE_HIT)
		oc_count(io->core, write_hits);
	else
		oc_count(io->core, read_hits);
	return OC_TAKEN;
}

static enum oc_take wait_for_space(struct oc_io *io)
{
	io->kind = OC_IO_IDLE;
	oc_journal_wait_space(&io->core->journal, io);
	return OC_WAITING;
}

static enum oc_take take_extend(struct oc_io *io, struct oc_plan *plan)
{
	struct oc_core *core = io->core;
	sector_t sector = io->bio->bi_iter.bi_sector;
	u8 need = oc_sector_mask(oc_sector_offset(sector), plan->sectors);
	u32 credits;

	if (oc_failed(core))
		return refuse(io);
	/* also when LIVE: an older MAP of the same sectors may have confirmed it */
	if (oc_journal_undecided(&core->journal))
		return wait_sealed(io);
	credits = oc_intent_wanted(io) ? 2 : 1;
	io->credits = oc_journal_reserve(&core->journal, credits, credits);
	if (!io->credits)
		return wait_for_space(io);
	if (!oc_slot_pin_extend(&core->slots, plan->slot, oc_sector_block(sector), need)) {
		oc_io_return_credits(io);
		return starve_for_pin(io, plan->slot);
	}
	io->kind = OC_IO_EXTEND;
	io->slot = plan->slot;
	io->nr = 1;
	return OC_TAKEN;
}

/* Shorten @plan to @nr blocks. */
static void plan_shorten(const struct oc_io *io, struct oc_plan *plan, u32 nr)
{
	unsigned int off = oc_sector_offset(io->bio->bi_iter.bi_sector);

	plan->sectors = min(plan->sectors, nr * OPTCACHE_SECTORS_PER_BLOCK - off);
}

/*
 * A slot and, for its MAP and for the UNMAP of what it replaces, two credits a block; three
 * when an INTENT comes before.
 */
static enum oc_take take_new(struct oc_io *io, struct oc_plan *plan)
{
	struct oc_core *core = io->core;
	u32 each = oc_intent_wanted(io) ? OC_CREDITS_MAX : 2;
	u32 nr = oc_nr_blocks(io->bio->bi_iter.bi_sector, plan->sectors);
	u32 credits = oc_journal_reserve(&core->journal, each, each * nr);
	u32 got;

	if (!credits)
		return wait_for_space(io);
	got = oc_slots_alloc(&core->slots, credits / each, &io->slot);
	oc_evict_kick(core);
	if (!got) {
		oc_journal_unreserve(&core->journal, credits);
		plan->kind = OC_IO_BYPASS;
		return OC_TAKEN;
	}
	oc_journal_unreserve(&core->journal, credits - each * got);
	plan_shorten(io, plan, got);
	io->kind = OC_IO_NEW;
	io->nr = got;
	io->credits = each * got;
	return OC_TAKEN;
}

/*
 * The journal has failed: may @io go past mappings that still stand on the device?
 * Not before the superblock has been marked, or cannot be; until then it is parked.
 */
static bool past_fence(struct oc_io *io)
{
	enum oc_io_kind kind = io->kind;

	io->flags &= ~OC_IO_ENDED;
	io->kind = OC_IO_IDLE;
	if (oc_journal_wait_fence(&io->core->journal, io))
		return false;	/* it is not ours any more */
	io->kind = kind;
	return true;
}

/*
 * Writing the origin under a cached block: its mapping must be durably gone first,
 * also one that is only on its way out.  Credits for the UNMAPs, unless
 * the journal has failed: then mappings end in memory only, and the write is refused
 * if anything dirty on the device could ever come back over it.
 */
static enum oc_take take_bypass(struct oc_io *io, struct oc_plan *plan)
{
	struct oc_core *core = io->core;
	u32 nr = oc_nr_blocks(io->bio->bi_iter.bi_sector, plan->sectors);

	io->kind = plan->kind;
	if (!plan->ending || io->flags & OC_IO_ENDED)
		return OC_TAKEN;
	if (oc_failed(core)) {
		if (core->stuck_dirty)
			return refuse(io);
		return past_fence(io) ? OC_TAKEN : OC_WAITING;
	}
	io->credits = oc_journal_reserve(&core->journal, 1, nr);
	if (!io->credits)
		return wait_for_space(io);
	plan_shorten(io, plan, io->credits);
	return OC_TAKEN;
}

static enum oc_take take(struct oc_io *io, struct oc_plan *plan)
{
	enum oc_take taken = OC_TAKEN;

	switch (plan->kind) {
	case OC_IO_READ_HIT:
	case OC_IO_WRITE_HIT:
		return take_hit(io, plan);
	case OC_IO_EXTEND:
		return take_extend(io, plan);
	case OC_IO_NEW:
		taken = take_new(io, plan);
		break;
	default:
		break;
	}
	if (taken == OC_TAKEN && (plan->kind == OC_IO_BYPASS || plan->kind == OC_IO_THROUGH))
		taken = take_bypass(io, plan);
	if (plan->kind == OC_IO_MISS)
		io->kind = OC_IO_MISS;
	return taken;
}

/* ---- 5. send --------------------------------------------------------- */

bool oc_end_mappings(struct oc_io *io, oc_block_t first, u32 nr, bool clean_only)
{
	struct oc_core *core = io->core;
	struct oc_journal *j = &core->journal;
	bool ended = false, ending;
	unsigned long flags;
	oc_slot_t slot;
	u64 was;
	u32 i;

	oc_journal_lock(j, flags);
	for (i = 0; i < nr; i++) {
		slot = oc_index_find_locked(&core->index, oblock_add(first, i), &ending);
		ended |= ending;
		if (slot == OC_NO_SLOT ||
		    ((clean_only || j->failed) && oc_slot_read(&core->slots, slot) & OC_WORD_DIRTY))
			continue;
		if (!io->credits && !j->failed)
			break;
		if (!oc_slot_kill(&core->slots, slot, ~0U, &was))
			continue;
		ended = true;
		/* the journal never knew a FRESH one; fresh.c frees it */
		if (oc_word_state(was) == OC_FRESH || j->failed)
			continue;
		oc_journal_unmap(j, slot, OC_WANTED);
		io->credits--;
	}
	oc_journal_unlock(j, flags);
	return ended;
}

/* Ends the old mappings under @io. */
static enum oc_durable end_old(struct oc_io *io)
{
	struct oc_journal *j = &io->core->journal;
	sector_t sector = io->bio->bi_iter.bi_sector;
	bool ended;

	ended = oc_end_mappings(io, oc_sector_block(sector),
				oc_nr_blocks(sector, bio_sectors(io->bio)), true);
	oc_io_return_credits(io);
	io->flags |= OC_IO_ENDED;
	if (!ended)
		return OC_DURABLE;
	/* after a failure it may have ended in memory only */
	return oc_failed(io->core) ? OC_NEVER : oc_journal_wait_all(j, io);
}

static int send_bypass(struct oc_io *io, struct oc_plan *plan, bool in_map)
{
	struct oc_core *core = io->core;

	if (plan->ending && !(io->flags & OC_IO_ENDED)) {
		switch (end_old(io)) {
		case OC_PENDING:
			return DM_MAPIO_SUBMITTED;
		case OC_NEVER:
			if (core->stuck_dirty) {
				oc_io_finish(io, BLK_STS_IOERR);
				return DM_MAPIO_SUBMITTED;
			}
			if (!past_fence(io))
				return DM_MAPIO_SUBMITTED;
			WRITE_ONCE(core->went_past, true);
			fallthrough;
		case OC_DURABLE:
			break;
		}
	}
	if (io->kind == OC_IO_THROUGH) {
		if (in_map) {
			oc_defer(io);	/* it needs memory */
			return DM_MAPIO_SUBMITTED;
		}
		if (oc_through_begin(io))
			return DM_MAPIO_SUBMITTED;
		io->kind = OC_IO_BYPASS;
	}
	oc_count(core, write_bypass);
	trace_optcache_bypass(io, io->bypass ? "sequential" : "write");
	send_to_origin(io);
	return DM_MAPIO_REMAPPED;
}

/* Clean slots that this read found unreadable, or is about to replace. */
static bool drop_mappings(struct oc_io *io)
{
	struct oc_core *core = io->core;
	sector_t sector = io->bio->bi_iter.bi_sector;
	u32 nr = oc_nr_blocks(sector, bio_sectors(io->bio)), got, i;

	for (i = 0; i < nr; i += got) {
		got = oc_journal_reserve(&core->journal, 1, nr - i);
		if (!got)
			return false;
		io->credits = got;
		oc_end_mappings(io, oblock_add(oc_sector_block(sector), i), got, true);
		oc_io_return_credits(io);
	}
	return true;
}

static int send_miss(struct oc_io *io, struct oc_plan *plan)
{
	struct oc_core *core = io->core;
	bool fill = !io->bypass && plan->mode != OPTCACHE_MODE_PASSTHROUGH &&
		    !oc_failed(core) && READ_ONCE(core->armed) &&
		    !(io->flags & (OC_IO_REST | OC_IO_NOCACHE));

	trace_optcache_miss(io);
	if (io->flags & OC_IO_NOCACHE && READ_ONCE(core->armed))
		drop_mappings(io);
	else if (fill && plan->stale != OC_NO_SLOT)
		fill = drop_mappings(io);
	if (fill) {
		oc_count(core, read_misses);
		if (oc_fill_begin(io))
			return DM_MAPIO_SUBMITTED;
	} else {
		oc_count(core, read_bypass);
		trace_optcache_bypass(io, io->bypass ? "sequential" : "mode");
	}
	send_to_origin(io);
	return DM_MAPIO_REMAPPED;
}

/* It has taken a credit more a block, for INTENTs. */
static bool intended(const struct oc_io *io)
{
	return io->credits == io->nr * (io->kind == OC_IO_NEW ? OC_CREDITS_MAX : 2);
}

static int send(struct oc_io *io, struct oc_plan *plan, bool in_map)
{
	switch (io->kind) {
	case OC_IO_READ_HIT:
	case OC_IO_WRITE_HIT:
		/* the pins protect it from here on, and let write-back see it */
		if (!(io->flags & OC_IO_REST) && plan->mode == OPTCACHE_MODE_WRITEBACK)
			oc_io_unlock(io);
		trace_optcache_hit(io, io->slot);
		send_to_cache(io, io->slot);
		return DM_MAPIO_REMAPPED;
	case OC_IO_EXTEND:
	case OC_IO_NEW:
		oc_count(io->core, write_new);
		trace_optcache_new(io, io->slot);
		if (intended(io) && oc_intent_begin(io))
			return DM_MAPIO_SUBMITTED;
		send_to_cache(io, io->slot);
		return DM_MAPIO_REMAPPED;
	case OC_IO_MISS:
		return send_miss(io, plan);
	default:
		return send_bypass(io, plan, in_map);
	}
}

/* ---- the route ------------------------------------------------------- */

/* Step 4. */
static void shorten(struct oc_io *io, unsigned int sectors, bool in_map)
{
	struct bio *bio = io->bio;
	unsigned int bytes = sectors << SECTOR_SHIFT;

	if (sectors == bio_sectors(bio))
		return;
	if (in_map) {
		dm_accept_partial_bio(bio, sectors);
		oc_range_shrink(&io->core->ranges, &io->range,
				oc_nr_blocks(bio->bi_iter.bi_sector, sectors));
		return;
	}
	/* a part may be routed again and come out shorter: its rest grows */
	if (!(io->flags & OC_IO_REST))
		io->rest = 0;
	io->flags |= OC_IO_REST;
	io->rest += bio->bi_iter.bi_size - bytes;
	bio->bi_iter.bi_size = bytes;
}

int oc_route(struct oc_io *io, bool in_map)
{
	struct oc_plan plan;

	if (io->kind == OC_IO_DISCARD)
		return oc_discard_route(io);
	if (io->kind == OC_IO_FLUSH)
		return oc_flush_route(io);
	if (in_map)
		route_init(io);
	if (!(io->flags & OC_IO_LOCKED)) {
		io->flags &= ~OC_IO_ENDED;
		if (!oc_io_lock(io))
			return DM_MAPIO_SUBMITTED;
	}
	for (;;) {
		oc_plan_make(io, &plan);
		switch (take(io, &plan)) {
		case OC_WAITING:
			return DM_MAPIO_SUBMITTED;
		case OC_AGAIN:
			continue;
		case OC_TAKEN:
			break;
		}
		shorten(io, plan.sectors, in_map);
		io->iter = io->bio->bi_iter;
		oc_plan_count(io);
		return send(io, &plan, in_map);
	}
}
