// SPDX-License-Identifier: GPL-2.0
/*
 * Power and presence.  A device that is not LAB_UP answers every I/O with an
 * error, but only after fail_us: in simulated time an instant error would let
 * whoever retries spin for ever.
 *
 * A cut of several devices takes one after the other without letting time pass
 * for the caller: nobody hears of the first one's death before the last is
 * dead.  lab_power_lock serializes cuts; a device's lock nests inside it.
 */
#include <linux/export.h>

#include "compat.h"
#include "cuts.h"
#include "labdev.h"
#include "power.h"

static DEFINE_SPINLOCK(lab_power_lock);
static struct lab_cut_order lab_armed;
static struct hrtimer lab_cut_timer;
static u64 lab_cuts, lab_last_cut_ns;

/* Nobody is inside, and while the device is down nobody reaches the store. */
static bool lab_idle(struct lab_dev *dev)
{
	lockdep_assert_held(&dev->lock);
	smp_mb();			/* dev->state before dev->users */
	return !atomic_read(&dev->users);
}

/* All I/O in flight fails. */
static void lab_go_down(struct lab_dev *dev, enum lab_state to)
{
	u64 now = ktime_get_ns();
	struct lab_io *io;

	lockdep_assert_held(&dev->lock);
	WRITE_ONCE(dev->state, to);
	list_for_each_entry(io, &dev->inflight, all) {
		list_del_init(&io->node);
		lab_io_fail(dev, io, now);
	}
	if (dev->engine->forget)
		dev->engine->forget(dev);
	lab_rearm(dev, LAB_NEVER);
}

static void lab_cut_one(struct lab_dev *dev, u64 seed)
{
	spin_lock(&dev->lock);
	if (dev->state == LAB_UP) {
		lab_lose_power(dev, seed);
		lab_go_down(dev, LAB_CUT);
	}
	spin_unlock(&dev->lock);
}

static void lab_forget_armed(void)
{
	unsigned int i;

	lockdep_assert_held(&lab_power_lock);
	for (i = 0; i < lab_armed.nr; i++)
		WRITE_ONCE(lab_armed.devs[i]->armed, false);
	lab_armed.nr = 0;
}

static void lab_cut_all(const struct lab_cut_order *order)
{
	unsigned int i;

	lockdep_assert_held(&lab_power_lock);
	lab_last_cut_ns = ktime_get_ns();
	/* first: what ends from here on has not ended before the cut */
	WRITE_ONCE(lab_cuts, lab_cuts + 1);
	for (i = 0; i < order->nr; i++)
		lab_cut_one(order->devs[i], order->seed);
}

u64 lab_power_cuts(u64 *when)
{
	if (when)
		*when = READ_ONCE(lab_last_cut_ns);
	return READ_ONCE(lab_cuts);
}
EXPORT_SYMBOL_GPL(lab_power_cuts);

static enum hrtimer_restart lab_cut_fire(struct hrtimer *timer)
{
	unsigned long flags;

	spin_lock_irqsave(&lab_power_lock, flags);
	lab_cut_all(&lab_armed);
	lab_forget_armed();
	spin_unlock_irqrestore(&lab_power_lock, flags);
	return HRTIMER_NORESTART;
}

void lab_power_cut(const struct lab_cut_order *order)
{
	unsigned long flags;

	spin_lock_irqsave(&lab_power_lock, flags);
	lab_cut_all(order);
	spin_unlock_irqrestore(&lab_power_lock, flags);
}

/* Replaces an armed cut that has not come yet. */
void lab_power_arm(const struct lab_cut_order *order)
{
	unsigned long flags;
	unsigned int i;

	lab_power_disarm();
	spin_lock_irqsave(&lab_power_lock, flags);
	lab_armed = *order;
	for (i = 0; i < order->nr; i++)
		WRITE_ONCE(order->devs[i]->armed, true);
	if (!order->after_ios)
		hrtimer_start(&lab_cut_timer, ns_to_ktime(order->delay_ns),
			      HRTIMER_MODE_REL);
	spin_unlock_irqrestore(&lab_power_lock, flags);
}

void lab_power_disarm(void)
{
	unsigned long flags;

	hrtimer_cancel(&lab_cut_timer);
	spin_lock_irqsave(&lab_power_lock, flags);
	lab_forget_armed();
	spin_unlock_irqrestore(&lab_power_lock, flags);
}

/* An armed device was sent a write; it may be its last. */
void lab_power_count(struct lab_dev *dev)
{
	unsigned long flags;

	spin_lock_irqsave(&lab_power_lock, flags);
	if (dev->armed && lab_armed.after_ios && !--lab_armed.after_ios) {
		if (lab_armed.delay_ns) {
			hrtimer_start(&lab_cut_timer,
				      ns_to_ktime(lab_armed.delay_ns),
				      HRTIMER_MODE_REL);
		} else {
			lab_cut_all(&lab_armed);
			lab_forget_armed();
		}
	}
	spin_unlock_irqrestore(&lab_power_lock, flags);
}

/* The device is pulled; its cache may have a battery of its own. */
void lab_vanish(struct lab_dev *dev, bool lossy, u64 seed)
{
	unsigned long flags;

	spin_lock_irqsave(&lab_power_lock, flags);
	spin_lock(&dev->lock);
	if (lossy)
		lab_lose_power(dev, seed);
	lab_go_down(dev, LAB_VANISHED);
	spin_unlock(&dev->lock);
	spin_unlock_irqrestore(&lab_power_lock, flags);
}

/*
 * Replace the content.  The device has to be down, so that new I/O does not
 * reach the pages, and past its last failing I/O, so that none is pinned.
 */
static int lab_image_load(struct lab_dev *dev)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&dev->lock, flags);
	if (dev->state == LAB_UP || !lab_idle(dev))
		ret = -EBUSY;
	else
		lab_settle_all(dev);
	spin_unlock_irqrestore(&dev->lock, flags);
	return ret ?: lab_store_load(dev);
}

static void lab_go_up(struct lab_dev *dev)
{
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	WRITE_ONCE(dev->state, LAB_UP);
	dev->writes = 0;		/* fates count from here */
	dev->random = dev->par.seed;
	spin_unlock_irqrestore(&dev->lock, flags);
}

int lab_power_up(struct lab_dev *dev, enum lab_state from, bool saved)
{
	int ret;

	if (dev->state != from)
		return -EINVAL;
	if (saved) {
		ret = lab_image_load(dev);
		if (ret)
			return ret;
	}
	lab_go_up(dev);
	return 0;
}

/* Remember the content; what is acknowledged by now counts as durable. */
int lab_image_save(struct lab_dev *dev)
{
	enum lab_state state;
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&dev->lock, flags);
	state = dev->state;
	WRITE_ONCE(dev->state, LAB_VANISHED);	/* holds off I/O meanwhile */
	if (lab_idle(dev))
		lab_settle_all(dev);
	else
		ret = -EBUSY;
	spin_unlock_irqrestore(&dev->lock, flags);
	if (!ret)
		ret = lab_store_save(dev);
	spin_lock_irqsave(&dev->lock, flags);
	WRITE_ONCE(dev->state, state);
	spin_unlock_irqrestore(&dev->lock, flags);
	return ret;
}

/* Back to the remembered content, and powered, whatever happened since. */
int lab_image_reset(struct lab_dev *dev)
{
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&dev->lock, flags);
	lab_go_down(dev, LAB_VANISHED);
	spin_unlock_irqrestore(&dev->lock, flags);
	ret = lab_image_load(dev);
	if (!ret)
		lab_go_up(dev);
	return ret;
}

void lab_power_init(void)
{
	hrtimer_setup(&lab_cut_timer, lab_cut_fire, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL);
}

void lab_power_exit(void)
{
	lab_power_disarm();
}
