// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copying dirty blocks.  A run is up to RUN_MAX adjacent blocks of the origin: their
 * slots are read, neighbours together, then their sectors are written, neighbours
 * together.  Where a large transfer fails, smaller ones find out what is bad.
 */
#include <optcache/order.h>

#include "copying.h"
#include "interrupt.h"
#include "progress.h"

#define RUN_MAX		256			/* blocks */
#define PASS_MAX	(1U << 20)		/* blocks that are sorted at once */
#define SECTOR		512

struct run {
	const struct oc_dirty *item;
	u32 nr;
	u8 have[RUN_MAX];	/* sectors that were read */
	u8 bad[RUN_MAX];	/* that could not be */
	char *data;		/* of the blocks, in their order */
};

/* The sectors of a block that are dirty, and that the origin has. */
static u8 wanted(const struct copying *c, const struct oc_dirty *d)
{
	const u64 first = from_oblock(d->block) * OPTCACHE_SECTORS_PER_BLOCK;
	const u64 left = c->m->sb->geo.origin_sectors - first;
	const u8 valid = oc_word_valid(oc_slot_read(&c->m->slots, d->slot));

	return left < OPTCACHE_SECTORS_PER_BLOCK ? valid & (BIT(left) - 1) : valid;
}

/* ---- from the cache device --------------------------------------------- */

static void read_sectors(struct copying *c, struct run *r, u32 i)
{
	const struct oc_geometry *geo = &c->m->sb->geo;
	const u32 step = c->cache->lbs / SECTOR;
	const u64 from = oc_slot_sector(geo, r->item[i].slot) << 9;
	char *to = r->data + (size_t)i * OPTCACHE_BLOCK_SIZE;
	const u8 want = wanted(c, &r->item[i]);
	u32 s;
	u8 mask;

	for (s = 0; s < OPTCACHE_SECTORS_PER_BLOCK; s += step) {
		mask = want & (BIT(step) - 1) << s;
		if (!mask)
			continue;
		if (dev_read(c->cache, to + s * SECTOR, c->cache->lbs, from + s * SECTOR))
			r->bad[i] |= mask;
		else
			r->have[i] |= mask;
	}
}

/* @n blocks from number @i on, whose slots are neighbours. */
static void read_slots(struct copying *c, struct run *r, u32 i, u32 n)
{
	const u64 from = oc_slot_sector(&c->m->sb->geo, r->item[i].slot) << 9;
	u32 end = i + n;
	bool good;

	good = !dev_read(c->cache, r->data + (size_t)i * OPTCACHE_BLOCK_SIZE,
			 (size_t)n * OPTCACHE_BLOCK_SIZE, from);
	for (; i < end; i++) {
		if (good)
			r->have[i] = wanted(c, &r->item[i]);
		else
			read_sectors(c, r, i);
	}
}

static void read_run(struct copying *c, struct run *r)
{
	u32 i, n;

	for (i = 0; i < r->nr; i += n) {
		for (n = 1; i + n < r->nr; n++)
			if (from_slot(r->item[i + n].slot) != from_slot(r->item[i].slot) + n)
				break;
		read_slots(c, r, i, n);
	}
}

/* ---- to the origin ------------------------------------------------------- */

/* Sectors @from to @end of the run; those that do not get there are taken off have[]. */
static void write_sectors(struct copying *c, struct run *r, u32 from, u32 end)
{
	const u64 first = from_oblock(r->item[0].block) * OPTCACHE_SECTORS_PER_BLOCK;
	u32 next;

	if (!dev_write(c->origin, r->data + (size_t)from * SECTOR, (size_t)(end - from) * SECTOR,
		       (first + from) * SECTOR)) {
		c->bytes += (u64)(end - from) * SECTOR;
		return;
	}
	if (end - from <= c->origin->lbs / SECTOR) {
		ranges_add(&c->unwritable, first + from, end - from);
		for (; from < end; from++)
			r->have[from / OPTCACHE_SECTORS_PER_BLOCK] &=
				~BIT(from % OPTCACHE_SECTORS_PER_BLOCK);
		return;
	}
	/* the longest smaller step: whole blocks, then whole sectors of the disk */
	for (; from < end; from = next) {
		next = ALIGN(from + 1, end - from > OPTCACHE_SECTORS_PER_BLOCK ?
			     OPTCACHE_SECTORS_PER_BLOCK : c->origin->lbs / SECTOR);
		write_sectors(c, r, from, min(next, end));
	}
}

static bool has(const struct run *r, u32 sector)
{
	return r->have[sector / OPTCACHE_SECTORS_PER_BLOCK] &
	       BIT(sector % OPTCACHE_SECTORS_PER_BLOCK);
}

static void write_run(struct copying *c, struct run *r)
{
	const u32 end = r->nr * OPTCACHE_SECTORS_PER_BLOCK;
	u32 from, to;

	for (from = 0; from < end; from = to) {
		for (; from < end && !has(r, from); from++)
			;
		for (to = from; to < end && has(r, to); to++)
			;
		if (to > from)
			write_sectors(c, r, from, to);
	}
}

/* ---- all of it ------------------------------------------------------------- */

static void copy_run(struct copying *c, struct run *r)
{
	u32 i;

	memset(r->have, 0, sizeof(r->have));
	memset(r->bad, 0, sizeof(r->bad));
	read_run(c, r);
	write_run(c, r);
	for (i = 0; i < r->nr; i++) {
		ranges_add_block(&c->unreadable, &c->m->sb->geo, r->item[i].block, r->bad[i]);
		if (r->have[i] != wanted(c, &r->item[i]))
			continue;
		__set_bit(from_slot(r->item[i].slot), c->done);
		c->blocks++;
	}
}

static void copy_all(struct copying *c, struct oc_order *o, struct run *r)
{
	const u64 total = (u64)atomic64_read(&c->m->slots.nr_dirty) * OPTCACHE_BLOCK_SIZE;
	struct progress p;
	u64 seen = 0;
	u32 i;

	progress_start(&p, "writing back");
	while (!interrupted() && oc_order_collect(o, &c->m->slots, true)) {
		for (i = 0; i < o->nr && !interrupted(); i += r->nr) {
			r->item = &o->item[i];
			r->nr = oc_order_run(o, i, RUN_MAX);
			copy_run(c, r);
			seen += r->nr;
			progress_show(&p, seen * OPTCACHE_BLOCK_SIZE, total);
		}
	}
	progress_end(&p);
}

int copying_run(struct copying *c, const struct dev *cache, const struct dev *origin,
		struct mapping *m)
{
	struct run r = { .data = dev_buffer(RUN_MAX * OPTCACHE_BLOCK_SIZE) };
	struct oc_order order;
	int err;

	*c = (struct copying){ .cache = cache, .origin = origin, .m = m };
	c->done = calloc(BITS_TO_LONGS(m->slots.nr), sizeof(long));
	err = oc_order_init(&order, min_t(u64, atomic64_read(&m->slots.nr_dirty) + 1, PASS_MAX));
	if (!err && r.data && c->done)
		copy_all(c, &order, &r);
	else
		err = -ENOMEM;
	oc_order_exit(&order);
	free(r.data);
	return err;
}

void copying_free(struct copying *c)
{
	free(c->done);
	ranges_free(&c->unreadable);
	ranges_free(&c->unwritable);
}
