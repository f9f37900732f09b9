// SPDX-License-Identifier: GPL-2.0-only
/*
 * The folder of a cache in sysfs, /sys/block/dm-N/optcache/:
 *
 *	<option>		read and write, one file an option
 *	stats/<field>		what the status line says, one value a file
 *	stats/<counter>
 *
 * The files are made from the tables of options, fields and counters.  They live in
 * an object of their own (struct oc_sysfs); removal waits until its last reference is
 * gone, because its release function is code of this module.
 */
#include "core.h"
#include "messages.h"
#include "status.h"
#include "sysfs.h"

#include <linux/completion.h>
#include <linux/device-mapper.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#define NR_STATS	(OC_NR_FIELDS + OC_NR_COUNTERS)

struct oc_attr {
	struct attribute attr;
	ssize_t (*show)(struct oc_core *core, unsigned int i, char *buf);
	ssize_t (*store)(struct oc_core *core, unsigned int i, const char *buf, size_t len);
	unsigned int i;		/* in its table */
};

struct oc_sysfs {
	struct kobject kobj;
	struct completion released;
	struct oc_core *core;
	struct oc_attr attr[OPTCACHE_NR_OPTIONS + NR_STATS];
	struct attribute *options[OPTCACHE_NR_OPTIONS + 1];	/* ends in NULL, as the next two */
	struct attribute *stats[NR_STATS + 1];
	const struct attribute_group *groups[3];
	struct attribute_group options_group;
	struct attribute_group stats_group;
};

/* ---- values ---------------------------------------------------------- */

static ssize_t show_option(struct oc_core *core, unsigned int i, char *buf)
{
	struct oc_options o;
	char text[24];

	oc_options_read(core, &o);
	return sysfs_emit(buf, "%s\n", oc_option_text(&o, i, text, sizeof(text)));
}

static ssize_t store_option(struct oc_core *core, unsigned int i, const char *buf, size_t len)
{
	int err = oc_set_option(core, oc_option_desc[i].key, buf);

	return err ? err : len;
}

static ssize_t show_field(struct oc_core *core, unsigned int i, char *buf)
{
	const struct oc_field *f = &oc_field[i];

	if (f->word)
		return sysfs_emit(buf, "%s\n", f->word(core));
	return sysfs_emit(buf, "%llu\n", f->number(core));
}

static ssize_t show_counter(struct oc_core *core, unsigned int i, char *buf)
{
	return sysfs_emit(buf, "%llu\n", oc_stat_sum(core, i));
}

/* ---- the object ------------------------------------------------------ */

static ssize_t oc_attr_show(struct kobject *kobj, struct attribute *attr, char *buf)
{
	struct oc_sysfs *sys = container_of(kobj, struct oc_sysfs, kobj);
	struct oc_attr *a = container_of(attr, struct oc_attr, attr);

	return a->show(sys->core, a->i, buf);
}

static ssize_t oc_attr_store(struct kobject *kobj, struct attribute *attr, const char *buf,
			     size_t len)
{
	struct oc_sysfs *sys = container_of(kobj, struct oc_sysfs, kobj);
	struct oc_attr *a = container_of(attr, struct oc_attr, attr);

	return a->store ? a->store(sys->core, a->i, buf, len) : -EIO;
}

static const struct sysfs_ops oc_sysfs_ops = {
	.show = oc_attr_show,
	.store = oc_attr_store,
};

static void oc_sysfs_release(struct kobject *kobj)
{
	struct oc_sysfs *sys = container_of(kobj, struct oc_sysfs, kobj);

	complete(&sys->released);
}

static const struct kobj_type oc_sysfs_type = {
	.release = oc_sysfs_release,
	.sysfs_ops = &oc_sysfs_ops,
};

static struct attribute *add_attr(struct oc_attr *a, const char *name, unsigned int i,
				  ssize_t (*show)(struct oc_core *, unsigned int, char *))
{
	sysfs_attr_init(&a->attr);
	a->attr.name = name;
	a->attr.mode = 0444;
	a->show = show;
	a->i = i;
	return &a->attr;
}

static struct oc_sysfs *oc_sysfs_alloc(struct oc_core *core)
{
	struct oc_sysfs *sys = kzalloc(sizeof(*sys), GFP_KERNEL);
	struct attribute **stat;
	struct oc_attr *a;
	unsigned int i;

	if (!sys)
		return NULL;
	sys->core = core;
	init_completion(&sys->released);

	a = sys->attr;
	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++, a++) {
		sys->options[i] = add_attr(a, oc_option_desc[i].key, i, show_option);
		a->attr.mode = 0644;
		a->store = store_option;
	}
	stat = sys->stats;
	for (i = 0; i < OC_NR_FIELDS; i++)
		*stat++ = add_attr(a++, oc_field[i].key, i, show_field);
	for (i = 0; i < OC_NR_COUNTERS; i++)
		*stat++ = add_attr(a++, oc_counter_name(i), i, show_counter);

	sys->options_group.attrs = sys->options;
	sys->stats_group.attrs = sys->stats;
	sys->stats_group.name = "stats";
	sys->groups[0] = &sys->options_group;
	sys->groups[1] = &sys->stats_group;
	return sys;
}

/* Drop the folder (if it was ever seen) and the object. */
static void oc_sysfs_free(struct oc_sysfs *sys)
{
	kobject_del(&sys->kobj);
	kobject_put(&sys->kobj);
	wait_for_completion(&sys->released);
	kfree(sys);
}

int oc_sysfs_add(struct oc_core *core)
{
	struct oc_sysfs *sys;
	int err;

	if (core->kobj)
		return 0;
	sys = oc_sysfs_alloc(core);
	if (!sys)
		return -ENOMEM;
	err = kobject_init_and_add(&sys->kobj, &oc_sysfs_type,
				   &disk_to_dev(dm_disk(core->md))->kobj, "optcache");
	if (!err)
		err = sysfs_create_groups(&sys->kobj, sys->groups);
	if (err) {
		DMERR("%s: cannot make its sysfs folder: error %d", dm_device_name(core->md), err);
		oc_sysfs_free(sys);
		return err;
	}
	core->kobj = &sys->kobj;
	return 0;
}

void oc_sysfs_remove(struct oc_core *core)
{
	struct kobject *kobj = core->kobj;

	if (!kobj)
		return;
	core->kobj = NULL;
	oc_sysfs_free(container_of(kobj, struct oc_sysfs, kobj));
}
