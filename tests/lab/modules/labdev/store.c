// SPDX-License-Identifier: GPL-2.0
/*
 * The sparse store.  dev->lock covers the pages' contents and pins; memory is
 * taken before the lock, in the submitter's context, so that a completion in
 * interrupt context never has to allocate.  To that end a write pins the pages
 * it will touch (creating them, as zeroes); the last pin to go takes a page of
 * zeroes away.
 */
#include <linux/slab.h>

#include "labdev.h"

static void lab_page_free(struct lab_page *page)
{
	if (!page)
		return;
	free_page((unsigned long)page->stable);
	free_page((unsigned long)page->data);
	kfree(page);
}

static struct lab_page *lab_page_alloc(pgoff_t index, gfp_t gfp)
{
	struct lab_page *page = kzalloc(sizeof(*page), gfp);

	if (!page)
		return NULL;
	page->data = (u8 *)get_zeroed_page(gfp);
	if (!page->data) {
		kfree(page);
		return NULL;
	}
	page->index = index;
	INIT_LIST_HEAD(&page->versions);
	return page;
}

/* A pinned @page also needs room for its durable state, on some devices. */
static struct lab_page *lab_page_complete(struct lab_dev *dev,
					  struct lab_page *page, gfp_t gfp)
{
	unsigned long flags, stable;

	if (!dev->par.has_cache || READ_ONCE(page->stable))
		return page;
	stable = __get_free_page(gfp);
	spin_lock_irqsave(&dev->lock, flags);
	if (!stable) {
		lab_store_unpin(dev, page);
		page = NULL;
	} else if (!page->stable) {
		WRITE_ONCE(page->stable, (u8 *)stable);
		stable = 0;
	}
	spin_unlock_irqrestore(&dev->lock, flags);
	free_page(stable);
	return page;
}

static struct lab_page *lab_store_try_pin(struct lab_dev *dev, pgoff_t index)
{
	struct lab_page *page;
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	page = xa_load(&dev->store.pages, index);
	if (page)
		page->pins++;
	spin_unlock_irqrestore(&dev->lock, flags);
	return page;
}

/* The page, created if need be; NULL without memory. */
struct lab_page *lab_store_pin(struct lab_dev *dev, pgoff_t index, gfp_t gfp)
{
	struct lab_page *page, *fresh;
	int err;

	page = lab_store_try_pin(dev, index);
	while (!page) {
		fresh = lab_page_alloc(index, gfp);
		if (!fresh)
			return NULL;
		fresh->pins = 1;
		err = xa_insert_irq(&dev->store.pages, index, fresh, gfp);
		if (!err)
			return lab_page_complete(dev, fresh, gfp);
		lab_page_free(fresh);
		if (err != -EBUSY)
			return NULL;
		page = lab_store_try_pin(dev, index);
	}
	return lab_page_complete(dev, page, gfp);
}

/*
 * The first page from *@index to @last that exists, and its index; NULL if
 * there is none, an ERR_PTR without memory.
 */
struct lab_page *lab_store_pin_existing(struct lab_dev *dev, pgoff_t *index,
					pgoff_t last)
{
	struct lab_page *page;
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	page = xa_find(&dev->store.pages, index, last, XA_PRESENT);
	if (page)
		page->pins++;
	spin_unlock_irqrestore(&dev->lock, flags);
	if (!page)
		return NULL;
	return lab_page_complete(dev, page, GFP_NOIO) ?: ERR_PTR(-ENOMEM);
}

void lab_store_unpin(struct lab_dev *dev, struct lab_page *page)
{
	lockdep_assert_held(&dev->lock);
	if (--page->pins)
		return;
	if (!memchr_inv(page->data, 0, LAB_PAGE_SIZE)) {
		xa_erase(&dev->store.pages, page->index);
		lab_page_free(page);
		return;
	}
	/* no versions left: data and stable are the same */
	free_page((unsigned long)page->stable);
	page->stable = NULL;
}

static void lab_bio_store(struct bio *bio, struct bvec_iter *at, const u8 *from,
			  unsigned int bytes)
{
	while (bytes) {
		struct bio_vec bv = bio_iter_iovec(bio, *at);

		bv.bv_len = min(bv.bv_len, bytes);
		if (from) {
			memcpy_to_bvec(&bv, from);
			from += bv.bv_len;
		} else {
			memzero_bvec(&bv);
		}
		bio_advance_iter_single(bio, at, bv.bv_len);
		bytes -= bv.bv_len;
	}
}

void lab_store_read(struct lab_dev *dev, struct bio *bio)
{
	struct bvec_iter at = bio->bi_iter;

	lockdep_assert_held(&dev->lock);
	while (at.bi_size) {
		unsigned int first = at.bi_sector % LAB_PAGE_SECTORS;
		unsigned int bytes = min_t(unsigned int, at.bi_size,
					   (LAB_PAGE_SECTORS - first) << SECTOR_SHIFT);
		struct lab_page *page = xa_load(&dev->store.pages,
						at.bi_sector / LAB_PAGE_SECTORS);

		lab_bio_store(bio, &at,
			      page ? page->data + (first << SECTOR_SHIFT) : NULL,
			      bytes);
	}
}

static void lab_store_drop_saved(struct lab_store *store)
{
	unsigned long index;
	void *data;

	xa_for_each(&store->saved, index, data)
		free_page((unsigned long)data);
	xa_destroy(&store->saved);
}

/* Pages are neither pinned nor reached by I/O, see power.c. */
static void lab_store_drop_pages(struct lab_store *store)
{
	struct lab_page *page;
	unsigned long index;

	xa_for_each(&store->pages, index, page)
		lab_page_free(page);
	xa_destroy(&store->pages);
}

/* Keep a copy of all that is on the device, replacing an older one. */
int lab_store_save(struct lab_dev *dev)
{
	struct lab_store *store = &dev->store;
	struct lab_page *page;
	unsigned long index;

	lab_store_drop_saved(store);
	xa_for_each(&store->pages, index, page) {
		u8 *copy = (u8 *)__get_free_page(GFP_KERNEL);

		if (!copy)
			return -ENOMEM;
		memcpy(copy, page->data, LAB_PAGE_SIZE);
		if (xa_err(xa_store(&store->saved, index, copy, GFP_KERNEL))) {
			free_page((unsigned long)copy);
			return -ENOMEM;
		}
		cond_resched();
	}
	return 0;
}

/* Go back to the copy; without one, to an empty device. */
int lab_store_load(struct lab_dev *dev)
{
	struct lab_store *store = &dev->store;
	unsigned long index;
	void *copy;

	lab_store_drop_pages(store);
	xa_for_each(&store->saved, index, copy) {
		struct lab_page *page = lab_page_alloc(index, GFP_KERNEL);

		if (!page)
			return -ENOMEM;
		memcpy(page->data, copy, LAB_PAGE_SIZE);
		if (xa_insert_irq(&store->pages, index, page, GFP_KERNEL)) {
			lab_page_free(page);
			return -ENOMEM;
		}
		cond_resched();
	}
	return 0;
}

void lab_store_init(struct lab_store *store)
{
	xa_init_flags(&store->pages, XA_FLAGS_LOCK_IRQ);
	xa_init(&store->saved);
}

void lab_store_destroy(struct lab_store *store)
{
	lab_store_drop_saved(store);
	lab_store_drop_pages(store);
}
