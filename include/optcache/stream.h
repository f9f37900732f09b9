/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sequential streams: recognises up to OC_STREAMS interleaved sequential readers
 * or writers by the sector where each will go on.
 * The lock protects everything; misses only, interrupts off.
 */
#ifndef _OPTCACHE_STREAM_H
#define _OPTCACHE_STREAM_H

#include "types.h"

#define OC_STREAMS		128
#define OC_STREAM_HASH		256

struct oc_stream {
	u64 next_sector;
	u64 sectors;		/* so far in a row */
	u16 hash_next;		/* 1-based index, 0 = end */
	u16 lru_prev;
	u16 lru_next;
};

struct oc_streams {
	spinlock_t lock;	/* all below */
	struct oc_stream stream[OC_STREAMS + 1];	/* [0]: head of the LRU ring */
	u16 hash[OC_STREAM_HASH];
};

void oc_streams_init(struct oc_streams *st);

/*
 * Sectors so far of the stream that would go on at @sector, 0 if there is none.
 * Changes nothing.  Any context.
 */
u64 oc_stream_peek(struct oc_streams *st, u64 sector);

/*
 * oc_stream_add - one request of @sectors at @sector
 * Return: sectors read or written in a row including this request.  Any context.
 */
u64 oc_stream_add(struct oc_streams *st, u64 sector, u32 sectors);

#endif /* _OPTCACHE_STREAM_H */
