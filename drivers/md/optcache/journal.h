/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The journal: mapping changes on their way to the cache device.
 *
 * Records are numbered (lsn).  A record is pending, then in the one block that is
 * being written, then durable; these are intervals of the lsn line:
 *
 *	tail_lsn <= durable_lsn <= issued_lsn <= head_lsn
 *
 * Blocks go out one at a time with PREFLUSH and FUA: what they say is about data
 * that had completed before, and a volatile cache device must have it first.
 * A commit starts whenever records wait and none is in flight.
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
struct oc_io;

enum oc_journal_phase {
	OC_JOURNAL_IDLE,
	OC_JOURNAL_WRITING,
	OC_JOURNAL_WRITTEN,
};

struct oc_journal {
	struct oc_core *core;
	spinlock_t lock;
	struct oc_record *pending;	/* ring, index lsn % pending_max */
	u32 pending_max;
	u32 reserved;			/* credits handed out */
	u64 head_lsn;			/* next record */
	u64 issued_lsn;
	u64 durable_lsn;
	u64 closed_lsn;			/* records below must not grow: a page or block has them */

	u64 size;			/* of the ring, bytes */
	u32 unit;
	u64 head_offset;		/* where the next block goes */
	u64 used;			/* bytes from the tail to head_offset */

	u64 epoch;			/* of the blocks written by this activation */
	bool epoch_durable;		/* the superblock has it; changed by the committer only */
	bool failed;
	bool fenced;			/* ... and the superblock says so, or cannot be made to */

	enum oc_journal_phase phase;
	blk_status_t status;		/* of the block written */
	void *block;			/* its buffer, one page */
	u64 block_lsn;
	u32 block_nr;
	struct bio bio;
	struct bio_vec bvec;

	struct list_head waiters;	/* oc_io, ascending lsn */
	struct list_head space_waiters;	/* oc_io */
	wait_queue_head_t wait;		/* durable_lsn moved, or failed */
	struct work_struct work;
};

int oc_journal_init(struct oc_journal *j, struct oc_core *core);
void oc_journal_exit(struct oc_journal *j);
void oc_journal_stop(struct oc_journal *j);	/* undoes oc_journal_start(), if it was called */

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

/* @io is deferred until a reservation of two credits may succeed. */
void oc_journal_wait_space(struct oc_journal *j, struct oc_io *io);

#define oc_journal_lock(j, flags)	spin_lock_irqsave(&(j)->lock, flags)

/* Starts a commit if records wait and none is under way.  lock held. */
void oc_journal_kick(struct oc_journal *j);

static inline void oc_journal_unlock(struct oc_journal *j, unsigned long flags)
	__releases(&j->lock)
{
	oc_journal_kick(j);
	spin_unlock_irqrestore(&j->lock, flags);
}

/*
 * Append one record of one slot; uses one credit.  Neighbours melt into one record.
 * lock held.
 */
void oc_journal_map(struct oc_journal *j, oc_slot_t slot, u64 word);
void oc_journal_unmap(struct oc_journal *j, oc_slot_t slot);
void oc_journal_clean(struct oc_journal *j, oc_slot_t slot);

/*
 * Everything appended so far is durable.  Takes the lock: a slot can be hit a moment
 * before its record is appended, and who wrote to it must not look in between.
 * Any context.
 */
bool oc_journal_settled(struct oc_journal *j);

enum oc_durable {
	OC_DURABLE,	/* it already is */
	OC_PENDING,	/* io was queued */
	OC_NEVER,	/* the journal has failed */
};

/*
 * oc_journal_wait_io - is all that is appended now durable?
 * If not yet, @io is continued by oc_io_continue() when it is, or with an error in
 * io->status and without OC_IO_ENDED when it never will be.  Any context.
 */
enum oc_durable oc_journal_wait_io(struct oc_journal *j, struct oc_io *io);

/* Wait until everything appended by now is durable.  Return: 0 or -EIO.  May sleep. */
int oc_journal_sync(struct oc_journal *j);

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
