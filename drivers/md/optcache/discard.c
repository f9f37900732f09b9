// SPDX-License-Identifier: GPL-2.0-only
/*
 * Discard: forget whole blocks.  Their mappings, dirty ones too, end durably before the
 * discard completes, so that nothing comes back over what is written later; then the
 * origin discards them as well, if it can.  Blocks covered only in part keep their
 * data on both devices: discarding is a hint.
 */
#include "io.h"

#include <linux/device-mapper.h>

/* Cut the bio down to whole blocks.  Return: how many. */
static u32 trim_to_blocks(struct bio *bio)
{
	sector_t first = round_up(bio->bi_iter.bi_sector, OPTCACHE_SECTORS_PER_BLOCK);
	sector_t end = round_down(bio_end_sector(bio), OPTCACHE_SECTORS_PER_BLOCK);

	if (end <= first)
		return 0;
	bio->bi_iter.bi_sector = first;
	bio->bi_iter.bi_size = (end - first) << SECTOR_SHIFT;
	return (end - first) / OPTCACHE_SECTORS_PER_BLOCK;
}

static int send(struct oc_io *io)
{
	struct oc_core *core = io->core;

	if (!bdev_max_discard_sectors(core->origin)) {
		oc_io_finish(io, BLK_STS_OK);
		return DM_MAPIO_SUBMITTED;
	}
	io->iter = io->bio->bi_iter;
	bio_set_dev(io->bio, core->origin);
	return DM_MAPIO_REMAPPED;
}

static bool any_mapping(struct oc_io *io, u32 nr)
{
	struct oc_core *core = io->core;
	oc_block_t first = oc_sector_block(io->bio->bi_iter.bi_sector);
	bool ending;
	u32 i;

	for (i = 0; i < nr; i++)
		if (oc_index_find_locked(&core->index, oblock_add(first, i), &ending) !=
		    OC_NO_SLOT)
			return true;
	return false;
}

/* End all mappings, as many at a time as the journal has room for.  Return: done. */
static bool end_all(struct oc_io *io)
{
	struct oc_journal *j = &io->core->journal;
	sector_t sector = io->bio->bi_iter.bi_sector;
	u32 nr = bio_sectors(io->bio) / OPTCACHE_SECTORS_PER_BLOCK;

	while (any_mapping(io, nr)) {
		io->credits = oc_journal_reserve(j, 1, nr);
		if (!io->credits) {
			oc_journal_wait_space(j, io);
			return false;
		}
		oc_end_mappings(io, oc_sector_block(sector), nr, false);
		oc_lost_remove(io->core, oc_sector_block(sector), nr);
		oc_io_return_credits(io);
	}
	return true;
}

/* dm cuts discards by length only, but a range lock must not cross a region. */
static void stay_in_region(struct bio *bio)
{
	sector_t left = OC_REGION_SECTORS -
			(bio->bi_iter.bi_sector & (OC_REGION_SECTORS - 1));

	if (left < bio_sectors(bio))
		dm_accept_partial_bio(bio, left);
}

/* First time, in dm's map().  Return: there is something to do now. */
static bool begin(struct oc_io *io)
{
	struct oc_core *core = io->core;

	oc_count(core, discards);
	io->kind = OC_IO_DISCARD;
	io->credits = 0;
	io->status = BLK_STS_OK;
	stay_in_region(io->bio);
	if (!trim_to_blocks(io->bio)) {
		oc_io_finish(io, BLK_STS_OK);
		return false;
	}
	return READ_ONCE(core->armed) || !oc_wait_armed(io);
}

int oc_discard_route(struct oc_io *io)
{
	struct oc_core *core = io->core;

	if (bio_op(io->bio) != REQ_OP_DISCARD) {
		oc_io_finish(io, BLK_STS_NOTSUPP);
		return DM_MAPIO_SUBMITTED;
	}
	if (io->kind != OC_IO_DISCARD && !begin(io))
		return DM_MAPIO_SUBMITTED;
	if (!(io->flags & OC_IO_LOCKED) && !oc_io_lock(io))
		return DM_MAPIO_SUBMITTED;
	if (io->flags & OC_IO_ENDED)
		return send(io);
	if (oc_failed(core))
		goto refuse;
	if (!end_all(io))
		return DM_MAPIO_SUBMITTED;
	if (oc_failed(core))
		goto refuse;	/* perhaps in memory only */
	io->flags |= OC_IO_ENDED;
	switch (oc_journal_wait_all(&core->journal, io)) {
	case OC_DURABLE:
		return send(io);
	case OC_PENDING:
		return DM_MAPIO_SUBMITTED;
	case OC_NEVER:
		break;
	}
refuse:
	oc_io_finish(io, BLK_STS_IOERR);
	return DM_MAPIO_SUBMITTED;
}
