// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages: `dmsetup message <dev> 0 <message> [<argument>]...`
 *
 *	set <key> <value>	change an option
 *	flush			write every dirty block back; progress is in the status
 *	cancel-flush		go back to write-back at its own pace
 *	drop-clean		empty the cache of what the origin has anyway
 *	reset-stats		counters start again from 0
 *
 * dm holds the live table while a message runs, so each starts its work and returns; only
 * the first after an activation waits for the superblock (oc_core_arm()).
 * admin keeps them apart from each other, from sysfs, and from start and stop.
 */
#include "core.h"
#include "messages.h"

#include <linux/device-mapper.h>

int oc_set_option(struct oc_core *core, const char *key, const char *value)
{
	char why[OC_WHY_MAX];
	struct oc_options opt;
	int err;

	mutex_lock(&core->admin);
	opt = core->options;
	err = oc_option_set(&opt, key, value, why);
	if (!err) {
		oc_core_apply(core, &opt);
		if (core->state == OC_CORE_RUNNING)
			oc_core_arm(core);	/* somebody's will, not only an activation */
		oc_core_save(core);
	}
	mutex_unlock(&core->admin);

	if (err)
		DMERR("%s: cannot set option: %s", dm_device_name(core->md), why);
	return err;
}

static int message_set(struct oc_core *core, char **arg)
{
	return oc_set_option(core, arg[0], arg[1]);
}

/* What needs a running cache: admin held, and running, or -EINVAL. */
static int begin(struct oc_core *core, const char *what)
{
	mutex_lock(&core->admin);
	if (core->state == OC_CORE_RUNNING)
		return 0;
	mutex_unlock(&core->admin);
	DMERR("%s: %s: the cache is not active; resume the device first (dmsetup resume)",
	      dm_device_name(core->md), what);
	return -EINVAL;
}

static int message_flush(struct oc_core *core, char **arg)
{
	int err = begin(core, "flush");

	if (err)
		return err;
	oc_core_arm(core);
	oc_writeback_flush(core);
	mutex_unlock(&core->admin);
	return 0;
}

static int message_cancel_flush(struct oc_core *core, char **arg)
{
	int err = begin(core, "cancel-flush");

	if (err)
		return err;
	oc_writeback_cancel(core);
	mutex_unlock(&core->admin);
	return 0;
}

static int message_drop_clean(struct oc_core *core, char **arg)
{
	int err = begin(core, "drop-clean");

	if (err)
		return err;
	oc_evict_all(core);
	mutex_unlock(&core->admin);
	return 0;
}

static int message_reset_stats(struct oc_core *core, char **arg)
{
	mutex_lock(&core->admin);
	oc_stats_reset(core);
	mutex_unlock(&core->admin);
	return 0;
}

static const struct {
	const char *name;
	unsigned int nr_args;
	const char *args;	/* as shown */
	int (*run)(struct oc_core *core, char **arg);
} messages[] = {
	{ "set", 2, "two arguments, <key> <value>", message_set },
	{ "flush", 0, "no argument", message_flush },
	{ "cancel-flush", 0, "no argument", message_cancel_flush },
	{ "drop-clean", 0, "no argument", message_drop_clean },
	{ "reset-stats", 0, "no argument", message_reset_stats },
};

int oc_message(struct oc_core *core, unsigned int argc, char **argv, char *result,
	       unsigned int maxlen)
{
	unsigned int i;

	/* dm keeps empty messages and those that start with @ to itself */
	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		if (strcmp(argv[0], messages[i].name))
			continue;
		if (argc - 1 == messages[i].nr_args)
			return messages[i].run(core, argv + 1);
		DMERR("%s: message %s takes %s, %u given", dm_device_name(core->md),
		      messages[i].name, messages[i].args, argc - 1);
		return -EINVAL;
	}
	DMERR("%s: no message '%.40s': use set, flush, cancel-flush, drop-clean, reset-stats",
	      dm_device_name(core->md), argv[0]);
	return -EINVAL;
}
