/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bounce buffers: the one copy that origin, cache and caller agree on.  The caller's
 * pages may change under I/O, of a read as well as of a write, and are gone when the
 * bio has ended; nothing that enters the cache may come from them.
 *
 * A fixed pool made at start (G6); whoever gets none goes without the cache.
 */
#ifndef _OC_BUFFER_H
#define _OC_BUFFER_H

#include "io.h"

struct oc_buffer {
	struct list_head list;
	struct oc_core *core;
	struct oc_io *io;		/* the bio to be completed */
	struct oc_range range;		/* fill.c: the lock taken over from the reader */
	sector_t sector;		/* of the data, relative to the target */
	unsigned int sectors;
	oc_slot_t slot;			/* where run goes */
	u32 first, run;			/* blocks of the buffer being written to the cache */
	u64 gen;			/* origin writes to be flushed before it may be recorded */
	atomic_t pending;
	blk_status_t origin_status;
	blk_status_t cache_status;
	struct work_struct work;
	u32 nr;				/* pages */
	struct page **page;
};

struct oc_buffer_pool {
	spinlock_t lock;		/* idle, free; interrupts off */
	struct list_head idle;		/* oc_buffer */
	struct list_head free;		/* pages by their lru */
	u32 nr_free;
	u32 nr_pages;
	u32 nr_idle;
	u32 nr_buffers;
	u32 max;			/* pages of the largest buffer */
	wait_queue_head_t wait;		/* all are idle */
	struct oc_buffer *buffer;
	struct page **page;		/* max a buffer */
};

int oc_buffers_init(struct oc_core *core);
void oc_buffers_exit(struct oc_core *core);
size_t oc_buffers_bytes(const struct oc_core *core);

/* Wait until nobody uses a buffer.  Sleeps. */
void oc_buffers_drain(struct oc_core *core);

/*
 * A buffer for the data of @io as it stands, or for all of the blocks it touches.
 * Any context.  NULL if none is free.
 */
struct oc_buffer *oc_buffer_get(struct oc_io *io, bool whole_blocks);
/* Sectors from the start of @io on that a buffer has room for. */
unsigned int oc_buffer_room(const struct oc_io *io);
void oc_buffer_copy_in(struct oc_buffer *b);	/* from the bio of b->io */
void oc_buffer_copy_out(struct oc_buffer *b);	/* to it */
void oc_buffer_put(struct oc_buffer *b);

/* Sectors, and where they start in it, of what block @i of the buffer holds. */
unsigned int oc_buffer_part(const struct oc_buffer *b, u32 i, unsigned int *off);

/* Add blocks @first .. @first + @nr - 1 of the buffer to @bio.  Return: sector of the first. */
sector_t oc_buffer_add(const struct oc_buffer *b, struct bio *bio, u32 first, u32 nr);

/* Install what was written to slots b->slot .. as FRESH, and promise it to the journal. */
void oc_buffer_install(struct oc_buffer *b);

#endif /* _OC_BUFFER_H */
