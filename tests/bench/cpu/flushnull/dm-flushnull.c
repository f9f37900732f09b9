// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a durable write costs before a cache has done anything: maps like dm-linear, takes
 * flushes as a cache must, and ends them at once.  dm-linear over a disk without a volatile
 * cache is not even asked: the block layer ends its flushes.
 *
 * Table line: START LENGTH flushnull DEVICE
 */
#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/module.h>

static int flushnull_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct dm_dev *dev;
	int r;

	if (argc != 1) {
		ti->error = "give the device, and nothing else";
		return -EINVAL;
	}
	r = dm_get_device(ti, argv[0], dm_table_get_mode(ti->table), &dev);
	if (r) {
		ti->error = "cannot open the device";
		return r;
	}
	ti->num_flush_bios = 1;
	ti->flush_supported = true;
	ti->private = dev;
	return 0;
}

static void flushnull_dtr(struct dm_target *ti)
{
	dm_put_device(ti, ti->private);
}

static int flushnull_map(struct dm_target *ti, struct bio *bio)
{
	struct dm_dev *dev = ti->private;

	if (bio->bi_opf & REQ_PREFLUSH) {
		bio_endio(bio);
		return DM_MAPIO_SUBMITTED;
	}
	bio_set_dev(bio, dev->bdev);
	bio->bi_iter.bi_sector = dm_target_offset(ti, bio->bi_iter.bi_sector);
	return DM_MAPIO_REMAPPED;
}

static int flushnull_iterate(struct dm_target *ti, iterate_devices_callout_fn fn, void *data)
{
	return fn(ti, ti->private, 0, ti->len, data);
}

static struct target_type flushnull_target = {
	.name = "flushnull",
	.version = { 1, 0, 0 },
	.module = THIS_MODULE,
	.ctr = flushnull_ctr,
	.dtr = flushnull_dtr,
	.map = flushnull_map,
	.iterate_devices = flushnull_iterate,
};
module_dm(flushnull);

MODULE_DESCRIPTION("dm-linear that takes flushes, for measuring");
MODULE_LICENSE("GPL");
