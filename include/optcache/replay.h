/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recovery without I/O: table pages and journal blocks go in, slot words come out.
 * The caller (module, optcachectl, fuzzer) reads the device.
 *
 *	oc_replay_init
 *	oc_replay_page		once for each page of the table, both places
 *	oc_replay_block		from the superblock's tail, until it returns -ENODATA
 *	oc_replay_collect	lists the INTENTs that nothing followed: rp->intent
 *				the caller reads the data of each and sets landed
 *	oc_replay_finish	builds index and counters
 *
 * A record changes a slot only if its number is not below the lsn of the slot's page.
 * That is exact as long as a page is written only when all records below its lsn are
 * durable.
 *
 * No record ends another slot than it names.  The journal may end between the UNMAP of
 * an old version and the MAP of the new one, so the UNMAP comes first, and the old one
 * is clean (or both are in one block, which is replayed whole or not at all).
 *
 * An INTENT stands until a MAP or UNMAP of its slot.  Meanwhile the word of a slot that holds
 * nothing else is DEAD and names block and sectors; the word of one that holds other sectors
 * of the block has those of the INTENT where the pins are later.  next[] of the slot, which
 * nobody needs yet, holds the checksum.
 *
 * No page knows INTENTs.  So one with a number below the lsn of the page stands too, unless a
 * record follows that the page contains, and which the journal therefore has.
 */
#ifndef _OPTCACHE_REPLAY_H
#define _OPTCACHE_REPLAY_H

#include "format.h"
#include "index.h"

/* One that stands at the end. */
struct oc_intent {
	oc_slot_t slot;
	oc_slot_t old;		/* finish: the clean slot that it ends, or OC_NO_SLOT */
	oc_block_t block;
	u32 crc;		/* of the sectors in valid */
	u8 valid;
	bool extends;		/* the slot holds other sectors of the block, dirty */
	bool landed;		/* the caller: the data is there */
};

/* Checksum of the sectors in @in->valid.  @data: the whole slot. */
u32 oc_intent_crc(const struct oc_intent *in, const void *data);

struct oc_replay {
	const struct oc_super *sb;
	struct oc_slots *slots;
	u64 *page_lsn;		/* one a page */
	u64 *page_seq;
	unsigned long *place;	/* bit: which place of the page is current */
	unsigned long *touched;	/* bit: replay changed the page, the table is behind */
	u64 offset;		/* of the next block, bytes from journal_start */
	u64 lsn;
	u64 epoch;		/* of the last block */
	u64 used;		/* bytes of journal replayed */
	u64 nr_records;
	struct oc_intent *intent;
	u32 nr_intents;
};

int oc_replay_init(struct oc_replay *rp, const struct oc_super *sb, struct oc_slots *slots);
void oc_replay_exit(struct oc_replay *rp);

/*
 * @place0, @place1: the two places as read (NULL: could not be read).
 * Return: 0 or -EBADMSG: neither is whole; -EUCLEAN: the newer one is senseless.
 */
int oc_replay_page(struct oc_replay *rp, u32 nr, const struct optcache_table_page *place0,
		   const struct optcache_table_page *place1);

/*
 * @buf: the journal from rp->offset on, @avail bytes (up to the end of the ring is enough).
 * Return: 0 and rp->offset moved on (wrapping); -ENODATA at the journal's end;
 * -EUCLEAN: a sealed block with senseless records.
 */
int oc_replay_block(struct oc_replay *rp, const void *buf, size_t avail);

/* Return: 0 or -ENOMEM.  Calls cond_resched(). */
int oc_replay_collect(struct oc_replay *rp);

/* The data of @in: is it what was written?  @data: the whole slot. */
static inline bool oc_intent_landed(const struct oc_intent *in, const void *data)
{
	return oc_intent_crc(in, data) == in->crc;
}

/*
 * @ix: initialised, empty.  Calls cond_resched().  Slots of INTENTs become SEALED if their
 * data landed, or DEAD if not; those that they extend are SEALED either way.  The caller
 * appends the records that say so: UNMAP of @old if it is one, and MAP of what is SEALED
 * or UNMAP of what is DEAD.
 * Return: 0 or -EUCLEAN: two slots claim one block (@bad_slot says which), or a page
 * stands for records beyond the journal's end (@bad_slot is OC_NO_SLOT).
 */
int oc_replay_finish(struct oc_replay *rp, struct oc_index *ix, oc_slot_t *bad_slot);

#endif /* _OPTCACHE_REPLAY_H */
