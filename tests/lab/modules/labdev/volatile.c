// SPDX-License-Identifier: GPL-2.0
/*
 * Durability.  A completed write is visible at once; on a device with a
 * volatile cache it also stays on dev->unstable, as parts with their data,
 * until a flush that was sent after its acknowledgment completes.  FUA makes
 * one write durable, and no older version of the same sectors can come back.
 *
 * This is the promise of the interface, not a model of any drive's cache: the
 * engine may have written the data to the media in its simulation long since.
 * A cut takes back any subset all the same, because that is what the promise
 * allows.  Only memory bounds it (hold_kb).
 */
#include "labdev.h"
#include "power.h"

/* The oldest unstable data reaches the medium. */
static void lab_part_retire(struct lab_dev *dev, struct lab_part *part)
{
	lab_part_copy(part->page->stable, part, part->mask);
	dev->unstable_bytes -= lab_part_bytes(part);
	list_del(&part->version);
	lab_part_release(dev, part);
}

/* What is acknowledged up to @last becomes durable. */
void lab_flush(struct lab_dev *dev, u64 last)
{
	struct lab_part *part, *next;

	lockdep_assert_held(&dev->lock);
	list_for_each_entry_safe(part, next, &dev->unstable, node) {
		if (part->ack > last)
			break;
		lab_part_retire(dev, part);
	}
}

void lab_settle_all(struct lab_dev *dev)
{
	lab_flush(dev, U64_MAX);
}

static void lab_part_supersede(struct lab_dev *dev, struct lab_part *durable)
{
	struct lab_page *page = durable->page;
	struct lab_part *old, *next;

	if (list_empty(&page->versions))
		return;
	lab_part_copy(page->stable, durable, durable->mask);
	list_for_each_entry_safe(old, next, &page->versions, version) {
		dev->unstable_bytes -= lab_part_bytes(old);
		old->mask &= ~durable->mask;
		dev->unstable_bytes += lab_part_bytes(old);
		if (!old->mask) {
			list_del(&old->version);
			lab_part_release(dev, old);
		}
	}
}

static void lab_part_hold(struct lab_dev *dev, struct lab_part *part)
{
	struct lab_page *page = part->page;

	if (list_empty(&page->versions))
		memcpy(page->stable, page->data, LAB_PAGE_SIZE);
	part->ack = dev->acked;
	list_add_tail(&part->version, &page->versions);
	list_move_tail(&part->node, &dev->unstable);
	dev->unstable_bytes += lab_part_bytes(part);
}

/* @part's data has arrived; it ends up on dev->unstable or is released. */
static void lab_part_land(struct lab_dev *dev, struct lab_part *part,
			  bool durable)
{
	struct lab_page *page = part->page;

	if (durable)
		lab_part_supersede(dev, part);
	else
		lab_part_hold(dev, part);
	lab_part_copy(page->data, part, part->mask);
	if (durable)
		lab_part_release(dev, part);
}

/* Carry out a write, discard or write-zeroes. */
void lab_write(struct lab_dev *dev, struct lab_io *io)
{
	bool durable = !dev->par.has_cache ||
		       (io->bio->bi_opf & REQ_FUA && !(dev->lies & LAB_LIE_FUA));
	struct bvec_iter at = io->bio->bi_iter;
	struct lab_part *part, *next;

	lockdep_assert_held(&dev->lock);
	dev->acked++;
	list_for_each_entry_safe(part, next, &io->parts, node) {
		u8 *to = part->data;

		part->id = io->id;
		if (lab_io_zeroes(io)) {
			lab_part_land(dev, part, durable);
			continue;
		}
		if (!to)
			to = part->page->data + (part->first << SECTOR_SHIFT);
		lab_bio_fetch(io->bio, &at, to,
			      hweight8(part->mask) << SECTOR_SHIFT);
		if (part->data)
			lab_part_land(dev, part, durable);
		else
			lab_part_release(dev, part);
	}
	while (dev->unstable_bytes > dev->par.hold_kb << 10)
		lab_flush(dev, list_first_entry(&dev->unstable, struct lab_part,
						node)->ack);
}

/*
 * Power is lost.  Writes in flight may have reached the cache or the medium in
 * part, so they join the acknowledged ones; then each write's luck decides.
 * Survivors are applied in the order of their acknowledgment: as any of them
 * may be missing, any version of a sector can be the one that is found.
 */
static void lab_lose_cache(struct lab_dev *dev, struct lab_luck *luck)
{
	struct lab_part *part, *next;
	struct lab_io *io;

	dev->acked++;
	list_for_each_entry(io, &dev->inflight, all) {
		struct bvec_iter at = io->bio->bi_iter;

		if (!lab_io_writes(io) || io->phase != LAB_MOVING || io->status)
			continue;
		list_for_each_entry_safe(part, next, &io->parts, node) {
			part->id = io->id;
			if (part->data)
				lab_bio_fetch(io->bio, &at, part->data,
					      lab_part_bytes(part));
			lab_part_hold(dev, part);
		}
	}
	list_for_each_entry_safe(part, next, &dev->unstable, node) {
		struct lab_page *page = part->page;

		lab_part_copy(page->stable, part, lab_luck_of(luck, part));
		memcpy(page->data, page->stable, LAB_PAGE_SIZE);
		dev->unstable_bytes -= lab_part_bytes(part);
		list_del(&part->version);
		lab_part_release(dev, part);
	}
}

/* Without a cache only writes in flight are in doubt. */
static void lab_lose_inflight(struct lab_dev *dev, struct lab_luck *luck)
{
	static u8 bounce[LAB_PAGE_SIZE];	/* under the power lock */
	struct lab_part *part;
	struct lab_io *io;

	list_for_each_entry(io, &dev->inflight, all) {
		struct bvec_iter at = io->bio->bi_iter;

		if (!lab_io_writes(io) || io->phase != LAB_MOVING || io->status)
			continue;
		list_for_each_entry(part, &io->parts, node) {
			part->id = io->id;
			if (!lab_io_zeroes(io)) {
				lab_bio_fetch(io->bio, &at, bounce,
					      hweight8(part->mask) << SECTOR_SHIFT);
				part->data = bounce;
			}
			lab_part_copy(part->page->data, part,
				      lab_luck_of(luck, part));
			part->data = NULL;
		}
	}
}

void lab_lose_power(struct lab_dev *dev, u64 seed)
{
	struct lab_luck luck;

	lockdep_assert_held(&dev->lock);
	lab_luck_init(&luck, dev, seed);
	if (dev->par.has_cache)
		lab_lose_cache(dev, &luck);
	else
		lab_lose_inflight(dev, &luck);
	lab_luck_report(&luck, dev);
}
