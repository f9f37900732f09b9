/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The journal: mapping changes on their way to the cache device.
 *
 * Records are numbered (lsn).  A record is pending, then in a block that is being
 * written, then durable; these are intervals of the lsn line:
 *
 *	tail_lsn <= durable_lsn <= issued_lsn <= head_lsn
 *
 * Some blocks are in flight at a time.  Whatever order the device answers in,
 * they are finished in theirs: durable_lsn never passes a block that may be lost.
 *
 * A record is wanted (somebody will wait for it) or not.  Wanted ones are committed
 * at once, as long as a block is idle; the others go along, or alone after a moment.
 *
 * An INTENT goes out in parallel with the data it speaks of.  It is open until the MAP
 * that follows it, or the UNMAP that takes it back, is appended.
 *
 * Space: whoever will append reserves a credit a slot first.  A reservation is
 * granted only if the ring has a unit free for every record outstanding, so an
 * append never fails and never waits, and the checkpoint that makes room can
 * always write out what is pending.
 *
 * lock protects all fields and, more than that, the *recorded state* of the slots:
 * a change of what the journal knows about a slot and the append of its record are
 * one step under it.  So a table page encoded under the lock equals exactly the
 * records below head_lsn.  Interrupts off; outermost of the spinlocks.
 */
#ifndef _OC_JOURNAL_H
#define _OC_JOURNAL_H

#include <optcache/format.h>
#include <linux/bio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct oc_core;
struct oc_intent;
struct oc_io;

/*
 * Blocks in flight.  More of them take channels of the device from the data: with 16 writers
 * that flush after each write, 3 is best on a P4800X, and good on smaller modules.
 */
#define OC_JOURNAL_DEPTH	3

/* A block on its way to the device. */
struct oc_journal_block {
	struct oc_journal *journal;
	void *data;			/* one page */
	u64 lsn;			/* of its first record */
	u64 covers;			/* its PREFLUSH: data of records below is durable with it */
	u32 nr;
	u32 slots;			/* that its records speak of */
	bool answered;
	blk_status_t status;
	struct bio bio;
	struct bio_vec bvec;
};

struct oc_journal {
	struct oc_core *core;
	spinlock_t lock;
	struct oc_record *pending;	/* ring, index lsn % pending_max */
	u32 pending_max;
	u32 reserved;			/* credits handed out */
	u64 head_lsn;			/* next record */
	u64 wanted_lsn;			/* commit up to here now */
	u32 waiting;			/* INTENTs appended since the last block */
	u64 issued_lsn;
	u64 durable_lsn;
	u64 closed_lsn;			/* records below must not grow: a page or block has them */
	u64 done_lsn;			/* completed writes depend on the records below */
	u64 decided_lsn;		/* INTENTs that are void stand until these are durable */

	/* The volatile cache of the cache device */
	u64 flush_lsn;			/* some record below speaks of data that may be in it */
	u64 covered_lsn;		/* data of records below has been flushed */

	u64 size;			/* of the ring, bytes */
	u32 unit;
	u64 head_offset;		/* where the next block goes */
	u64 used;			/* bytes from the tail to head_offset */

	u64 epoch;			/* of the blocks written by this activation */
	bool epoch_durable;		/* the superblock has it */
	bool failed;
	bool fenced;			/* ... and the superblock says so, or cannot be made to */

	u32 open[2];			/* writes with open INTENTs, by generation */
	u8 generation;			/* of those that begin now: 0 or 1 */

	struct oc_journal_block *block;	/* OC_JOURNAL_DEPTH of them */
	u32 oldest;			/* of those in flight */
	u32 in_flight;
	bool finishing;			/* somebody is applying the oldest one */
	bool broken;			/* a block was lost: those behind it do not count */

	struct list_head waiters;	/* oc_io, ascending lsn */
	struct list_head space_waiters;	/* oc_io */
	wait_queue_head_t wait;		/* durable_lsn or open moved, none in flight, failed */
	struct work_struct work;
	struct delayed_work lazy;	/* commits what is not wanted */
};

int oc_journal_init(struct oc_journal *j, struct oc_core *core);
void oc_journal_exit(struct oc_journal *j);
void oc_journal_stop(struct oc_journal *j);	/* undoes oc_journal_start(), if it was called */
size_t oc_journal_bytes(const struct oc_journal *j);

/* Set where the ring stands after replay; before the first reservation.  Return: 0 or -ENOMEM. */
int oc_journal_start(struct oc_journal *j, u64 lsn, u64 offset, u64 used);

/**
 * oc_journal_reserve - credits for up to @want appends
 * @least: fewer than this are of no use
 *
 * Return: credits granted, @least..@want, or 0.  Any context.
 */
u32 oc_journal_reserve(struct oc_journal *j, u32 least, u32 want);
/* Gives @n credits back (0: the tail has moved) and wakes who waits for space. */
void oc_journal_unreserve(struct oc_journal *j, u32 n);

/* Nobody needs more at least than a new block does: INTENT, UNMAP, MAP. */
#define OC_CREDITS_MAX	3

/* @io is deferred until a reservation of that many credits may succeed. */
void oc_journal_wait_space(struct oc_journal *j, struct oc_io *io);

#define oc_journal_lock(j, flags)	spin_lock_irqsave(&(j)->lock, flags)

/* See that what is pending will be committed.  lock held. */
void oc_journal_kick(struct oc_journal *j);

static inline void oc_journal_unlock(struct oc_journal *j, unsigned long flags)
	__releases(&j->lock)
{
	oc_journal_kick(j);
	spin_unlock_irqrestore(&j->lock, flags);
}

/* Send off what is wanted, as far as blocks are idle.  Process context; does not sleep. */
void oc_journal_commit(struct oc_journal *j);

/* How to append. */
#define OC_WANTED	(1U << 0)	/* commit it now */
#define OC_UNFLUSHED	(1U << 1)	/* its data may be in the device's volatile cache */

/*
 * Append one record of one slot; uses one credit.  Neighbours melt into one record.
 * lock held.
 */
void oc_journal_map(struct oc_journal *j, oc_slot_t slot, u64 word, unsigned int how);
void oc_journal_unmap(struct oc_journal *j, oc_slot_t slot, unsigned int how);
void oc_journal_clean(struct oc_journal *j, oc_slot_t slot);
void oc_journal_intent(struct oc_journal *j, const struct oc_intent *in);

/*
 * A write begins whose INTENTs are appended now, and ends when all of them are followed by
 * MAP or UNMAP.  lock held.  Return: the generation that the other one wants to know.
 */
u8 oc_journal_open_intents(struct oc_journal *j);
void oc_journal_close_intents(struct oc_journal *j, u8 generation);

/* Wait until all INTENTs appended by now are followed by MAP or UNMAP.  One at a time; sleeps. */
void oc_journal_wait_intents(struct oc_journal *j);

/*
 * An INTENT for sectors of @slot is void, because a record is appended now that says so.
 * Until that is durable, oc_journal_undecided(), nothing may be written to them: what comes
 * could make its checksum right.  lock held.
 */
static inline void oc_journal_decided(struct oc_journal *j)
{
	j->decided_lsn = j->head_lsn;
}

/* Any context. */
static inline bool oc_journal_undecided(const struct oc_journal *j)
{
	return READ_ONCE(j->durable_lsn) < READ_ONCE(j->decided_lsn);
}

/* A write has completed, and depends on all records below @lsn.  lock held. */
static inline void oc_journal_done(struct oc_journal *j, u64 lsn)
{
	j->done_lsn = max(j->done_lsn, lsn);
}

/* Everything appended so far is durable.  Any context. */
bool oc_journal_settled(struct oc_journal *j);

enum oc_durable {
	OC_DURABLE,	/* it already is */
	OC_PENDING,	/* io was queued */
	OC_NEVER,	/* the journal has failed */
};

/*
 * oc_journal_wait_io - are the records below io->lsn durable?
 * If not yet, @io is continued by oc_io_continue() when they are, or with an error in
 * io->status and without OC_IO_ENDED when they never will be.  Any context.
 */
enum oc_durable oc_journal_wait_io(struct oc_journal *j, struct oc_io *io);
/* The same for all records appended by now, */
enum oc_durable oc_journal_wait_all(struct oc_journal *j, struct oc_io *io);
/* and for those that completed writes depend on. */
enum oc_durable oc_journal_wait_done(struct oc_journal *j, struct oc_io *io);

/*
 * Wait until everything appended by now is durable, or as much of it as completed writes
 * depend on.  Return: 0 or -EIO.  May sleep.
 */
int oc_journal_sync(struct oc_journal *j);
int oc_journal_sync_done(struct oc_journal *j);

/*
 * A flush of the cache device is going to be sent.  Return: what oc_journal_covered() wants
 * to know when it has succeeded.  Any context.
 */
u64 oc_journal_flushing(struct oc_journal *j);
void oc_journal_covered(struct oc_journal *j, u64 lsn);

/* Wait until no block is in flight, whatever became of it.  May sleep. */
void oc_journal_idle(struct oc_journal *j);

/*
 * The metadata can no longer be written.  Who waits for durability is released, with an
 * error, by oc_journal_fence(), when the superblock has been marked or cannot be:
 * only then a write may go past mappings that still stand on the device.
 */
void oc_journal_fail(struct oc_journal *j);
void oc_journal_fence(struct oc_journal *j);
/* After a failure: queue @io until then.  Return: false if that is already so. */
bool oc_journal_wait_fence(struct oc_journal *j, struct oc_io *io);

#endif /* _OC_JOURNAL_H */
