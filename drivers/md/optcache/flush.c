// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flushes.  A flush is done when
 *	- the records that writes completed before it depend on are durable,
 *	- the cache device has been flushed after them, if it has a volatile cache,
 *	- the origin has been flushed, if a write reached it since its last flush.
 *
 * As long as the origin owes nothing, the bio waits for the journal, often for nothing, and
 * goes to the cache device, if that has a volatile cache.  Otherwise a worker serves all
 * flushes that wait as one group: those that come meanwhile form the next group, because
 * what completes while a flush is under way is not covered by it.
 *
 * Does the origin owe a flush?  origin_state counts its completed writes, and keeps
 * what that count was when the last successful flush was sent.  What write-back wrote
 * is no user's concern: it stays dirty in the cache until write-back has flushed it.
 *
 * flush_lock protects core->flushing and flush_wanted; any context.
 */
#include "io.h"
#include "trace.h"

#include <linux/device-mapper.h>

static bool origin_clean(struct oc_core *core)
{
	const struct oc_origin *o = &core->origin_state;

	return atomic64_read(&o->user_writes) == READ_ONCE(o->user_flushed) &&
	       !READ_ONCE(o->user_error);
}

void oc_flush_queue(struct oc_io *io)
{
	struct oc_core *core = io->core;
	unsigned long flags;

	io->kind = OC_IO_IDLE;
	spin_lock_irqsave(&core->flush_lock, flags);
	list_add_tail(&io->list, &core->flushing);
	spin_unlock_irqrestore(&core->flush_lock, flags);
	queue_work(core->bg_wq, &core->flush_work);
}

/* The journal is durable as far as needed: the device's own cache is what is left. */
static int flush_cache(struct oc_io *io)
{
	struct oc_core *core = io->core;

	if (!bdev_write_cache(core->cache)) {
		oc_io_finish(io, BLK_STS_OK);
		return DM_MAPIO_SUBMITTED;
	}
	io->lsn = oc_journal_flushing(&core->journal);
	bio_set_dev(io->bio, core->cache);
	return DM_MAPIO_REMAPPED;
}

int oc_flush_map(struct oc_io *io)
{
	struct oc_core *core = io->core;

	oc_count(core, flushes);
	trace_optcache_flush(io);
	oc_stream_flush(&core->streams);
	oc_intent_expect(core);
	io->status = BLK_STS_OK;
	if (!origin_clean(core)) {
		oc_flush_queue(io);
		return DM_MAPIO_SUBMITTED;
	}
	io->kind = OC_IO_FLUSH;
	/* nothing but to answer when the journal is durable */
	if (!bdev_write_cache(core->cache))
		io->flags |= OC_IO_FINISH;
	switch (oc_journal_wait_done(&core->journal, io)) {
	case OC_DURABLE:
		if (!oc_failed(core))
			return flush_cache(io);
		fallthrough;
	case OC_NEVER:
		oc_flush_queue(io);
		fallthrough;
	case OC_PENDING:
		break;
	}
	return DM_MAPIO_SUBMITTED;
}

int oc_flush_route(struct oc_io *io)
{
	if (!io->status)
		return flush_cache(io);
	io->status = BLK_STS_OK;	/* perhaps nothing is lost by it */
	oc_flush_queue(io);
	return DM_MAPIO_SUBMITTED;
}

void oc_origin_flush_kick(struct oc_core *core)
{
	WRITE_ONCE(core->flush_wanted, true);
	queue_work(core->bg_wq, &core->flush_work);
}

int oc_origin_flush(struct oc_core *core)
{
	struct oc_origin *o = &core->origin_state;
	u64 user = atomic64_read(&o->user_writes);
	u64 all = atomic64_read(&o->writes);
	int r;

	oc_count(core, origin_flushes);
	r = blkdev_issue_flush(core->origin);
	if (r) {
		/* the device may say it only once, and somebody's data may be gone */
		if (READ_ONCE(o->user_flushed) != user)
			WRITE_ONCE(o->user_error, r);
		oc_fresh_lost(core, atomic64_read(&o->writes));
		oc_count(core, origin_errors);
		oc_core_degrade(core, OC_DEGRADED, "flushing the origin failed");
		return r;
	}
	/* flush_work and write-back both come here; never go back */
	mutex_lock(&core->flushed_lock);
	WRITE_ONCE(o->flushed, max(o->flushed, all));
	WRITE_ONCE(o->user_flushed, max(o->user_flushed, user));
	mutex_unlock(&core->flushed_lock);
	oc_fresh_settle(core);
	return 0;
}

/* What a flush of the cache device has told the first of the group whom it failed. */
static int told(const struct list_head *group)
{
	const struct oc_io *io;

	list_for_each_entry(io, group, list)
		if (io->status)
			return blk_status_to_errno(io->status);
	return 0;
}

static blk_status_t flush_all(struct oc_core *core, bool wanted, const struct list_head *group)
{
	int r = 0, r2 = 0;
	u64 lsn;

	if (!origin_clean(core) || wanted)
		r = oc_origin_flush(core);
	if (list_empty(group))
		return BLK_STS_OK;
	r = xchg(&core->origin_state.user_error, 0) ?: r;
	r2 = oc_journal_sync_done(&core->journal);
	lsn = oc_journal_flushing(&core->journal);
	if (!r2)
		r2 = blkdev_issue_flush(core->cache);
	/* a second one may go well, and what the first has lost is lost */
	if (!r2)
		r2 = told(group);
	if (!r2) {
		oc_journal_covered(&core->journal, lsn);
	} else {
		oc_count(core, cache_errors);
		/* if nothing is dirty the origin alone holds everything */
		if (core->journal.failed ? !core->stuck_dirty :
					   !atomic64_read(&core->slots.nr_dirty))
			r2 = 0;
	}
	return errno_to_blk_status(r ? r : r2);
}

void oc_flush_work(struct work_struct *work)
{
	struct oc_core *core = container_of(work, struct oc_core, flush_work);
	struct oc_io *io, *next;
	blk_status_t status;
	LIST_HEAD(group);
	bool wanted;

	wanted = xchg(&core->flush_wanted, false);
	spin_lock_irq(&core->flush_lock);
	list_splice_init(&core->flushing, &group);
	spin_unlock_irq(&core->flush_lock);

	status = flush_all(core, wanted, &group);
	list_for_each_entry_safe(io, next, &group, list) {
		list_del_init(&io->list);
		oc_io_finish(io, status);
	}
}
