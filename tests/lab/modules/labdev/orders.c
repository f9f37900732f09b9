// SPDX-License-Identifier: GPL-2.0
/*
 * The commands, each from its words to the call that carries it out.
 */
#define pr_fmt(fmt) "labdev: " fmt

#include <linux/slab.h>
#include <linux/string.h>

#include "faults.h"
#include "labdev.h"
#include "orders.h"
#include "power.h"
#include "words.h"

LIST_HEAD(lab_devices);
DEFINE_MUTEX(lab_mutex);		/* one command at a time */

static struct lab_dev *lab_find(const char *name)
{
	struct lab_dev *dev;

	lockdep_assert_held(&lab_mutex);
	list_for_each_entry(dev, &lab_devices, node)
		if (!strcmp(dev->par.name, name))
			return dev;
	return NULL;
}

/* The devices that @w names, at least one and at most @max. */
static int lab_named(struct lab_words *w, struct lab_dev **devs,
		     unsigned int max)
{
	unsigned int i;

	if (!w->nr_names || w->nr_names > max) {
		lab_refuse(w, "wants the name of %s",
			   max == 1 ? "one device" : "at least one device");
		return -EINVAL;
	}
	for (i = 0; i < w->nr_names; i++) {
		devs[i] = lab_find(w->names[i]);
		if (!devs[i]) {
			lab_refuse(w, "no device %s", w->names[i]);
			return -ENODEV;
		}
	}
	return lab_words_all_asked(w);
}

static int lab_do_add(struct lab_words *w)
{
	struct lab_params *par = kzalloc(sizeof(*par), GFP_KERNEL);
	struct lab_dev *dev;
	int ret;

	if (!par)
		return -ENOMEM;
	ret = lab_params_parse(par, w);
	if (!ret && w->nr_names) {
		lab_refuse(w, "what is %s?", w->names[0]);
		ret = -EINVAL;
	}
	if (!ret && lab_find(par->name)) {
		lab_refuse(w, "there is a device %s", par->name);
		ret = -EEXIST;
	}
	if (ret)
		goto out;
	dev = lab_dev_create(par);
	if (IS_ERR(dev)) {
		ret = PTR_ERR(dev);
		lab_refuse(w, "%s: error %d", par->name, ret);
		goto out;
	}
	list_add_tail(&dev->node, &lab_devices);
out:
	kfree(par);
	return ret;
}

static int lab_del(struct lab_words *w, struct lab_dev *dev)
{
	int ret;

	/* off the list first: nothing may find it half gone */
	list_del(&dev->node);
	ret = lab_dev_destroy(dev);
	if (ret) {
		list_add_tail(&dev->node, &lab_devices);
		lab_refuse(w, "%s is in use", dev->par.name);
	}
	return ret;
}

static int lab_do_del(struct lab_words *w)
{
	struct lab_dev *dev;

	return lab_named(w, &dev, 1) ?: lab_del(w, dev);
}

static int lab_fault_ops(struct lab_words *w, unsigned int *ops)
{
	static const struct {
		const char *name;
		unsigned int ops;
	} known[] = {
		{ "read", LAB_FAULT_READ },
		{ "write", LAB_FAULT_WRITE },
		{ "flush", LAB_FAULT_FLUSH },
		{ "discard", LAB_FAULT_DISCARD },
		{ "any", LAB_FAULT_READ | LAB_FAULT_WRITE | LAB_FAULT_FLUSH |
			 LAB_FAULT_DISCARD },
	};
	const char *op = lab_word(w, "op") ?: "any";
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(op, known[i].name)) {
			*ops = known[i].ops;
			return 0;
		}
	lab_refuse(w, "op=%s is none of read, write, flush, discard, any", op);
	return -EINVAL;
}

static int lab_fault_status(struct lab_words *w, blk_status_t *status)
{
	static const struct {
		const char *name;
		blk_status_t status;
	} known[] = {
		{ "medium", BLK_STS_MEDIUM },
		{ "io", BLK_STS_IOERR },
		{ "timeout", BLK_STS_TIMEOUT },
		{ "nospc", BLK_STS_NOSPC },
		{ "target", BLK_STS_TARGET },
		{ "protection", BLK_STS_PROTECTION },
	};
	const char *name = lab_word(w, "status") ?: "medium";
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(name, known[i].name)) {
			*status = known[i].status;
			return 0;
		}
	lab_refuse(w, "status=%s is none of medium, io, timeout, nospc, target, protection",
		   name);
	return -EINVAL;
}

/* What "fail" and "slow" have in common. */
static int lab_fault_parse(struct lab_words *w, struct lab_fault *f)
{
	u64 start = 0, sectors = 0, heals = 0;
	int ret = lab_fault_ops(w, &f->ops);

	ret = ret ?: lab_word_u64(w, "sector", &start);
	ret = ret ?: lab_word_u64(w, "len", &sectors);
	ret = ret ?: lab_word_u64(w, "count", &f->count);
	ret = ret ?: lab_word_u64(w, "skip", &f->skip);
	ret = ret ?: lab_word_u64(w, "heals", &heals);
	f->start = start;
	f->end = sectors ? start + sectors : U64_MAX;
	f->heals = heals;
	return ret;
}

static int lab_fault_order(struct lab_words *w,
			   int (*effect)(struct lab_words *, struct lab_fault *))
{
	struct lab_fault *f = kzalloc(sizeof(*f), GFP_KERNEL);
	struct lab_dev *dev;
	int ret;

	if (!f)
		return -ENOMEM;
	ret = lab_fault_parse(w, f);
	ret = ret ?: effect(w, f);
	ret = ret ?: lab_named(w, &dev, 1);
	if (ret)
		kfree(f);
	else
		lab_faults_add(dev, f);
	return ret;
}

static int lab_fail_effect(struct lab_words *w, struct lab_fault *f)
{
	return lab_fault_status(w, &f->status);
}

static int lab_slow_effect(struct lab_words *w, struct lab_fault *f)
{
	u64 us = 0;

	if (lab_word_u64(w, "us", &us) || !us) {
		lab_refuse(w, "wants us=, the delay in microseconds");
		return -EINVAL;
	}
	f->delay_ns = us * NSEC_PER_USEC;
	return 0;
}

static int lab_do_fail(struct lab_words *w)
{
	return lab_fault_order(w, lab_fail_effect);
}

static int lab_do_slow(struct lab_words *w)
{
	return lab_fault_order(w, lab_slow_effect);
}

static int lab_do_heal(struct lab_words *w)
{
	struct lab_dev *dev;
	int ret = lab_named(w, &dev, 1);

	if (!ret)
		lab_faults_clear(dev);
	return ret;
}

static int lab_do_lie(struct lab_words *w)
{
	static const struct {
		const char *name;
		enum lab_lie lie;
	} known[] = {
		{ "fua", LAB_LIE_FUA },
		{ "flush", LAB_LIE_FLUSH },
		{ "misplace", LAB_LIE_MISPLACE },
	};
	const char *about = lab_word(w, "about") ?: "";
	struct lab_dev *dev;
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(about, known[i].name))
			break;
	if (i == ARRAY_SIZE(known)) {
		lab_refuse(w, "wants about=, one of fua, flush, misplace");
		return -EINVAL;
	}
	ret = lab_named(w, &dev, 1);
	if (!ret)
		dev->lies |= known[i].lie;
	return ret;
}

static int lab_do_vanish(struct lab_words *w)
{
	struct lab_dev *dev;
	u64 seed = 0;
	bool lossy = lab_word(w, "seed");
	int ret = lab_word_u64(w, "seed", &seed);

	ret = ret ?: lab_named(w, &dev, 1);
	if (!ret && dev->state != LAB_UP) {
		lab_refuse(w, "%s is not up", dev->par.name);
		ret = -EINVAL;
	}
	if (!ret)
		lab_vanish(dev, lossy, seed);
	return ret;
}

static int lab_power_up_named(struct lab_words *w, enum lab_state from,
			      const char *what)
{
	struct lab_dev *devs[LAB_MAX_NAMES];
	const char *image = lab_word(w, "image");
	unsigned int i;
	int ret = 0;

	if (image && strcmp(image, "saved")) {
		lab_refuse(w, "image= can only be saved");
		return -EINVAL;
	}
	ret = lab_named(w, devs, LAB_MAX_NAMES);
	for (i = 0; !ret && i < w->nr_names; i++) {
		ret = lab_power_up(devs[i], from, image);
		if (ret)
			lab_refuse(w, "%s %s", w->names[i],
				   ret == -EBUSY ? "has I/O in flight" : what);
	}
	return ret;
}

static int lab_do_return(struct lab_words *w)
{
	return lab_power_up_named(w, LAB_VANISHED, "has not vanished");
}

static int lab_do_restore(struct lab_words *w)
{
	return lab_power_up_named(w, LAB_CUT, "has not been cut");
}

static int lab_do_cut(struct lab_words *w)
{
	struct lab_cut_order order = { };
	int ret = lab_word_u64(w, "seed", &order.seed);

	ret = ret ?: lab_word_u64(w, "after_ios", &order.after_ios);
	ret = ret ?: lab_word_u64(w, "delay_ns", &order.delay_ns);
	ret = ret ?: lab_named(w, order.devs, LAB_MAX_NAMES);
	if (ret)
		return ret;
	order.nr = w->nr_names;
	if (order.after_ios || order.delay_ns)
		lab_power_arm(&order);
	else
		lab_power_cut(&order);
	return 0;
}

static int lab_do_disarm(struct lab_words *w)
{
	lab_power_disarm();
	return 0;
}

static int lab_each(struct lab_words *w, int (*fn)(struct lab_dev *))
{
	struct lab_dev *devs[LAB_MAX_NAMES];
	int ret = lab_named(w, devs, LAB_MAX_NAMES);
	unsigned int i;

	for (i = 0; !ret && i < w->nr_names; i++) {
		ret = fn(devs[i]);
		if (ret)
			lab_refuse(w, "%s: %s", w->names[i],
				   ret == -EBUSY ? "has I/O in flight" :
						   "out of memory");
	}
	return ret;
}

static int lab_do_save(struct lab_words *w)
{
	return lab_each(w, lab_image_save);
}

static int lab_do_reset(struct lab_words *w)
{
	return lab_each(w, lab_image_reset);
}

const struct lab_command lab_commands[] = {
	{ "add", lab_do_add, "name=N model=M [parameter=value ...]\n"
	  "make /dev/N" },
	{ "del", lab_do_del, "N\n"
	  "remove it; nobody may have it open" },
	{ "fail", lab_do_fail, "N [op=read|write|flush|discard|any]\n"
	  "[sector=S len=L] [skip=K] [count=K] [heals=1]\n"
	  "[status=medium|io|timeout|nospc|target|protection]\n"
	  "errors; with heals=1, until a write covers the range" },
	{ "slow", lab_do_slow, "N us=U [op=] [sector= len=] [skip=] [count=]\n"
	  "delays" },
	{ "heal", lab_do_heal, "N\n"
	  "no more errors and delays" },
	{ "lie", lab_do_lie, "N about=fua|flush|misplace\n"
	  "ignore FUA, or flushes; write every 64th write 4 KiB too far" },
	{ "vanish", lab_do_vanish, "N [seed=S]\n"
	  "every I/O fails; with a seed, the cache is lost as in a cut" },
	{ "return", lab_do_return, "N ... [image=saved]\n"
	  "after vanish: with its content, or that of the last save" },
	{ "cut", lab_do_cut, "N ... seed=S [after_ios=K] [delay_ns=D]\n"
	  "power cut, now or D ns after the K-th write from now to any" },
	{ "disarm", lab_do_disarm, "\n"
	  "call off a cut that is still to come" },
	{ "restore", lab_do_restore, "N ... [image=saved]\n"
	  "after a cut: power on, with what survived" },
	{ "save", lab_do_save, "N ...\n"
	  "remember the content" },
	{ "reset", lab_do_reset, "N ...\n"
	  "back to the last save (or empty), and powered" },
	{ }
};
