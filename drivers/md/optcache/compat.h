/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the kernels differ, 6.1 to 7.x: functions with one meaning on all of them.
 *
 * HAVE_<NAME> says that probes/<name>.c compiles against the kernel at hand; Kbuild
 * asks the compiler and writes the answers to build/have.h.  Never a version number:
 * distributions and stable series take changes back.
 */
#ifndef _OC_COMPAT_H
#define _OC_COMPAT_H

#include <linux/blkdev.h>
#include <linux/device-mapper.h>
#include <linux/workqueue.h>

#include "have.h"

#if BITS_PER_LONG != 64
#error "dm-optcache needs a 64-bit kernel: a slot is one 64-bit word that changes atomically"
#endif

#if !IS_ENABLED(CONFIG_BLK_DEV_DM)
#error "dm-optcache needs a kernel with device-mapper (CONFIG_BLK_DEV_DM)"
#endif

/* For alloc_workqueue(): run on the CPU that queued the work. */
#ifdef HAVE_WQ_PERCPU
#define OC_WQ_PERCPU	WQ_PERCPU
#else
#define OC_WQ_PERCPU	0
#endif

static inline bool oc_table_writable(struct dm_target *ti)
{
#ifdef HAVE_BLK_MODE_T
	return dm_table_get_mode(ti->table) & BLK_OPEN_WRITE;
#else
	return dm_table_get_mode(ti->table) & FMODE_WRITE;
#endif
}

/*
 * Until 6.10 max_discard_sectors counts; since 6.11 the block layer computes it from
 * max_hw_discard_sectors, which has always been there.
 */
static inline void oc_limits_discard(struct queue_limits *limits, unsigned int max_sectors,
				     unsigned int granularity)
{
	limits->max_hw_discard_sectors = max_sectors;
	limits->max_discard_sectors = max_sectors;
	limits->discard_granularity = granularity;
}

#endif /* _OC_COMPAT_H */
