// SPDX-License-Identifier: GPL-2.0-only
/*
 * A durable write in one round trip: the data goes to fresh slots and, in parallel, the
 * journal says which blocks they are going to hold, with a checksum of the data.  After a
 * crash the checksum tells whether the data arrived.  Data and checksum come from one
 * copy, because the caller's pages may change meanwhile.
 *
 *	begin	under the range lock, slots and credits are taken: INTENTs appended and
 *		committed, data sent
 *	end	in complete.c, as if there were no INTENT: MAPs are appended, but go along
 *		with some later block
 *		or, if the data did not arrive, what takes the INTENTs back
 *
 * For new sectors of a block that is dirty already (EXTEND) the INTENT speaks of just
 * these; what of the data overwrites others needs none.
 *
 * The copy and the checksum cost more instructions than a second trip costs without
 * anybody waiting for it, so only those go this way for whom somebody waits.
 */
#include "buffer.h"

#include <optcache/replay.h>

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

	/* its two bios may wait for the device's tags */
	if (bio_sectors(io->bio) > OC_INTENT_SECTORS || io->bio->bi_opf & REQ_NOWAIT)
		return false;
	if (left)
		WRITE_ONCE(core->durable_writes, left - 1);	/* a lost count does no harm */
	return left || io->flags & OC_IO_FUA;
}

/* They were followed by MAP or UNMAP.  Journal lock held. */
static void closed(struct oc_io *io)
{
	oc_journal_close_intents(&io->core->journal, io->generation);
	io->flags &= ~OC_IO_INTENT;
}

/* Nobody may use the slots before the device knows. */
void oc_intent_void_new(struct oc_io *io)
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
	closed(io);
	oc_journal_unlock(j, flags);
}

/* The slot holds what it held before. */
void oc_intent_void_extend(struct oc_io *io)
{
	struct oc_core *core = io->core;
	struct oc_journal *j = &core->journal;
	unsigned long flags;
	u64 word;

	oc_journal_lock(j, flags);
	word = oc_slot_extend(&core->slots, io->slot, 0);
	if (!j->failed) {
		oc_journal_map(j, io->slot, word, OC_UNFLUSHED);
		oc_journal_decided(j);
		io->credits--;
	}
	closed(io);
	oc_journal_unlock(j, flags);
}

static void intent_endio(struct bio *bio)
{
	struct oc_buffer *b = bio->bi_private;
	struct oc_io *io = b->io;

	io->bio->bi_status = bio->bi_status;
	bio_put(bio);
	oc_buffer_put(b);
	bio_endio(io->bio);	/* and so to oc_io_end() */
}

/* INTENT for what block @i of the buffer holds, but for the sectors of @known. */
static struct oc_intent make_intent(const struct oc_buffer *b, u32 i, u8 known)
{
	unsigned int off, len = oc_buffer_part(b, i, &off);
	void *data = kmap_local_page(b->page[i]);
	struct oc_intent in = {
		.slot = slot_add(b->io->slot, i),
		.block = oblock_add(oc_sector_block(b->sector), i),
		.valid = oc_sector_mask(off, len) & ~known,
	};

	in.crc = oc_intent_crc(&in, data);
	kunmap_local(data);
	return in;
}

/* Return: false when the journal has failed. */
static bool append_intents(struct oc_io *io, const struct oc_buffer *b)
{
	struct oc_core *core = io->core;
	struct oc_journal *j = &core->journal;
	struct oc_intent in[OC_INTENT_BLOCKS];
	unsigned long flags;
	u8 known = 0;
	bool failed;
	u32 i;

	/* nobody else adds sectors while the range is locked */
	if (io->kind == OC_IO_EXTEND)
		known = oc_word_valid(oc_slot_read(&core->slots, io->slot));
	for (i = 0; i < b->nr; i++)
		in[i] = make_intent(b, i, known);
	oc_journal_lock(j, flags);
	failed = j->failed;
	if (!failed) {
		WRITE_ONCE(core->ever_dirty, true);
		for (i = 0; i < b->nr; i++)
			oc_journal_intent(j, &in[i]);
		io->credits -= b->nr;
		io->lsn = j->head_lsn;
		io->generation = oc_journal_open_intents(j);
		io->flags |= OC_IO_INTENT;
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
