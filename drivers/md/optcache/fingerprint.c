// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is the origin still the one that was left?
 *
 * When a cache is stopped, some parts of the origin are read and their checksums kept in the
 * superblock; the first write of the next activation takes them away before anything can
 * change the origin.  So a superblock with samples says what the origin must hold.  After a
 * crash there are none, but what is clean in the cache must be the same on the origin.
 *
 * An origin that is not the same has been written without its cache.  Nothing clean is
 * believed then, and what is dirty is not brought over it unasked.
 */
#include "core.h"

#include <linux/device-mapper.h>

#include <optcache/sample.h>

#define READ_ORDER	4	/* 64 KiB at a time, or what can be had, but two blocks */

/* Where something is read to. */
struct reader {
	struct page *page;
	unsigned int order;
};

static int reader_init(struct reader *rd)
{
	for (rd->order = READ_ORDER; rd->order > 1; rd->order--) {
		rd->page = alloc_pages(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN, rd->order);
		if (rd->page)
			return 0;
	}
	rd->page = alloc_pages(GFP_KERNEL, rd->order);
	return rd->page ? 0 : -ENOMEM;
}

static void reader_exit(struct reader *rd)
{
	__free_pages(rd->page, rd->order);
}

/* To byte @at of the buffer. */
static int read_sectors(struct reader *rd, unsigned int at, struct block_device *bdev,
			sector_t sector, unsigned int sectors)
{
	return oc_sync_page_io(bdev, REQ_OP_READ, (u64)sector << SECTOR_SHIFT, rd->page, at,
			       sectors << SECTOR_SHIFT);
}

/* What the origin holds there. */
static int hash_sample(struct oc_core *core, struct reader *rd, const struct oc_sample *s,
		       u32 *hash)
{
	const unsigned int max = PAGE_SIZE << rd->order >> SECTOR_SHIFT;
	struct oc_sample_hash h;
	unsigned int done, n;
	int r;

	oc_sample_hash_begin(&h, core->super.uuid);
	for (done = 0; done < s->sectors; done += n) {
		n = min(s->sectors - done, max);
		r = read_sectors(rd, 0, core->origin, s->sector + done, n);
		if (r)
			return r;
		oc_sample_hash_add(&h, page_address(rd->page), n << SECTOR_SHIFT);
	}
	*hash = oc_sample_hash_end(&h);
	return 0;
}

/* ---- when it is stopped ---------------------------------------------- */

/* An origin that cannot be read takes its time to say so: those before must do. */
void oc_fingerprint_take(struct oc_core *core, struct oc_super *sb)
{
	struct oc_sample *s;
	struct reader rd;
	u32 nr;

	sb->nr_samples = 0;
	if (reader_init(&rd))
		return;
	oc_sample_plan(sb, &core->slots);
	for (nr = 0; nr < sb->nr_samples; nr++) {
		s = &sb->sample[nr];
		if (hash_sample(core, &rd, s, &s->hash))
			break;
	}
	sb->nr_samples = nr;
	reader_exit(&rd);
}

/* ---- when it is started ---------------------------------------------- */

/* Return: 0, 1 if it differs, or -errno. */
static int sample_differs(struct oc_core *core, struct reader *rd, const struct oc_sample *s)
{
	u32 hash;
	int r = hash_sample(core, rd, s, &hash);

	if (r || hash == s->hash)
		return r;
	DMWARN("%s: the origin has changed within %u sectors from %llu on",
	       dm_device_name(core->md), s->sectors, s->sector);
	return 1;
}

static int sectors_differ(struct oc_core *core, struct reader *rd, sector_t cached,
			  sector_t sector, unsigned int sectors)
{
	const void *buf = page_address(rd->page);
	int r;

	r = read_sectors(rd, 0, core->origin, sector, sectors);
	if (!r)
		r = read_sectors(rd, OPTCACHE_BLOCK_SIZE, core->cache, cached, sectors);
	if (r || !memcmp(buf, buf + OPTCACHE_BLOCK_SIZE, sectors << SECTOR_SHIFT))
		return r;
	DMWARN("%s: the origin has changed at sector %llu, which is cached and clean",
	       dm_device_name(core->md), (unsigned long long)sector);
	return 1;
}

/* Of a block what is valid, run by run. */
static int spot_differs(struct oc_core *core, struct reader *rd, oc_slot_t slot)
{
	u64 word = oc_slot_read(&core->slots, slot);
	sector_t sector = from_oblock(oc_word_block(word)) * OPTCACHE_SECTORS_PER_BLOCK;
	sector_t cached = oc_slot_sector(&core->super.geo, slot);
	unsigned long valid = oc_word_valid(word);
	unsigned int start, end;
	int r;

	for_each_set_bitrange(start, end, &valid, OPTCACHE_SECTORS_PER_BLOCK) {
		r = sectors_differ(core, rd, cached + start, sector + start, end - start);
		if (r)
			return r;
	}
	return 0;
}

/* Up to the first thing that differs, or cannot be read. */
static bool origin_differs(struct oc_core *core, struct reader *rd)
{
	const struct oc_super *sb = &core->super;
	oc_slot_t slot[OC_SPOTS];
	int r = 0;
	u32 nr, i;

	for (i = 0; i < sb->nr_samples && !r; i++)
		r = sample_differs(core, rd, &sb->sample[i]);
	if (sb->nr_samples)
		return r > 0;
	nr = oc_sample_slots(&core->slots, false, slot, OC_SPOTS);
	for (i = 0; i < nr && !r; i++)
		r = spot_differs(core, rd, slot[i]);
	return r > 0;
}

int oc_fingerprint_check(struct oc_core *core)
{
	u64 dirty = atomic64_read(&core->slots.nr_dirty);
	struct reader rd;

	core->clean_stale = core->super.flags & OPTCACHE_SUPER_STALE;
	if (!atomic64_read(&core->slots.nr_mapped))
		return 0;
	if (reader_init(&rd))
		return -ENOMEM;
	if (!core->clean_stale)
		core->clean_stale = origin_differs(core, &rd);
	reader_exit(&rd);
	if (!core->clean_stale)
		return 0;
	if (dirty && !core->keep_dirty) {
		DMERR("%s: the origin was changed while this cache was not active, and %llu dirty blocks are newer than what it held: attach with --keep-dirty (table word keep_dirty) to let them win, or give them up with create --force",
		      dm_device_name(core->md), dirty);
		return -EUCLEAN;
	}
	DMWARN("%s: the origin was changed while this cache was not active: what is clean in the cache is dropped",
	       dm_device_name(core->md));
	return 0;
}
