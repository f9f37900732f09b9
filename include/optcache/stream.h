/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sequential streams: recognises up to OC_STREAMS interleaved sequential readers
 * or writers by the sector where each will go on.
 *
 * A run of writes that somebody waits for in between is no stream, however straight:
 * the log of a file system or of a database is written sector after sector, with a
 * flush (or as FUA) after every few, and on the disk each of these would cost a
 * rotation.  So a flush starts all runs of writes anew.
 */
#ifndef _OPTCACHE_STREAM_H
#define _OPTCACHE_STREAM_H

#include "types.h"

#define OC_STREAMS		128
#define OC_STREAM_HASH		256

struct oc_stream {
	u64 next_sector;
	u64 sectors;		/* so far in a row */
	u32 flushes;		/* what streams->flushes was at the last request */
	u16 hash_next;		/* 1-based index, 0 = end */
	u16 lru_prev;
	u16 lru_next;
};

struct oc_streams {
	u32 flushes;		/* wraps; no lock */
	spinlock_t lock;	/* all below; misses only, interrupts off */
	struct oc_stream stream[OC_STREAMS + 1];	/* [0]: head of the LRU ring */
	u16 hash[OC_STREAM_HASH];
};

void oc_streams_init(struct oc_streams *st);

/* A flush or a FUA write.  Any context; one count lost among several at a time does no harm. */
static inline void oc_stream_flush(struct oc_streams *st)
{
	WRITE_ONCE(st->flushes, READ_ONCE(st->flushes) + 1);
}

/*
 * Sectors so far of the stream that would go on at @sector, 0 if there is none.
 * Changes nothing.  Any context.
 */
u64 oc_stream_peek(struct oc_streams *st, u64 sector, bool write);

/*
 * oc_stream_add - one request of @sectors at @sector
 * Return: sectors read or written in a row including this request.  Any context.
 */
u64 oc_stream_add(struct oc_streams *st, u64 sector, u32 sectors, bool write);

#endif /* _OPTCACHE_STREAM_H */
