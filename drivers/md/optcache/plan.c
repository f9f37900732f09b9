// SPDX-License-Identifier: GPL-2.0-only
/*
 * Planning; see plan.h.
 *
 * In the plan a block has at most one current slot, and nobody but the evictor
 * (which only ends clean, unpinned slots) changes that while the range is locked.
 */
#include "plan.h"
#include "buffer.h"

static u64 current_word(struct oc_core *core, oc_block_t block, oc_slot_t *slot, bool *ending)
{
	u64 word;

	*slot = oc_index_find_locked(&core->index, block, ending);
	if (*slot == OC_NO_SLOT)
		return 0;
	word = oc_slot_read(&core->slots, *slot);
	/* the evictor may just have ended it */
	if (!oc_word_current(word) || oc_word_block(word) != block) {
		*ending = true;
		*slot = OC_NO_SLOT;
		return 0;
	}
	return word;
}

/* Sectors from @off on, at most @max, whose bit in @valid is @set. */
static unsigned int run_of(u8 valid, unsigned int off, unsigned int max, bool set)
{
	unsigned int n = 0;

	while (n < max && !!(valid & (1U << (off + n))) == set)
		n++;
	return n;
}

/* May @word serve this read?  The origin holds the same bytes as a clean one. */
static bool readable(const struct oc_io *io, const struct oc_plan *plan, u64 word)
{
	return word & OC_WORD_DIRTY ||
	       (plan->mode != OPTCACHE_MODE_PASSTHROUGH && !(io->flags & OC_IO_NOCACHE));
}

static void plan_read(struct oc_io *io, struct oc_plan *plan)
{
	struct oc_core *core = io->core;
	sector_t sector = io->bio->bi_iter.bi_sector;
	unsigned int left = bio_sectors(io->bio), off, piece, n;
	bool first = true, ending;
	oc_slot_t slot;
	u8 valid;
	u64 word;

	plan->kind = OC_IO_MISS;
	for (; left; left -= piece, sector += piece, first = false) {
		off = oc_sector_offset(sector);
		piece = min(left, OPTCACHE_SECTORS_PER_BLOCK - off);
		word = current_word(core, oc_sector_block(sector), &slot, &ending);
		if (!word || !readable(io, plan, word)) {
			plan->sectors += piece;
			continue;
		}
		valid = oc_word_valid(word);
		n = run_of(valid, off, piece, true);
		if (n) {
			if (!first)
				break;
			plan->kind = OC_IO_READ_HIT;
			plan->slot = slot;
			/* a whole first block may be followed by others; after an error
			 * one at a time, so that each gets its own answer
			 */
			plan->sectors = n < piece || io->flags & OC_IO_NOCACHE ? n : left;
			break;
		}
		/* cached in part, without these: a clean slot makes way for the whole block */
		if (!first)
			break;
		if (!(word & OC_WORD_DIRTY)) {
			plan->stale = slot;
			plan->sectors = piece;
			break;
		}
		plan->sectors = run_of(valid, off, piece, false);
		io->bypass = true;	/* no place for it: the block has a slot */
		break;
	}
}

/* Shall this write enter the cache, and how? */
static enum oc_io_kind write_kind(const struct oc_io *io, const struct oc_plan *plan)
{
	if (io->bypass || io->flags & OC_IO_NOCACHE || oc_failed(io->core))
		return OC_IO_BYPASS;
	switch (plan->mode) {
	case OPTCACHE_MODE_WRITEBACK:
		return OC_IO_NEW;
	case OPTCACHE_MODE_WRITETHROUGH:
		return OC_IO_THROUGH;
	default:
		return OC_IO_BYPASS;
	}
}

static void plan_write(struct oc_io *io, struct oc_plan *plan)
{
	struct oc_core *core = io->core;
	sector_t sector = io->bio->bi_iter.bi_sector;
	unsigned int left = bio_sectors(io->bio), off, piece;
	bool first = true, ending = false;
	oc_slot_t slot;
	u64 word;
	u8 need;

	plan->kind = write_kind(io, plan);
	for (; left; left -= piece, sector += piece, first = false) {
		off = oc_sector_offset(sector);
		piece = min(left, OPTCACHE_SECTORS_PER_BLOCK - off);
		word = current_word(core, oc_sector_block(sector), &slot, &ending);
		plan->ending |= ending || word;
		if (!(word & OC_WORD_DIRTY)) {
			plan->sectors += piece;
			continue;
		}
		if (!first)
			break;
		need = oc_sector_mask(off, piece);
		plan->slot = slot;
		if ((oc_word_valid(word) & need) == need) {
			plan->kind = OC_IO_WRITE_HIT;
			plan->sectors = left;
		} else {
			plan->kind = OC_IO_EXTEND;
			plan->sectors = piece;
		}
		break;
	}
}

/* ---- streams --------------------------------------------------------- */

/*
 * Sequential detection, for what does not hit: peek before the decision, add when it is
 * known how many sectors this bio really takes.
 */
static void peek_stream(struct oc_io *io, struct oc_plan *plan)
{
	struct oc_core *core = io->core;
	u64 run;

	if (io->flags & OC_IO_STREAMED || !core->seq_cutoff)
		return;
	if (io->flags & OC_IO_FUA)
		oc_stream_flush(&core->streams);
	run = oc_stream_peek(&core->streams, io->bio->bi_iter.bi_sector, oc_io_is_write(io));
	if (run + plan->sectors <= core->seq_cutoff)
		return;
	io->bypass = true;
	if (plan->kind == OC_IO_NEW || plan->kind == OC_IO_THROUGH)
		plan->kind = OC_IO_BYPASS;
}

void oc_plan_count(struct oc_io *io)
{
	if (io->flags & OC_IO_STREAMED || io->kind < OC_IO_NEW)
		return;
	io->flags |= OC_IO_STREAMED;
	oc_stream_add(&io->core->streams, io->bio->bi_iter.bi_sector, bio_sectors(io->bio),
		      oc_io_is_write(io));
}

void oc_plan_make(struct oc_io *io, struct oc_plan *plan)
{
	*plan = (struct oc_plan) {
		.stale = OC_NO_SLOT,
		.mode = READ_ONCE(io->core->mode),
	};
	if (oc_io_is_write(io))
		plan_write(io, plan);
	else
		plan_read(io, plan);
	if (plan->kind >= OC_IO_NEW)
		peek_stream(io, plan);
	/* on a small cache a buffer does not hold a whole region */
	if ((plan->kind == OC_IO_MISS && !io->bypass) || plan->kind == OC_IO_THROUGH)
		plan->sectors = min(plan->sectors, oc_buffer_room(io));
}
