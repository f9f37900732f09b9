// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting: bios that cannot go on where they are (range locked, journal full or not
 * yet durable, all pins taken) are parked on a list of whatever they wait for and
 * come back here, to be routed by a worker that may sleep.
 *
 * defer_lock protects core->deferred, core->starving and core->arming; any context.
 */
#include "io.h"
#include "trace.h"

#include <linux/device-mapper.h>

void oc_defer(struct oc_io *io)
{
	struct oc_core *core = io->core;
	unsigned long flags;

	trace_optcache_defer(io);
	io->bio->bi_opf &= ~REQ_NOWAIT;
	spin_lock_irqsave(&core->defer_lock, flags);
	list_add_tail(&io->list, &core->deferred);
	spin_unlock_irqrestore(&core->defer_lock, flags);
	queue_work(core->wq, &core->defer_work);
}

void oc_io_continue(struct oc_io *io)
{
	if (io->flags & OC_IO_FINISH)
		oc_io_finish(io, io->status);
	else
		oc_defer(io);
}

bool oc_wait_armed(struct oc_io *io)
{
	struct oc_core *core = io->core;
	unsigned long flags;
	bool wait;

	spin_lock_irqsave(&core->defer_lock, flags);
	wait = !core->armed;
	if (wait) {
		io->bio->bi_opf &= ~REQ_NOWAIT;
		list_add_tail(&io->list, &core->arming);
	}
	spin_unlock_irqrestore(&core->defer_lock, flags);
	if (wait)
		queue_work(core->bg_wq, &core->arm_work);
	return wait;
}

void oc_let_armed(struct oc_core *core)
{
	spin_lock_irq(&core->defer_lock);
	WRITE_ONCE(core->armed, true);
	list_splice_tail_init(&core->arming, &core->deferred);
	spin_unlock_irq(&core->defer_lock);
	queue_work(core->wq, &core->defer_work);
}

void oc_refuse_armed(struct oc_core *core)
{
	struct oc_io *io, *next;
	LIST_HEAD(list);

	spin_lock_irq(&core->defer_lock);
	list_splice_init(&core->arming, &list);
	spin_unlock_irq(&core->defer_lock);
	list_for_each_entry_safe(io, next, &list, list) {
		list_del_init(&io->list);
		oc_io_finish(io, BLK_STS_IOERR);
	}
}

void oc_starve(struct oc_io *io)
{
	struct oc_core *core = io->core;
	unsigned long flags;

	io->bio->bi_opf &= ~REQ_NOWAIT;
	spin_lock_irqsave(&core->defer_lock, flags);
	list_add_tail(&io->list, &core->starving);
	WRITE_ONCE(core->starved, true);
	spin_unlock_irqrestore(&core->defer_lock, flags);
	/*
	 * Pairs with the atomic that drops a pin before starved is read: either its
	 * owner sees starved, or we see that the pin is gone.
	 */
	smp_mb();
}

void oc_feed(struct oc_core *core)
{
	unsigned long flags;

	spin_lock_irqsave(&core->defer_lock, flags);
	WRITE_ONCE(core->starved, false);
	list_splice_tail_init(&core->starving, &core->deferred);
	spin_unlock_irqrestore(&core->defer_lock, flags);
	queue_work(core->wq, &core->defer_work);
}

static void range_granted(struct oc_range *range)
{
	struct oc_io *io = container_of(range, struct oc_io, range);

	io->flags |= OC_IO_LOCKED;
	oc_defer(io);
}

bool oc_io_lock(struct oc_io *io)
{
	struct oc_core *core = io->core;
	struct bio *bio = io->bio;

	io->range.first = from_oblock(oc_sector_block(bio->bi_iter.bi_sector));
	io->range.nr = oc_nr_blocks(bio->bi_iter.bi_sector, bio_sectors(bio));
	io->range.grant = range_granted;

	if (!oc_range_lock(&core->ranges, &io->range)) {
		oc_count(core, deferred);
		return false;
	}
	io->flags |= OC_IO_LOCKED;
	return true;
}

void oc_io_unlock(struct oc_io *io)
{
	if (!(io->flags & OC_IO_LOCKED))
		return;
	io->flags &= ~OC_IO_LOCKED;
	oc_range_unlock(&io->core->ranges, &io->range);
}

static void defer_worker(struct work_struct *work)
{
	struct oc_core *core = container_of(work, struct oc_core, defer_work);
	struct oc_io *io, *next;
	LIST_HEAD(list);

	spin_lock_irq(&core->defer_lock);
	list_splice_init(&core->deferred, &list);
	spin_unlock_irq(&core->defer_lock);

	list_for_each_entry_safe(io, next, &list, list) {
		list_del_init(&io->list);
		if (oc_route(io, false) == DM_MAPIO_REMAPPED)
			submit_bio_noacct(io->bio);
	}
}

void oc_defer_init(struct oc_core *core)
{
	spin_lock_init(&core->defer_lock);
	INIT_LIST_HEAD(&core->deferred);
	INIT_LIST_HEAD(&core->starving);
	INIT_LIST_HEAD(&core->arming);
	INIT_WORK(&core->defer_work, defer_worker);
}
