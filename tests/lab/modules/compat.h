/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Everything in the lab's modules that depends on the kernel: 6.1 to 7.x.
 */
#ifndef _LAB_COMPAT_H
#define _LAB_COMPAT_H

#include <linux/blkdev.h>
#include <linux/hrtimer.h>

#ifndef LAB_HAVE_HRTIMER_SETUP	/* before 6.13; the old pair is gone in 6.15 */
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#endif

/* What a model tells the block layer about itself. */
struct lab_limits {
	unsigned int lbs, pbs;		/* bytes */
	unsigned int max_sectors;	/* of a read or a write */
	unsigned int discard_sectors;	/* 0: no discard */
	bool write_cache, rotational;
};

/* A bio-based disk with these limits, or an ERR_PTR. */
static inline struct gendisk *lab_alloc_disk(const struct lab_limits *l)
{
#ifdef BLK_FEAT_WRITE_CACHE	/* 6.11: all limits at allocation */
	struct queue_limits q = {
		.logical_block_size = l->lbs,
		.physical_block_size = l->pbs,
		.io_min = l->pbs,
		.max_hw_sectors = l->max_sectors,
		.max_hw_discard_sectors = l->discard_sectors,
		.max_write_zeroes_sectors = l->discard_sectors,
		.discard_granularity = l->discard_sectors ? l->pbs : 0,
		.features = BLK_FEAT_NOWAIT | BLK_FEAT_IO_STAT,
	};

	if (l->write_cache)
		q.features |= BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA;
	if (l->rotational)
		q.features |= BLK_FEAT_ROTATIONAL;
	return blk_alloc_disk(&q, NUMA_NO_NODE);
#else
	struct gendisk *disk = blk_alloc_disk(NUMA_NO_NODE);
	struct request_queue *q;

	if (!disk)
		return ERR_PTR(-ENOMEM);
	q = disk->queue;
	blk_queue_logical_block_size(q, l->lbs);
	blk_queue_physical_block_size(q, l->pbs);
	blk_queue_io_min(q, l->pbs);
	blk_queue_max_hw_sectors(q, l->max_sectors);
	blk_queue_max_discard_sectors(q, l->discard_sectors);
	blk_queue_max_write_zeroes_sectors(q, l->discard_sectors);
	if (l->discard_sectors)
		q->limits.discard_granularity = l->pbs;
	blk_queue_write_cache(q, l->write_cache, l->write_cache);
	blk_queue_flag_set(QUEUE_FLAG_NOWAIT, q);
	if (!l->rotational)
		blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
	return disk;
#endif
}

#endif
