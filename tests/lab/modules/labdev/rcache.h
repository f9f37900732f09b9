/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LABDEV_RCACHE_H
#define _LABDEV_RCACHE_H

#include <linux/types.h>

#define LAB_SEGMENTS	8

/* What a disk's buffer still holds of earlier reads; the data is the store's. */
struct lab_rcache {
	u64 clock;
	struct lab_segment {
		u64 start, end, used;
	} segment[LAB_SEGMENTS];
};

void lab_rcache_keep(struct lab_rcache *c, u64 start, u64 end);
bool lab_rcache_holds(struct lab_rcache *c, u64 start, u64 end);
void lab_rcache_drop(struct lab_rcache *c, u64 start, u64 end);

#endif
