// SPDX-License-Identifier: GPL-2.0-only
/*
 * The one-shot "format" argument: make a cache on a device whose metadata area is
 * all zero.  Anything else there is refused: a wiped or foreign device must not become
 * a fresh cache by itself (optcachectl create --force does that on request).
 */
#include "core.h"

#include <linux/random.h>

static int write_page(struct block_device *cache, u64 offset, struct page *page,
		      blk_opf_t flags)
{
	return oc_sync_page_io(cache, REQ_OP_WRITE | REQ_META | flags, offset, page, 0,
			       OPTCACHE_PAGE_SIZE);
}

static int check_zeroed(struct block_device *cache, const struct oc_geometry *geo,
			struct page *page, const char **why)
{
	u64 offset;
	int r;

	for (offset = 0; offset <= geo->journal_start; offset += OPTCACHE_PAGE_SIZE) {
		r = oc_sync_page_io(cache, REQ_OP_READ | REQ_META, offset, page, 0,
				    OPTCACHE_PAGE_SIZE);
		if (r) {
			*why = "format: the cache device cannot be read: check it for media errors";
			return r;
		}
		if (memchr_inv(page_address(page), 0, OPTCACHE_PAGE_SIZE)) {
			*why = "format: the cache device is not zeroed: use optcachectl create";
			return -EEXIST;
		}
	}
	return 0;
}

static int write_table(struct block_device *cache, const struct oc_super *sb, struct page *page)
{
	u32 nr;
	int r;

	for (nr = 0; nr < sb->geo.nr_pages; nr++) {
		memset(page_address(page), 0, OPTCACHE_PAGE_SIZE);
		oc_page_seal(page_address(page), sb->uuid, nr, sb->tail_lsn, 1);
		r = write_page(cache, oc_page_offset(&sb->geo, nr, 0), page, 0);
		if (r)
			return r;
		cond_resched();
	}
	return 0;
}

static int write_all(struct block_device *cache, const struct oc_super *sb, struct page *page)
{
	int r;

	memset(page_address(page), 0, OPTCACHE_PAGE_SIZE);
	r = write_page(cache, sb->geo.journal_start, page, 0);
	if (!r)
		r = write_table(cache, sb, page);
	if (r)
		return r;
	oc_super_encode(sb, page_address(page));
	r = write_page(cache, 0, page, REQ_PREFLUSH | REQ_FUA);
	return r ? r : write_page(cache, OPTCACHE_PAGE_SIZE, page, REQ_FUA);
}

int oc_format(struct block_device *cache, struct block_device *origin, const char **why)
{
	u8 uuid[OPTCACHE_UUID_SIZE], origin_uuid[OPTCACHE_UUID_SIZE];
	struct oc_super *sb = kzalloc(sizeof(*sb), GFP_KERNEL);
	struct page *page = alloc_page(GFP_KERNEL);
	struct oc_geometry geo;
	int r = -ENOMEM;

	*why = "out of memory";
	if (!sb || !page)
		goto out;
	r = oc_geometry_plan(&geo, bdev_nr_sectors(cache), bdev_nr_sectors(origin),
			     bdev_logical_block_size(cache), why);
	if (!r)
		r = check_zeroed(cache, &geo, page, why);
	if (r)
		goto out;
	get_random_bytes(uuid, sizeof(uuid));
	get_random_bytes(origin_uuid, sizeof(origin_uuid));
	oc_super_new(sb, &geo, uuid, origin_uuid);
	r = write_all(cache, sb, page);
	if (r)
		*why = "format: the cache device cannot be written: check it for media errors";
out:
	if (page)
		__free_page(page);
	kfree(sb);
	return r;
}
