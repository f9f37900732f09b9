// SPDX-License-Identifier: GPL-2.0-only
/*
 * Making a cache device.  The order keeps a half-made cache from being taken for a
 * whole one:
 *
 *	1. wipe the signatures of earlier lives, erase both superblocks; flush
 *	2. zero the journal, so that no block of an earlier format can be read
 *	3. seal every page of the table in place 0; zero place 1
 *	4. flush, then write the superblocks; flush
 */
#include "exits.h"
#include "interrupt.h"
#include "making.h"
#include "probe.h"
#include "progress.h"
#include "say.h"
#include "supers.h"

#define CHUNK	(1U << 20)

struct maker {
	const struct dev *dev;
	const struct oc_super *sb;
	const struct oc_slots *slots;	/* NULL: all are empty */
	char *buf;
	struct progress progress;
	u64 done, total;
};

static int put(struct maker *mk, size_t len, u64 offset)
{
	int err = interrupted() ? -EINTR : dev_write(mk->dev, mk->buf, len, offset);

	mk->done += len;
	progress_show(&mk->progress, mk->done, mk->total);
	return err;
}

static int zero_journal(struct maker *mk)
{
	const struct oc_geometry *geo = &mk->sb->geo;
	u64 at, len;
	int err = 0;

	memset(mk->buf, 0, CHUNK);
	for (at = 0; !err && at < geo->journal_size; at += len) {
		len = min_t(u64, geo->journal_size - at, CHUNK);
		err = put(mk, len, geo->journal_start + at);
	}
	return err;
}

static void fill_page(const struct maker *mk, u32 nr, struct optcache_table_page *page)
{
	const u32 first = nr * OPTCACHE_ENTRIES_PER_PAGE;
	u32 i;

	for (i = 0; i < OPTCACHE_ENTRIES_PER_PAGE && first + i < mk->slots->nr; i++)
		page->entry[i] = cpu_to_le64(oc_entry_encode(mk->slots->word[first + i]));
}

static int write_table(struct maker *mk)
{
	const struct oc_geometry *geo = &mk->sb->geo;
	const u32 chunk = CHUNK / (2 * OPTCACHE_PAGE_SIZE);
	struct optcache_table_page *page = (void *)mk->buf;
	u32 first, nr, i;
	int err = 0;

	for (first = 0; !err && first < geo->nr_pages; first += nr) {
		nr = min_t(u32, geo->nr_pages - first, chunk);
		memset(mk->buf, 0, CHUNK);
		for (i = 0; i < nr; i++) {
			if (mk->slots)
				fill_page(mk, first + i, &page[2 * i]);
			oc_page_seal(&page[2 * i], mk->sb->uuid, first + i, mk->sb->tail_lsn, 1);
		}
		err = put(mk, (size_t)nr * 2 * OPTCACHE_PAGE_SIZE, oc_page_offset(geo, first, 0));
	}
	return err;
}

static int make(struct maker *mk)
{
	int err;

	err = supers_erase(mk->dev);
	if (!err)
		err = probe_wipe(mk->dev);
	if (!err)
		err = zero_journal(mk);
	if (!err)
		err = write_table(mk);
	if (!err)
		err = dev_sync(mk->dev);
	if (!err)
		err = supers_write(mk->dev, mk->sb);
	return err;
}

int making_run(const struct dev *cache, const struct oc_super *sb, const struct oc_slots *slots,
	       const char *doing)
{
	const struct oc_geometry *geo = &sb->geo;
	struct maker mk = { .dev = cache, .sb = sb, .slots = slots };
	int err = -ENOMEM;

	mk.total = geo->journal_size + (u64)geo->nr_pages * 2 * OPTCACHE_PAGE_SIZE;
	mk.buf = dev_buffer(CHUNK);
	if (mk.buf) {
		interrupt_catch();
		progress_start(&mk.progress, doing);
		err = make(&mk);
		progress_end(&mk.progress);
		free(mk.buf);
	}
	if (!err)
		return 0;
	if (err == -EINTR)
		return fail(OC_EXIT_TEMP, "Do it again to use it",
			    "interrupted (%s holds no cache now)", cache->path);
	return fail(OC_EXIT_IO, "See the kernel log for the device",
		    "cannot write %s (%s)", cache->path, strerror(-err));
}
