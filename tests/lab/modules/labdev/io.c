// SPDX-License-Identifier: GPL-2.0
/*
 * The life of an I/O: submitted -> (flushing ->) moving -> done.
 *
 * The engine is told of each phase and answers, at once or later, with a time
 * (lab_io_done_at).  lab_pump() lets time pass up to now: it runs the engine,
 * carries out what is due and sets the timer for what comes next.
 */
#include <linux/slab.h>

#include "faults.h"
#include "labdev.h"
#include "power.h"

static struct kmem_cache *lab_io_cache;

/* Wake up at @next or for the first I/O that is due, whichever is earlier. */
void lab_rearm(struct lab_dev *dev, u64 next)
{
	struct lab_io *io;

	lockdep_assert_held(&dev->lock);
	io = list_first_entry_or_null(&dev->done, struct lab_io, node);
	if (io)
		next = min(next, io->due);
	if (next != LAB_NEVER)
		hrtimer_start(&dev->timer, ns_to_ktime(next), HRTIMER_MODE_ABS);
}

void lab_io_done_at(struct lab_dev *dev, struct lab_io *io, u64 when)
{
	struct lab_io *before;

	lockdep_assert_held(&dev->lock);
	io->due = when + io->delay;
	io->delay = 0;
	list_for_each_entry_reverse(before, &dev->done, node)
		if (before->due <= io->due)
			break;
	list_move(&io->node, &before->node);
}

void lab_io_fail(struct lab_dev *dev, struct lab_io *io, u64 now)
{
	io->status = BLK_STS_IOERR;
	io->delay = 0;
	lab_io_done_at(dev, io, now + dev->par.fail_us * NSEC_PER_USEC);
}

/* The time of @io's phase is over: true if that was the last. */
static bool lab_io_carry_out(struct lab_dev *dev, struct lab_io *io, u64 now)
{
	if (io->status)
		return true;
	if (io->phase == LAB_FLUSHING) {
		if (!(dev->lies & LAB_LIE_FLUSH))
			lab_flush(dev, io->barrier);
		if (io->end == io->start)
			return true;
		io->phase = LAB_MOVING;
		dev->engine->start(dev, io, now);
		return false;
	}
	if (!lab_io_writes(io)) {
		lab_store_read(dev, io->bio);
		return true;
	}
	lab_write(dev, io);
	if (!list_empty(&dev->faults) && !lab_io_zeroes(io))
		lab_faults_rewritten(dev, io);
	return true;
}

static void lab_pump(struct lab_dev *dev, u64 now, struct list_head *finished)
{
	u64 next = LAB_NEVER;
	struct lab_io *io;

	lockdep_assert_held(&dev->lock);
	if (dev->state == LAB_UP && dev->engine->advance)
		next = dev->engine->advance(dev, now);
	while ((io = list_first_entry_or_null(&dev->done, struct lab_io, node))) {
		if (io->due > now)
			break;
		list_del_init(&io->node);
		if (!lab_io_carry_out(dev, io, now)) {
			/* the next phase may want the engine's attention */
			if (dev->engine->advance)
				next = dev->engine->advance(dev, now);
			continue;
		}
		lab_parts_release(dev, io);
		list_move_tail(&io->all, finished);
		lab_stats_leave(dev, io, now);
	}
	lab_rearm(dev, next);
}

/* Take a tag, as blk-mq would; false: would have to wait for one. */
static bool lab_come_in(struct lab_dev *dev, struct bio *bio)
{
	if (!(bio->bi_opf & REQ_NOWAIT))
		down(&dev->tags);
	else if (down_trylock(&dev->tags))
		return false;
	atomic_inc(&dev->users);
	smp_mb__after_atomic();		/* before dev->state is looked at */
	return true;
}

static void lab_leave(struct lab_dev *dev)
{
	atomic_dec(&dev->users);
	up(&dev->tags);
}

static void lab_end_all(struct lab_dev *dev, struct list_head *finished)
{
	struct lab_io *io, *next;

	list_for_each_entry_safe(io, next, finished, all) {
		struct bio *bio = io->bio;

		bio_end_io_acct(bio, io->acct);
		if (io->status)
			bio->bi_status = io->status;
		kmem_cache_free(lab_io_cache, io);
		lab_leave(dev);
		bio_endio(bio);
	}
}

enum hrtimer_restart lab_timer(struct hrtimer *timer)
{
	struct lab_dev *dev = container_of(timer, struct lab_dev, timer);
	LIST_HEAD(finished);
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	lab_pump(dev, ktime_get_ns(), &finished);
	spin_unlock_irqrestore(&dev->lock, flags);
	lab_end_all(dev, &finished);
	return HRTIMER_NORESTART;
}

#define LAB_MISPLACED_ONE_IN	64

static bool lab_io_misplaced(struct lab_dev *dev, const struct lab_io *io)
{
	return dev->lies & LAB_LIE_MISPLACE && lab_io_writes(io) &&
	       io->end + LAB_PAGE_SECTORS <= lab_params_sectors(&dev->par) &&
	       ++dev->misplaced % LAB_MISPLACED_ONE_IN == 0;
}

static struct lab_io *lab_io_create(struct lab_dev *dev, struct bio *bio)
{
	gfp_t gfp = bio->bi_opf & REQ_NOWAIT ? GFP_NOWAIT : GFP_NOIO;
	struct lab_io *io = kmem_cache_zalloc(lab_io_cache, gfp);

	if (!io)
		return NULL;
	io->bio = bio;
	io->start = bio->bi_iter.bi_sector;
	io->end = bio_end_sector(bio);
	if (lab_io_misplaced(dev, io)) {
		io->start += LAB_PAGE_SECTORS;
		io->end += LAB_PAGE_SECTORS;
	}
	io->phase = bio->bi_opf & REQ_PREFLUSH ? LAB_FLUSHING : LAB_MOVING;
	INIT_LIST_HEAD(&io->node);
	INIT_LIST_HEAD(&io->parts);
	/* down: do not touch the store, power.c may be replacing it */
	if (READ_ONCE(dev->state) != LAB_UP) {
		io->status = BLK_STS_IOERR;
	} else if (lab_parts_create(dev, io, gfp)) {
		kmem_cache_free(lab_io_cache, io);
		return NULL;
	}
	return io;
}

static bool lab_io_misaligned(const struct lab_dev *dev, const struct lab_io *io)
{
	return (io->start | io->end) & ((dev->par.lbs >> SECTOR_SHIFT) - 1);
}

static void lab_io_enter(struct lab_dev *dev, struct lab_io *io, u64 now)
{
	lockdep_assert_held(&dev->lock);
	io->arrived = now;
	io->barrier = dev->acked;
	list_add_tail(&io->all, &dev->inflight);
	lab_stats_arrive(dev, io, now);
	if (io->status || dev->state != LAB_UP || lab_io_misaligned(dev, io)) {
		lab_io_fail(dev, io, now);
		return;
	}
	if (lab_io_writes(io))
		io->id = ++dev->writes;
	if (!list_empty(&dev->faults))
		lab_faults_apply(dev, io);
	dev->engine->start(dev, io, now);
}

void lab_submit_bio(struct bio *bio)
{
	struct lab_dev *dev = bio->bi_bdev->bd_disk->private_data;
	bool writes = op_is_write(bio_op(bio));
	LIST_HEAD(finished);
	unsigned long flags;
	struct lab_io *io;
	u64 now;

	bio = bio_split_to_limits(bio);
	if (!bio)
		return;
	if (dev->engine->bypass && READ_ONCE(dev->state) == LAB_UP &&
	    list_empty_careful(&dev->faults)) {
		bio_endio(bio);
		return;
	}
	if (!lab_come_in(dev, bio)) {
		bio_wouldblock_error(bio);
		return;
	}
	io = lab_io_create(dev, bio);
	if (!io) {
		lab_leave(dev);
		if (bio->bi_opf & REQ_NOWAIT)
			bio_wouldblock_error(bio);
		else
			bio_io_error(bio);
		return;
	}
	io->acct = bio_start_io_acct(bio);

	spin_lock_irqsave(&dev->lock, flags);
	now = ktime_get_ns();
	lab_io_enter(dev, io, now);
	lab_pump(dev, now, &finished);
	spin_unlock_irqrestore(&dev->lock, flags);
	lab_end_all(dev, &finished);

	if (READ_ONCE(dev->armed) && writes)
		lab_power_count(dev);
}

int __init lab_io_init(void)
{
	lab_io_cache = KMEM_CACHE(lab_io, 0);
	return lab_io_cache ? 0 : -ENOMEM;
}

void lab_io_exit(void)
{
	kmem_cache_destroy(lab_io_cache);
}
