// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm glue: table lines, limits, and the way of a bio into map.c and out of complete.c.
 */
#include "compat.h"
#include "io.h"
#include "messages.h"
#include "status.h"
#include "sysfs.h"

#include <linux/device-mapper.h>
#include <linux/module.h>
#include <linux/sched/mm.h>

struct oc_target {
	struct oc_core *core;
	struct dm_dev *cache;
	struct dm_dev *origin;
	struct oc_options opt;	/* what the table line gives */
	bool keep_dirty;	/* the same */
};

static struct oc_core *core_of(struct dm_target *ti)
{
	return ((struct oc_target *)ti->private)->core;
}

/* ---- constructor ----------------------------------------------------- */

/* The log says why already. */
static int logged(struct dm_target *ti, int r)
{
	ti->error = "refused, the line before says why";
	return r;
}

static int refuse(struct dm_target *ti, int r, const char *why)
{
	DMERR("%s: %s", dm_table_device_name(ti->table), why);
	return logged(ti, r);
}

static int get_devices(struct dm_target *ti, struct oc_target *t,
		       const struct oc_table_args *args)
{
	int r;

	r = dm_get_device(ti, args->cache_dev, dm_table_get_mode(ti->table), &t->cache);
	if (r)
		return refuse(ti, r, "the cache device cannot be opened: is it there, and not in use?");
	r = dm_get_device(ti, args->origin_dev, dm_table_get_mode(ti->table), &t->origin);
	if (r)
		return refuse(ti, r, "the origin cannot be opened: is it there, not in use, not mounted?");
	return 0;
}

static int check_devices(struct dm_target *ti, const struct oc_target *t)
{
	if (!oc_table_writable(ti))
		return refuse(ti, -EROFS, "a read-only table is not supported: a cache must write its metadata");
	if (t->cache->bdev == t->origin->bdev)
		return refuse(ti, -EINVAL, "cache device and origin are the same device");
	if (ti->len != bdev_nr_sectors(t->origin->bdev))
		return refuse(ti, -EINVAL, "the table's length is not the size of the origin: use blockdev --getsz");
	if (bdev_logical_block_size(t->cache->bdev) > bdev_logical_block_size(t->origin->bdev))
		return refuse(ti, -EINVAL, "the cache device's logical sectors are larger than the origin's: give it a namespace with 512-byte sectors (nvme format --lbaf)");
	return 0;
}

/* A core of this pair is live: do the devices still have its sizes? */
static int check_live(struct dm_target *ti, struct oc_target *t, bool format)
{
	int r;

	if (format)
		return refuse(ti, -EBUSY, "format: the cache is active");
	r = oc_core_check_sizes(t->core, &t->core->super.geo, t->cache->bdev, ti->len);
	return r ? logged(ti, r) : 0;
}

/* Does the cache device hold a cache, or may it be made? */
static int check_cache(struct dm_target *ti, struct oc_target *t, bool format)
{
	struct oc_super *sb;
	const char *why;
	int r;

	if (t->core->state != OC_CORE_NEW)
		return check_live(ti, t, format);
	if (format) {
		r = oc_format(t->cache->bdev, t->origin->bdev, &why);
		if (r)
			return refuse(ti, r, why);
	}
	sb = kzalloc(sizeof(*sb), GFP_KERNEL);
	if (!sb)
		return refuse(ti, -ENOMEM, "out of memory");
	r = oc_super_load(t->cache->bdev, sb, NULL, &why);
	if (r)
		refuse(ti, r, why);
	kfree(sb);
	return r;
}

static void put_all(struct dm_target *ti, struct oc_target *t)
{
	if (t->core)
		oc_core_put(t->core, ti->table);
	if (t->origin)
		dm_put_device(ti, t->origin);
	if (t->cache)
		dm_put_device(ti, t->cache);
	kfree(t);
}

static int open_target(struct dm_target *ti, struct oc_target *t, unsigned int argc, char **argv)
{
	struct oc_table_args args;
	char why[OC_WHY_MAX];
	struct oc_core *core;
	int r;

	r = oc_table_parse(&args, argc, argv, why);
	if (r)
		return refuse(ti, r, why);
	t->opt = args.opt;
	t->keep_dirty = args.keep_dirty;
	r = get_devices(ti, t, &args);
	if (!r)
		r = check_devices(ti, t);
	if (r)
		return r;
	core = oc_core_get(ti, t->cache->bdev, t->origin->bdev, why);
	if (IS_ERR(core))
		return refuse(ti, PTR_ERR(core), why);
	t->core = core;
	return check_cache(ti, t, args.format);
}

static int optcache_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct oc_target *t = kzalloc(sizeof(*t), GFP_KERNEL);
	int r;

	if (!t) {
		ti->error = "out of memory";
		return -ENOMEM;
	}
	r = open_target(ti, t, argc, argv);
	if (!r)
		r = dm_set_target_max_io_len(ti, OC_REGION_SECTORS);
	if (r) {
		put_all(ti, t);
		return r;
	}
	ti->private = t;
	ti->per_io_data_size = sizeof(struct oc_io);
	ti->num_flush_bios = 1;
	ti->flush_supported = true;
	ti->num_discard_bios = 1;
	ti->discards_supported = true;
	return 0;
}

/* Suspended as long as it is ours: a table that has replaced this one is in force by now. */
static void optcache_dtr(struct dm_target *ti)
{
	unsigned int noio = memalloc_noio_save();

	if (dm_suspended(ti))
		oc_core_seal(core_of(ti));
	put_all(ti, ti->private);
	memalloc_noio_restore(noio);
}

/* ---- I/O ------------------------------------------------------------- */

static int optcache_map(struct dm_target *ti, struct bio *bio)
{
	struct oc_io *io = dm_per_bio_data(bio, sizeof(*io));

	io->core = core_of(ti);
	io->bio = bio;
	if (bio_sectors(bio))
		bio->bi_iter.bi_sector = dm_target_offset(ti, bio->bi_iter.bi_sector);
	return oc_map(io);
}

static int optcache_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error)
{
	struct oc_io *io = dm_per_bio_data(bio, sizeof(*io));

	return oc_io_end(io, error) ? DM_ENDIO_DONE : DM_ENDIO_INCOMPLETE;
}

/* ---- suspend, resume ------------------------------------------------- */

/*
 * Between suspend and resume memory must not be waited for by writing to this very
 * device, which may hold the swap: no I/O from reclaim.
 */
static int optcache_preresume(struct dm_target *ti)
{
	struct oc_target *t = ti->private;
	struct oc_core *core = t->core;
	unsigned int noio = memalloc_noio_save();
	int r;

	core->cache = t->cache->bdev;
	core->origin = t->origin->bdev;
	core->origin_sectors = ti->len;
	core->ti = ti;
	core->keep_dirty = t->keep_dirty;
	r = oc_core_resume(core, &t->opt);
	if (!r) {
		/* once: what is set later shall survive a suspend */
		t->opt.mask = 0;
		r = oc_sysfs_add(core);
		if (r)
			oc_core_suspend(core);
	}
	memalloc_noio_restore(noio);
	return r;
}

/* By now all user I/O has ended, also what the file system wrote when it was frozen. */
static void optcache_postsuspend(struct dm_target *ti)
{
	struct oc_core *core = core_of(ti);
	unsigned int noio = memalloc_noio_save();

	oc_sysfs_remove(core);
	oc_core_suspend(core);
	memalloc_noio_restore(noio);
}

/* ---- the rest -------------------------------------------------------- */

static void optcache_status(struct dm_target *ti, status_type_t type, unsigned int flags,
			    char *result, unsigned int maxlen)
{
	struct oc_target *t = ti->private;

	oc_status(t->core, ti, &t->opt, type, result, maxlen);
}

static int optcache_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
			    unsigned int maxlen)
{
	return oc_message(core_of(ti), argc, argv, result, maxlen);
}

/*
 * Both: the caller's own pages go to either.  The logical sectors stay the origin's, which are
 * not smaller (check_devices()), and in which the length of the cache device has to be told.
 */
static int optcache_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn,
				    void *data)
{
	struct oc_target *t = ti->private;
	sector_t unit = bdev_logical_block_size(t->origin->bdev) >> SECTOR_SHIFT;
	int r = fn(ti, t->cache, 0, round_down(bdev_nr_sectors(t->cache->bdev), unit), data);

	return r ?: fn(ti, t->origin, 0, ti->len, data);
}

static void optcache_io_hints(struct dm_target *ti, struct queue_limits *limits)
{
	limits->io_min = max_t(unsigned int, limits->io_min, OPTCACHE_BLOCK_SIZE);
	oc_limits_discard(limits, OC_REGION_SECTORS, OPTCACHE_BLOCK_SIZE);
}

static struct target_type optcache_target = {
	.name = OPTCACHE_NAME,
	.version = {1, 0, 0},
	.features = DM_TARGET_NOWAIT,
	.module = THIS_MODULE,
	.ctr = optcache_ctr,
	.dtr = optcache_dtr,
	.map = optcache_map,
	.end_io = optcache_end_io,
	.preresume = optcache_preresume,
	.postsuspend = optcache_postsuspend,
	.status = optcache_status,
	.message = optcache_message,
	.iterate_devices = optcache_iterate_devices,
	.io_hints = optcache_io_hints,
};

static int __init optcache_init(void)
{
	return dm_register_target(&optcache_target);
}

static void __exit optcache_exit(void)
{
	dm_unregister_target(&optcache_target);
	oc_core_forget_all();
}

module_init(optcache_init);
module_exit(optcache_exit);

MODULE_DESCRIPTION(DM_NAME " cache in front of a hard disk");
MODULE_LICENSE("GPL");
