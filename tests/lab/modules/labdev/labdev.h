/* SPDX-License-Identifier: GPL-2.0 */
/*
 * labdev: model block devices for the lab.
 *
 * A bio that arrives becomes a struct lab_io.  The device's engine (ram,
 * optane, disk) only decides *when* it is done; io.c then moves the data, at
 * that very instant, so that a caller who scribbles on a page in flight gets
 * what he would get from hardware.  store.c holds the content, volatile.c what
 * of it a power cut may take back, power.c is the cut, faults.c breaks things.
 *
 * Locks: lab_mutex (orders.c) serializes commands, so the list of devices and
 * each device's parameters are stable under it.  dev->lock covers everything
 * that I/O touches; it is taken in hard interrupt context by the timer.  No two
 * device locks are ever held together.
 *
 * Time only passes through the one hrtimer per device: nothing polls, nothing
 * sleeps for a while, so that simulated time can jump from event to event.
 */
#ifndef _LABDEV_H
#define _LABDEV_H

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/semaphore.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "params.h"
#include "store.h"

struct dentry;
struct lab_dev;

#define LAB_NEVER	U64_MAX

enum lab_phase {
	LAB_FLUSHING,		/* the PREFLUSH part */
	LAB_MOVING,		/* the data part, or all there is to a discard */
};

/* One bio between its submission and its completion. */
struct lab_io {
	struct list_head all;		/* dev->inflight, in order of arrival */
	struct list_head node;		/* a queue of the engine, or dev->done */
	struct bio *bio;
	sector_t start, end;
	enum lab_phase phase;
	blk_status_t status;		/* set early when a fault is to hit it */
	u64 id;				/* ordinal of this write: seeds its fate */
	u64 arrived, due, delay;	/* ns; @delay by order of faults.c */
	u64 barrier;			/* flush: what it has to cover */
	u64 ticket;			/* for the engine's own use */
	unsigned long acct;
	struct list_head parts;		/* struct lab_part, ascending */
};

/* How a kind of device spends its time.  All calls are made with dev->lock. */
struct lab_engine {
	const char *name;
	bool bypass;			/* no content, no time: see ram.c */
	bool rotational;

	/* Process context, without the lock.  May be NULL. */
	int (*create)(struct lab_dev *dev);
	void (*destroy)(struct lab_dev *dev);

	/* Take over @io->phase of @io, to end in lab_io_done_at(). */
	void (*start)(struct lab_dev *dev, struct lab_io *io, u64 now);
	/* Do what is to be done by @now; the time of the next event. */
	u64 (*advance)(struct lab_dev *dev, u64 now);
	/* Power is gone: the core has taken all I/O away, forget the rest. */
	void (*forget)(struct lab_dev *dev);
	void (*show)(struct lab_dev *dev, struct seq_file *m);
};

extern const struct lab_engine lab_null, lab_ram, lab_optane, lab_disk;

enum lab_state {
	LAB_UP,
	LAB_CUT,		/* power cut; leave by "restore" */
	LAB_VANISHED,		/* removed; leave by "return" */
};

/* What a device that does not keep its promises does. */
enum lab_lie {
	LAB_LIE_FUA = 1,	/* a FUA write is like any other */
	LAB_LIE_FLUSH = 2,	/* a flush makes nothing durable */
	LAB_LIE_MISPLACE = 4,	/* now and then a write lands 4 KiB too far */
};

struct lab_stats {
	u64 reads, writes, flushes, fua, discards, errors;
	u64 sectors_read, sectors_written, sectors_discarded;
	u64 busy_ns, busy_since;
	u64 cut_kept, cut_torn, cut_lost;	/* writes, at the last cut */
};

struct lab_dev {
	struct list_head node;		/* lab_devices */
	struct lab_params par;
	const struct lab_engine *engine;
	void *model;			/* the engine's state */
	struct gendisk *disk;
	struct dentry *stat;
	struct semaphore tags;		/* commands the device accepts at once */
	atomic_t users;			/* bios inside, even before ->inflight */

	spinlock_t lock;		/* everything below */
	enum lab_state state;
	unsigned int lies;
	struct hrtimer timer;
	struct list_head inflight;	/* all I/O, in order of arrival */
	struct list_head done;		/* whose time is known, soonest first */
	struct lab_store store;
	struct list_head unstable;	/* acknowledged parts, oldest first */
	u64 unstable_bytes;
	u64 acked, writes, random;
	struct list_head faults;
	bool armed;			/* part of a cut to come, see power.c */
	u64 misplaced;			/* writes that could have been */
	struct lab_stats stats;
};

static inline bool lab_io_writes(const struct lab_io *io)
{
	return op_is_write(bio_op(io->bio)) && io->end > io->start;
}

/* Discards and write-zeroes: a write of zeroes that brings no data. */
static inline bool lab_io_zeroes(const struct lab_io *io)
{
	return bio_op(io->bio) == REQ_OP_DISCARD ||
	       bio_op(io->bio) == REQ_OP_WRITE_ZEROES;
}

/* device.c */
struct lab_dev *lab_dev_create(const struct lab_params *par);
int lab_dev_destroy(struct lab_dev *dev);

/* io.c */
void lab_submit_bio(struct bio *bio);
enum hrtimer_restart lab_timer(struct hrtimer *timer);
void lab_io_done_at(struct lab_dev *dev, struct lab_io *io, u64 when);
void lab_io_fail(struct lab_dev *dev, struct lab_io *io, u64 now);
void lab_rearm(struct lab_dev *dev, u64 next);
int __init lab_io_init(void);
void lab_io_exit(void);

/* stats.c */
void lab_stats_arrive(struct lab_dev *dev, struct lab_io *io, u64 now);
void lab_stats_leave(struct lab_dev *dev, struct lab_io *io, u64 now);
extern const struct file_operations lab_stat_fops;

/* control.c */
int lab_control_init(void);
void lab_control_exit(void);
extern struct dentry *lab_debugfs;

#endif
