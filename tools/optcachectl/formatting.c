// SPDX-License-Identifier: GPL-2.0-only
/*
 * Making a cache device.  The order keeps a half-made cache from being taken for a
 * whole one:
 *
 *	1. wipe the signatures of earlier lives, erase both superblocks; flush
 *	2. zero the journal, so that no block of an earlier format can be read
 *	3. seal every page of the table, empty, in place 0; zero place 1
 *	4. flush, then write the superblocks; flush
 */
#include <uuid/uuid.h>

#include "ask.h"
#include "exits.h"
#include "formatting.h"
#include "human.h"
#include "interrupt.h"
#include "mapping.h"
#include "probe.h"
#include "progress.h"
#include "say.h"
#include "supers.h"

#define CHUNK	(1U << 20)

int formatting_option(struct formatting *f, int key, const char *arg)
{
	switch (key) {
	case KEY_FORCE:
		f->force = true;
		return 0;
	case KEY_YES:
		f->yes = true;
		return 0;
	case KEY_MODE:
		return opts_add(&f->given, "mode", arg);
	case KEY_SET:
		return opts_add_pair(&f->given, arg);
	}
	return -1;
}

int formatting_options_done(struct formatting *f)
{
	oc_options_default(&f->opt);
	return opts_check(&f->given, &f->opt);
}

/* ---- what is there ---------------------------------------------------- */

/* Dirty blocks of the cache that is there; ~0 when it cannot be told. */
static u64 dirty_blocks(const struct dev *d, const struct supers *s)
{
	struct mapping m;
	u64 dirty;

	if (s->best || mapping_load(&m, d, &s->sb, NULL, NULL))
		return ~0ULL;
	dirty = mapping_damaged(&m) ? ~0ULL : (u64)atomic64_read(&m.slots.nr_dirty);
	mapping_free(&m);
	return dirty;
}

static int check_old_cache(const struct formatting *f, const struct dev *d)
{
	struct supers s;
	const char *advice;
	char what[120];
	u64 dirty;
	int err;

	err = supers_read(d, &s);
	if (err)
		return fail(OC_EXIT_IO, "See the kernel log for the device",
			    "cannot read %s (%s)", d->path, strerror(-err));
	if (!supers_any(&s))
		return 0;
	dirty = dirty_blocks(d, &s);
	if (dirty == ~0ULL)
		strcpy(what, "a damaged one that may hold data its disk does not have");
	else if (dirty)
		snprintf(what, sizeof(what), "with %s of data that its disk does not have",
			 human_bytes(dirty * OPTCACHE_BLOCK_SIZE).text);
	else
		strcpy(what, "its disk has all of the data");

	if (dirty)
		advice = "Attach it and run optcachectl detach, or give --force to lose it";
	else
		advice = "Use optcachectl attach, or give --force to format it anew";
	if (!f->force)
		return fail(OC_EXIT_REFUSED, advice,
			    "%s already holds an optcache cache (%s)", d->path, what);
	return ask(f->yes, "Formatting erases the optcache cache on %s (%s)", d->path, what);
}

static int check_contents(const struct formatting *f, const struct dev *d)
{
	char what[PROBE_WHAT_MAX];
	int n;

	n = probe_device(d, what);
	if (n < 0)
		return fail(OC_EXIT_IO, "See the kernel log for the device",
			    "cannot read %s (%s)", d->path, strerror(-n));
	if (!n)
		return 0;
	if (!f->force)
		return fail(OC_EXIT_REFUSED,
			    "Name another device, or give --force to erase it",
			    "%s is not empty (it holds %s)", d->path, what);
	return ask(f->yes, "Formatting erases %s: it holds %s", d->path, what);
}

/* A file system made for 512-byte sectors stops working on larger ones. */
static int check_sector_size(const struct dev *cache, const struct dev *origin)
{
	if (cache->lbs <= origin->lbs)
		return 0;
	return fail(OC_EXIT_REFUSED,
		    "Give the cache device the smaller sectors (nvme format), or use another one",
		    "%s has %u-byte sectors and %s %u-byte ones (what is on the disk could not be mounted)",
		    cache->path, cache->lbs, origin->path, origin->lbs);
}

int formatting_check(const struct formatting *f, const struct dev *cache,
		     const struct dev *origin, struct oc_geometry *geo)
{
	const char *why = "";
	int code;

	if (dev_same(cache, origin))
		return fail(OC_EXIT_REFUSED, "Name the cache device first, then the disk",
			    "%s cannot be the cache of itself", cache->path);
	if (oc_geometry_plan(geo, cache->bytes >> 9, origin->bytes >> 9, cache->lbs, &why))
		return fail(OC_EXIT_REFUSED, "Use another device",
			    "%s cannot be the cache of %s (%s)", cache->path, origin->path, why);
	code = check_sector_size(cache, origin);
	if (!code)
		code = check_old_cache(f, cache);
	if (!code)
		code = check_contents(f, cache);
	return code;
}

/* ---- making it --------------------------------------------------------- */

struct maker {
	const struct dev *dev;
	struct oc_super *sb;
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
		for (i = 0; i < nr; i++)
			oc_page_seal(&page[2 * i], mk->sb->uuid, first + i, mk->sb->tail_lsn, 1);
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

static void new_super(const struct formatting *f, const struct oc_geometry *geo,
		      struct oc_super *sb)
{
	uuid_t cache, origin;
	unsigned int i;

	uuid_generate_random(cache);
	uuid_generate_random(origin);
	oc_super_new(sb, geo, cache, origin);
	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++) {
		if (!(f->opt.mask & 1U << i))
			continue;
		sb->option_mask |= 1U << i;
		sb->option[i] = f->opt.value[i];
	}
}

int formatting_run(const struct formatting *f, const struct dev *cache,
		   const struct oc_geometry *geo, struct oc_super *sb)
{
	struct maker mk = { .dev = cache, .sb = sb };
	int err = -ENOMEM;

	new_super(f, geo, sb);
	mk.total = geo->journal_size + (u64)geo->nr_pages * 2 * OPTCACHE_PAGE_SIZE;
	mk.buf = dev_buffer(CHUNK);
	if (mk.buf) {
		interrupt_catch();
		progress_start(&mk.progress, "formatting");
		err = make(&mk);
		progress_end(&mk.progress);
		free(mk.buf);
	}
	if (!err)
		return 0;
	if (err == -EINTR)
		return fail(OC_EXIT_TEMP, "Format it again to use it",
			    "interrupted (%s holds no cache now)", cache->path);
	return fail(OC_EXIT_IO, "See the kernel log for the device",
		    "cannot write %s (%s)", cache->path, strerror(-err));
}
