// SPDX-License-Identifier: GPL-2.0-only
/*
 * A durable write in one round trip: the data goes to fresh slots and, in parallel, the
 * journal says which blocks they are going to hold, with a checksum of the data.  After a
 * crash the checksum tells whether the data arrived.  Data and checksum come from one
 * copy, because the caller's pages may change meanwhile (hazard 18).
 *
 *	begin	under the range lock: slots, credits for INTENT, UNMAP and MAP, the copy
 *		INTENTs appended and committed, data sent
 *	end	data arrived: old versions end, the new ones are SEALED; UNMAP and MAP
 *		are appended and go along with some later block
 *		it did not: an UNMAP takes the INTENT back, and the slot is used again
 *		when that is durable
 *
 * The copy and the checksum cost more instructions than a second trip costs without
 * anybody waiting for it, so only those go this way for whom somebody waits.
 */
#include "buffer.h"

#include <linux/highmem.h>

#define OC_INTENT_SECTORS	32	/* longer ones spend their time in the transfer */
#define OC_INTENT_BLOCKS	(OC_INTENT_SECTORS / OPTCACHE_SECTORS_PER_BLOCK + 1)
#define OC_INTENTS_A_FLUSH	64	/* new blocks after a flush that expect another */

void oc_intent_expect(struct oc_core *core)
{
	WRITE_ONCE(core->durable_writes, OC_INTENTS_A_FLUSH);
}

bool oc_intent_wanted(const struct oc_io *io)
{
	struct oc_core *core = io->core;
	u32 left = READ_ONCE(core->durable_writes);

	if (bio_sectors(io->bio) > OC_INTENT_SECTORS)
		return false;
	if (left)
		WRITE_ONCE(core->durable_writes, left - 1);	/* a lost count does no harm */
	return left || io->flags & OC_IO_FUA;
}

/* The data did not arrive.  Nobody may use the slots before the device knows. */
static void take_back(struct oc_io *io)
{
	struct oc_core *core = io->core;
	struct oc_journal *j = &core->journal;
	oc_block_t block = oc_sector_block(io->iter.bi_sector);
	unsigned long flags;
	oc_slot_t slot;
	u32 i;

	oc_journal_lock(j, flags);
	for (i = 0; i < io->nr; i++) {
		slot = slot_add(io->slot, i);
		oc_slot_void(&core->slots, slot, oblock_add(block, i));
		oc_index_insert(&core->index, slot);
		if (j->failed)
			continue;
		oc_journal_unmap(j, slot, 0);
		io->credits--;
	}
	oc_journal_close_intents(j, io->generation);
	oc_journal_unlock(j, flags);
}

static void end_lost(struct oc_io *io, blk_status_t status)
{
	struct oc_core *core = io->core;

	take_back(io);
	oc_io_return_credits(io);
	if (status != BLK_STS_AGAIN) {
		oc_count(core, cache_errors);
		oc_core_degrade(core, OC_DEGRADED, "writing the cache device failed");
	}
	oc_io_route_again(io, OC_IO_NOCACHE);
}

static void end_arrived(struct oc_io *io)
{
	blk_status_t status = BLK_STS_OK;

	oc_io_map_new(io);
	oc_io_return_credits(io);
	if (!(io->flags & OC_IO_REST))
		oc_io_unlock(io);
	oc_writeback_kick(io->core);
	if (oc_io_finish_write(io, &status))
		oc_io_finish(io, status);
}

static void intent_endio(struct bio *bio)
{
	struct oc_buffer *b = bio->bi_private;
	struct oc_io *io = b->io;
	blk_status_t status = bio->bi_status;

	bio_put(bio);
	oc_buffer_put(b);
	if (status)
		end_lost(io, status);
	else
		end_arrived(io);
}

/* Checksum of what block @i of the buffer holds; @valid says which sectors. */
static u32 checksum(const struct oc_buffer *b, u32 i, u8 *valid)
{
	unsigned int off, len = oc_buffer_part(b, i, &off);
	void *data = kmap_local_page(b->page[i]);
	u32 crc = oc_data_crc(~0U, data + (off << SECTOR_SHIFT), len << SECTOR_SHIFT);

	kunmap_local(data);
	*valid = oc_sector_mask(off, len);
	return crc;
}

/* Return: false when the journal has failed. */
static bool append_intents(struct oc_io *io, const struct oc_buffer *b)
{
	struct oc_journal *j = &io->core->journal;
	oc_block_t block = oc_sector_block(b->sector);
	u8 valid[OC_INTENT_BLOCKS];
	u32 crc[OC_INTENT_BLOCKS];
	unsigned long flags;
	bool failed;
	u32 i;

	for (i = 0; i < b->nr; i++)
		crc[i] = checksum(b, i, &valid[i]);
	oc_journal_lock(j, flags);
	failed = j->failed;
	if (!failed) {
		WRITE_ONCE(io->core->ever_dirty, true);
		for (i = 0; i < b->nr; i++)
			oc_journal_intent(j, slot_add(io->slot, i), oblock_add(block, i),
					  valid[i], crc[i]);
		io->credits -= b->nr;
		io->lsn = j->head_lsn;
		io->generation = oc_journal_open_intents(j);
	}
	spin_unlock_irqrestore(&j->lock, flags);	/* our caller commits */
	return !failed;
}

bool oc_intent_begin(struct oc_io *io)
{
	struct oc_core *core = io->core;
	struct oc_buffer *b;
	struct bio *bio;

	b = oc_buffer_get(io, false);
	if (!b)
		return false;
	bio = bio_alloc_bioset(core->cache, b->nr, io->bio->bi_opf & ~REQ_NOWAIT, GFP_NOWAIT,
			       &core->bs);
	if (!bio)
		goto no_buffer;
	oc_buffer_copy_in(b);
	if (!append_intents(io, b))
		goto no_bio;
	oc_buffer_add(b, bio, 0, b->nr);
	bio->bi_iter.bi_sector = oc_cache_sector(core, io->slot) + oc_sector_offset(b->sector);
	bio->bi_end_io = intent_endio;
	bio->bi_private = b;
	submit_bio_noacct(bio);
	oc_journal_commit(&core->journal);
	return true;
no_bio:
	bio_put(bio);
no_buffer:
	oc_buffer_put(b);
	return false;
}
