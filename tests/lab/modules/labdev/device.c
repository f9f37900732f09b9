// SPDX-License-Identifier: GPL-2.0
/*
 * A model device's life as a block device.
 */
#define pr_fmt(fmt) "labdev: " fmt

#include <linux/blkdev.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "faults.h"
#include "labdev.h"
#include "power.h"

static const struct block_device_operations lab_fops = {
	.owner = THIS_MODULE,
	.submit_bio = lab_submit_bio,
};

/* A discard holds a part for each page that exists: keep the list bounded. */
#define LAB_DISCARD_SECTORS	(64 << 11)

static int lab_disk_create(struct lab_dev *dev)
{
	const struct lab_params *par = &dev->par;
	const struct lab_limits limits = {
		.lbs = par->lbs,
		.pbs = par->pbs,
		.max_sectors = par->max_kb << 1,
		.discard_sectors = par->discard ? LAB_DISCARD_SECTORS : 0,
		.write_cache = par->has_cache,
		.rotational = dev->engine->rotational,
	};
	struct gendisk *disk = lab_alloc_disk(&limits);
	int ret;

	if (IS_ERR(disk))
		return PTR_ERR(disk);
	strscpy(disk->disk_name, par->name, DISK_NAME_LEN);
	disk->fops = &lab_fops;
	disk->private_data = dev;
	/* reading a partition table would cost simulated time */
	disk->flags |= GENHD_FL_NO_PART;
	set_capacity(disk, lab_params_sectors(par));
	dev->disk = disk;
	ret = add_disk(disk);
	if (ret)
		put_disk(disk);
	return ret;
}

static void lab_dev_free(struct lab_dev *dev)
{
	if (dev->engine->destroy)
		dev->engine->destroy(dev);
	lab_faults_clear(dev);
	spin_lock_irq(&dev->lock);
	lab_settle_all(dev);
	spin_unlock_irq(&dev->lock);
	lab_store_destroy(&dev->store);
	kfree(dev);
}

static struct lab_dev *lab_dev_alloc(const struct lab_params *par)
{
	struct lab_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	dev->par = *par;
	dev->engine = par->preset->engine;
	dev->random = par->seed;
	sema_init(&dev->tags, par->tags);
	spin_lock_init(&dev->lock);
	hrtimer_setup(&dev->timer, lab_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	INIT_LIST_HEAD(&dev->inflight);
	INIT_LIST_HEAD(&dev->done);
	INIT_LIST_HEAD(&dev->unstable);
	INIT_LIST_HEAD(&dev->faults);
	lab_store_init(&dev->store);
	return dev;
}

struct lab_dev *lab_dev_create(const struct lab_params *par)
{
	struct lab_dev *dev = lab_dev_alloc(par);
	int ret = 0;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	if (dev->engine->create)
		ret = dev->engine->create(dev);
	if (!ret)
		ret = lab_disk_create(dev);
	if (ret) {
		lab_dev_free(dev);
		return ERR_PTR(ret);
	}
	dev->stat = debugfs_create_file(par->name, 0600, lab_debugfs, dev,
					&lab_stat_fops);
	return dev;
}

/* With nobody to open it and nothing in flight, no I/O can come any more. */
int lab_dev_destroy(struct lab_dev *dev)
{
	if (disk_openers(dev->disk) || atomic_read(&dev->users))
		return -EBUSY;
	if (dev->armed)
		lab_power_disarm();
	debugfs_remove(dev->stat);
	del_gendisk(dev->disk);
	hrtimer_cancel(&dev->timer);
	put_disk(dev->disk);
	lab_dev_free(dev);
	return 0;
}
