// SPDX-License-Identifier: GPL-2.0
/*
 * Parts: a write, discard or write-zeroes as a list of what it does to each
 * page.  Made at submission, where memory can be had.  Only a device with a
 * volatile cache needs a part to hold data of its own: elsewhere a write is
 * durable when it is acknowledged and goes straight to the page.
 */
#include <linux/slab.h>

#include "labdev.h"

unsigned int lab_part_bytes(const struct lab_part *part)
{
	return part->data ? hweight8(part->mask) << SECTOR_SHIFT : 0;
}

static void lab_part_free(struct lab_part *part)
{
	kfree(part->data);
	kfree(part);
}

void lab_part_release(struct lab_dev *dev, struct lab_part *part)
{
	list_del(&part->node);
	lab_store_unpin(dev, part->page);
	lab_part_free(part);
}

void lab_parts_release(struct lab_dev *dev, struct lab_io *io)
{
	struct lab_part *part, *next;

	lockdep_assert_held(&dev->lock);
	list_for_each_entry_safe(part, next, &io->parts, node)
		lab_part_release(dev, part);
}

/* Copy what of @part is in @mask to its place in the page at @to. */
void lab_part_copy(u8 *to, const struct lab_part *part, u8 mask)
{
	unsigned int s;

	mask &= part->mask;
	for (s = 0; s < LAB_PAGE_SECTORS; s++) {
		u8 *sector = to + (s << SECTOR_SHIFT);

		if (!(mask & BIT(s)))
			continue;
		if (part->data)
			memcpy(sector,
			       part->data + ((s - part->first) << SECTOR_SHIFT),
			       SECTOR_SIZE);
		else
			memset(sector, 0, SECTOR_SIZE);
	}
}

void lab_bio_fetch(struct bio *bio, struct bvec_iter *at, u8 *to,
		   unsigned int bytes)
{
	while (bytes) {
		struct bio_vec bv = bio_iter_iovec(bio, *at);

		bv.bv_len = min(bv.bv_len, bytes);
		memcpy_from_bvec(to, &bv);
		bio_advance_iter_single(bio, at, bv.bv_len);
		to += bv.bv_len;
		bytes -= bv.bv_len;
	}
}

/* A part of @io for @page, whose pin it takes over. */
static int lab_part_add(struct lab_dev *dev, struct lab_io *io,
			struct lab_page *page, gfp_t gfp)
{
	sector_t base = (sector_t)page->index * LAB_PAGE_SECTORS;
	unsigned int first = io->start > base ? io->start - base : 0;
	unsigned int end = min_t(sector_t, io->end - base, LAB_PAGE_SECTORS);
	struct lab_part *part = kzalloc(sizeof(*part), gfp);
	unsigned long flags;

	if (part && dev->par.has_cache && !lab_io_zeroes(io)) {
		part->data = kmalloc((end - first) << SECTOR_SHIFT, gfp);
		if (!part->data) {
			kfree(part);
			part = NULL;
		}
	}
	if (!part) {
		spin_lock_irqsave(&dev->lock, flags);
		lab_store_unpin(dev, page);
		spin_unlock_irqrestore(&dev->lock, flags);
		return -ENOMEM;
	}
	part->page = page;
	part->first = first;
	part->mask = GENMASK(end - 1, first);
	list_add_tail(&part->node, &io->parts);
	return 0;
}

static int lab_parts_of_write(struct lab_dev *dev, struct lab_io *io, gfp_t gfp)
{
	pgoff_t index, last = (io->end - 1) / LAB_PAGE_SECTORS;
	struct lab_page *page;

	for (index = io->start / LAB_PAGE_SECTORS; index <= last; index++) {
		page = lab_store_pin(dev, index, gfp);
		if (!page || lab_part_add(dev, io, page, gfp))
			return -ENOMEM;
	}
	return 0;
}

/* Where there is no page there is nothing to zero. */
static int lab_parts_of_zeroes(struct lab_dev *dev, struct lab_io *io)
{
	pgoff_t index, last = (io->end - 1) / LAB_PAGE_SECTORS;
	struct lab_page *page;

	for (index = io->start / LAB_PAGE_SECTORS; index <= last; index++) {
		page = lab_store_pin_existing(dev, &index, last);
		if (!page)
			return 0;
		if (IS_ERR(page) || lab_part_add(dev, io, page, GFP_NOIO))
			return -ENOMEM;
		cond_resched();
	}
	return 0;
}

int lab_parts_create(struct lab_dev *dev, struct lab_io *io, gfp_t gfp)
{
	unsigned long flags;
	int ret = 0;

	if (!lab_io_writes(io) || dev->engine->bypass)
		return 0;
	if (!lab_io_zeroes(io))
		ret = lab_parts_of_write(dev, io, gfp);
	else
		ret = lab_parts_of_zeroes(dev, io);
	if (ret) {
		spin_lock_irqsave(&dev->lock, flags);
		lab_parts_release(dev, io);
		spin_unlock_irqrestore(&dev->lock, flags);
	}
	return ret;
}
