/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One user bio on its way through the cache.
 *
 *	map.c		decides and sends: oc_map() for hits, oc_route() for the rest
 *	complete.c	what happens when the device has answered: oc_io_end()
 *	defer.c		waiting, and the worker that routes again
 *
 * oc_io lives in dm's per-bio data.  A hit touches only its first cache line.
 *
 * A bio is sent in parts when not all of it can go the same way.  In map() dm splits off
 * what is left; later, when that is no longer possible, the parts follow one
 * another: the bio is shortened, and what is left of it (OC_IO_REST) is routed when the
 * part has ended.  That needs no memory.
 */
#ifndef _OC_IO_H
#define _OC_IO_H

#include "core.h"

/* What the bio is doing at a device, so: what its completion has to do. */
enum oc_io_kind {
	OC_IO_IDLE,		/* nothing */
	OC_IO_READ_HIT,		/* pins slot .. slot + nr - 1 for reading */
	OC_IO_WRITE_HIT,	/* pins them for writing; dirty, in place */
	OC_IO_EXTEND,		/* in place, new sectors of a dirty block; one pinned slot */
	OC_IO_NEW,		/* to nr freshly allocated slots */
	OC_IO_MISS,		/* reading the origin */
	OC_IO_BYPASS,		/* writing the origin */
	OC_IO_THROUGH,		/* writing origin and cache from one copy, see through.c */
	OC_IO_DISCARD,
	OC_IO_FLUSH,		/* of the cache device, there was nothing else to do */
};

/* oc_io.flags */
#define OC_IO_LOCKED	(1U << 0)	/* the range is locked */
#define OC_IO_REST	(1U << 1)	/* only a part was sent, rest says what is left */
#define OC_IO_INTENT	(1U << 2)	/* its INTENTs are open, see intent.c */
#define OC_IO_ENDED	(1U << 3)	/* old mappings of the range are durably gone */
#define OC_IO_NOCACHE	(1U << 4)	/* the cache device failed this one: use the origin */
#define OC_IO_FINISH	(1U << 5)	/* when continued: complete with status */
#define OC_IO_STREAMED	(1U << 6)	/* sequential detection has counted it */
#define OC_IO_FUA	(1U << 7)	/* came with REQ_FUA, which the block layer may strip */

struct oc_io {
	u8 kind;		/* enum oc_io_kind */
	u8 flags;
	u16 nr;			/* slots from slot on */
	oc_slot_t slot;
	struct oc_core *core;
	struct bio *bio;
	struct bvec_iter iter;	/* as sent, sector relative to the target */

	/* from here on only off the hit path */
	struct oc_range range;
	struct list_head list;	/* deferred, or waiting for journal, space, pin, flush */
	u64 lsn;		/* durable when all records below are */
	u32 credits;		/* of the journal */
	bool bypass;		/* sequential: not worth a place in the cache */
	u8 generation;		/* of its INTENTs */
	blk_status_t status;	/* to finish with */
	u32 rest;		/* OC_IO_REST: bytes that follow this part */
};

static inline bool oc_io_is_write(const struct oc_io *io)
{
	return op_is_write(bio_op(io->bio));
}

static inline oc_block_t oc_sector_block(sector_t s)
{
	return to_oblock(s >> (OPTCACHE_BLOCK_SHIFT - SECTOR_SHIFT));
}

static inline unsigned int oc_sector_offset(sector_t s)
{
	return s & (OPTCACHE_SECTORS_PER_BLOCK - 1);
}

/* Valid mask of @n sectors from @off on in one block. */
static inline u8 oc_sector_mask(unsigned int off, unsigned int n)
{
	return ((1U << n) - 1) << off;
}

/* Blocks touched by @sectors sectors from @s on. */
static inline u32 oc_nr_blocks(sector_t s, unsigned int sectors)
{
	return DIV_ROUND_UP(oc_sector_offset(s) + sectors, OPTCACHE_SECTORS_PER_BLOCK);
}

static inline sector_t oc_cache_sector(const struct oc_core *core, oc_slot_t slot)
{
	return core->data_sector +
	       ((sector_t)from_slot(slot) << (OPTCACHE_BLOCK_SHIFT - SECTOR_SHIFT));
}

/* Give back what was not used.  Any context. */
static inline void oc_io_return_credits(struct oc_io *io)
{
	oc_journal_unreserve(&io->core->journal, io->credits);
	io->credits = 0;
}

/* ---- map.c ---- */

/* dm's map(): io->bio and io->core set, sector relative to the target. */
int oc_map(struct oc_io *io);

/*
 * Everything but hits.  From dm's map() (@in_map: the bio may be shortened by
 * dm_accept_partial_bio()) or from the worker.  Return: DM_MAPIO_*.
 */
int oc_route(struct oc_io *io, bool in_map);

/*
 * Ends old mappings of @nr blocks from @first on, as far as io->credits reach.
 * Return: something ended now, or its end is not durable yet.
 */
bool oc_end_mappings(struct oc_io *io, oc_block_t first, u32 nr, bool clean_only);

/* ---- complete.c ---- */

/* Drop a pin, free the slot if that was the last one of a GONE slot.  Any context. */
void oc_io_unpin(struct oc_io *io, oc_slot_t slot, bool write);

/*
 * The device answered.  Return: true when the bio is finished with *status, false
 * when it goes on and will be completed later.  Any context.
 */
bool oc_io_end(struct oc_io *io, blk_status_t *status);

/* Complete now.  Any context. */
void oc_io_finish(struct oc_io *io, blk_status_t status);

/* ---- defer.c ---- */
void oc_defer_init(struct oc_core *core);

/* Route @io (again) in the worker.  Any context. */
void oc_defer(struct oc_io *io);

/* What @io waited for has come: complete it or route it. */
void oc_io_continue(struct oc_io *io);

/*
 * A write, routed far enough for oc_route(): on with it when the superblock says that the
 * devices may be written.  Any context.  Return: true; false: that is so already.
 */
bool oc_wait_armed(struct oc_io *io);
/* Set armed and route those who wait; or fail them, as the superblock cannot be written. */
void oc_let_armed(struct oc_core *core);
void oc_refuse_armed(struct oc_core *core);

/*
 * Park @io until a pin is dropped; then look again whether all pins are really taken,
 * and oc_feed() if not.
 */
void oc_starve(struct oc_io *io);
void oc_feed(struct oc_core *core);	/* route all that starve again */

/* Lock the range of @io.  Return: false when it must wait (it will be deferred). */
bool oc_io_lock(struct oc_io *io);
void oc_io_unlock(struct oc_io *io);

/* ---- fill.c, through.c, intent.c, discard.c, flush.c ---- */

/*
 * Read the origin for @io and fill behind it.  Any context.
 * Return: false when there is no room or no buffer; the caller sends the bio itself.
 */
bool oc_fill_begin(struct oc_io *io);

/*
 * Old mappings are durably gone: write both devices.  Worker only.
 * Return: false when there is no buffer or no room; the caller writes the origin alone.
 */
bool oc_through_begin(struct oc_io *io);

/*
 * A NEW or an EXTEND has taken what it needs: write data and INTENTs.  The bio ends when
 * the data has.  Any context.
 * Return: false when there is no buffer; the caller sends the bio itself.
 */
bool oc_intent_begin(struct oc_io *io);
/* The data of @io, NEW or EXTEND, did not arrive: take its INTENTs back.  Any context. */
void oc_intent_void_new(struct oc_io *io);
void oc_intent_void_extend(struct oc_io *io);
/* Shall this new block be written so?  Uses up one expectation. */
bool oc_intent_wanted(const struct oc_io *io);
void oc_intent_expect(struct oc_core *core);	/* somebody flushes: soon again, perhaps */

int oc_discard_route(struct oc_io *io);

int oc_flush_map(struct oc_io *io);
int oc_flush_route(struct oc_io *io);	/* when the journal is durable, or never will be */
void oc_flush_queue(struct oc_io *io);	/* any context */

#endif /* _OC_IO_H */
