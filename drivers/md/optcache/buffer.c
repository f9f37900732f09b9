// SPDX-License-Identifier: GPL-2.0-only
/* Bounce buffers; see buffer.h. */
#include "buffer.h"

#include <linux/highmem.h>

/* Pages: half a byte a slot, between these. */
#define OC_BUFFER_PAGES_MIN	32
#define OC_BUFFER_PAGES_MAX	1024
#define OC_BUFFERS_MAX		128

static struct oc_buffer *take(struct oc_buffer_pool *pool, u32 nr)
{
	struct oc_buffer *b = NULL;
	unsigned long flags;
	struct page *page;

	spin_lock_irqsave(&pool->lock, flags);
	if (pool->nr_free < nr || list_empty(&pool->idle))
		goto out;
	b = list_first_entry(&pool->idle, struct oc_buffer, list);
	list_del_init(&b->list);
	pool->nr_idle--;
	pool->nr_free -= nr;
	for (b->nr = 0; b->nr < nr; b->nr++) {
		page = list_first_entry(&pool->free, struct page, lru);
		list_del(&page->lru);
		b->page[b->nr] = page;
	}
out:
	spin_unlock_irqrestore(&pool->lock, flags);
	return b;
}

void oc_buffer_put(struct oc_buffer *b)
{
	struct oc_buffer_pool *pool = b->core->buffers;
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	pool->nr_free += b->nr;
	while (b->nr)
		list_add(&b->page[--b->nr]->lru, &pool->free);
	list_add(&b->list, &pool->idle);
	pool->nr_idle++;
	if (pool->nr_idle == pool->nr_buffers)
		wake_up_all(&pool->wait);
	spin_unlock_irqrestore(&pool->lock, flags);
}

/* Between the buffer and the pages of @bio that @at describes. */
static void copy(struct oc_buffer *b, struct bio *bio, const struct bvec_iter *at, bool in)
{
	sector_t base = round_down(b->sector, OPTCACHE_SECTORS_PER_BLOCK);
	unsigned int pos = (at->bi_sector - base) << SECTOR_SHIFT, n, off, len;
	struct bvec_iter iter;
	struct bio_vec bv;
	void *theirs, *ours;

	__bio_for_each_segment(bv, bio, iter, *at) {
		theirs = bvec_kmap_local(&bv);
		for (n = 0; n < bv.bv_len; n += len, pos += len) {
			off = pos & (OPTCACHE_BLOCK_SIZE - 1);
			len = min_t(unsigned int, bv.bv_len - n, OPTCACHE_BLOCK_SIZE - off);
			ours = kmap_local_page(b->page[pos >> OPTCACHE_BLOCK_SHIFT]);
			if (in)
				memcpy(ours + off, theirs + n, len);
			else
				memcpy(theirs + n, ours + off, len);
			kunmap_local(ours);
		}
		kunmap_local(theirs);
		if (!in)
			flush_dcache_page(bv.bv_page);
	}
}

struct oc_buffer *oc_buffer_get(struct oc_io *io, bool whole_blocks)
{
	const struct bvec_iter *iter = &io->bio->bi_iter;
	sector_t start = iter->bi_sector, end = bio_end_sector(io->bio);
	struct oc_buffer *b;

	b = take(io->core->buffers, oc_nr_blocks(start, end - start));
	if (!b)
		return NULL;
	if (whole_blocks) {
		start = round_down(start, OPTCACHE_SECTORS_PER_BLOCK);
		end = min_t(sector_t, round_up(end, OPTCACHE_SECTORS_PER_BLOCK),
			    io->core->origin_sectors);
	}
	b->io = io;
	b->sector = start;
	b->sectors = end - start;
	b->first = 0;
	b->run = 0;
	b->origin_status = BLK_STS_OK;
	b->cache_status = BLK_STS_OK;
	return b;
}

unsigned int oc_buffer_room(const struct oc_io *io)
{
	return io->core->buffers->max * OPTCACHE_SECTORS_PER_BLOCK -
	       oc_sector_offset(io->bio->bi_iter.bi_sector);
}

void oc_buffer_copy_in(struct oc_buffer *b)
{
	copy(b, b->io->bio, &b->io->bio->bi_iter, true);
}

void oc_buffer_copy_out(struct oc_buffer *b)
{
	copy(b, b->io->bio, &b->io->bio->bi_iter, false);
}

unsigned int oc_buffer_part(const struct oc_buffer *b, u32 i, unsigned int *off)
{
	sector_t end = oc_sector_offset(b->sector) + b->sectors;
	unsigned int start = i * OPTCACHE_SECTORS_PER_BLOCK;

	*off = i ? 0 : oc_sector_offset(b->sector);
	return min_t(sector_t, end - start, OPTCACHE_SECTORS_PER_BLOCK) - *off;
}

sector_t oc_buffer_add(const struct oc_buffer *b, struct bio *bio, u32 first, u32 nr)
{
	unsigned int off, len;
	u32 i;

	for (i = first; i < first + nr; i++) {
		len = oc_buffer_part(b, i, &off);
		__bio_add_page(bio, b->page[i], len << SECTOR_SHIFT, off << SECTOR_SHIFT);
	}
	oc_buffer_part(b, first, &off);
	return round_down(b->sector, OPTCACHE_SECTORS_PER_BLOCK) +
	       first * OPTCACHE_SECTORS_PER_BLOCK + off;
}

void oc_buffer_install(struct oc_buffer *b)
{
	struct oc_core *core = b->core;
	oc_block_t block = oblock_add(oc_sector_block(b->sector), b->first);
	unsigned int off, len;
	u32 i;

	for (i = 0; i < b->run; i++) {
		len = oc_buffer_part(b, b->first + i, &off);
		oc_slot_install(&core->slots, slot_add(b->slot, i),
				oc_word_make(oblock_add(block, i), oc_sector_mask(off, len),
					     OC_FRESH));
		oc_index_insert(&core->index, slot_add(b->slot, i));
	}
	oc_fresh_add(core, b->slot, b->run, b->gen);
}

void oc_buffers_drain(struct oc_core *core)
{
	struct oc_buffer_pool *pool = core->buffers;

	wait_event(pool->wait, READ_ONCE(pool->nr_idle) == pool->nr_buffers);
	/* the last one is still on its way out of oc_buffer_put() */
	spin_lock_irq(&pool->lock);
	spin_unlock_irq(&pool->lock);
}

size_t oc_buffers_bytes(const struct oc_core *core)
{
	const struct oc_buffer_pool *pool = core->buffers;

	if (!pool)
		return 0;
	return sizeof(*pool) + (size_t)pool->nr_pages * PAGE_SIZE +
	       pool->nr_buffers * (sizeof(*pool->buffer) + pool->max * sizeof(*pool->page));
}

static int alloc_pages_of(struct oc_buffer_pool *pool, u32 nr)
{
	struct page *page;

	for (; pool->nr_pages < nr; pool->nr_pages++, pool->nr_free++) {
		page = alloc_page(GFP_KERNEL);
		if (!page)
			return -ENOMEM;
		list_add(&page->lru, &pool->free);
	}
	return 0;
}

int oc_buffers_init(struct oc_core *core)
{
	u32 pages = clamp_t(u32, core->slots.nr / (2 * PAGE_SIZE), OC_BUFFER_PAGES_MIN,
			    OC_BUFFER_PAGES_MAX);
	struct oc_buffer_pool *pool;
	u32 i;

	pool = kzalloc(sizeof(*pool), GFP_KERNEL);
	if (!pool)
		return -ENOMEM;
	core->buffers = pool;
	spin_lock_init(&pool->lock);
	INIT_LIST_HEAD(&pool->idle);
	INIT_LIST_HEAD(&pool->free);
	init_waitqueue_head(&pool->wait);
	pool->max = min_t(u32, pages, OC_REGION_BLOCKS);
	pool->nr_buffers = min_t(u32, pages, OC_BUFFERS_MAX);
	pool->nr_idle = pool->nr_buffers;
	pool->buffer = kvcalloc(pool->nr_buffers, sizeof(*pool->buffer), GFP_KERNEL);
	pool->page = kvcalloc(pool->nr_buffers * pool->max, sizeof(*pool->page), GFP_KERNEL);
	if (!pool->buffer || !pool->page)
		return -ENOMEM;
	for (i = 0; i < pool->nr_buffers; i++) {
		pool->buffer[i].core = core;
		pool->buffer[i].page = pool->page + i * pool->max;
		list_add(&pool->buffer[i].list, &pool->idle);
	}
	return alloc_pages_of(pool, pages);
}

void oc_buffers_exit(struct oc_core *core)
{
	struct oc_buffer_pool *pool = core->buffers;
	struct page *page, *next;

	if (!pool)
		return;
	list_for_each_entry_safe(page, next, &pool->free, lru)
		__free_page(page);
	kvfree(pool->page);
	kvfree(pool->buffer);
	kfree(pool);
	core->buffers = NULL;
}
