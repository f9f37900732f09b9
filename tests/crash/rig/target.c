// SPDX-License-Identifier: GPL-2.0-only
/*
 * What can be under test: ours, the peers, and what is no cache at all (which shows that
 * the oracle does not cry wolf, or with a lying disk, that it can).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bcache.h"
#include "rig.h"

#define TOP		"top"
#define MS		1000000ULL
#define PATIENCE	2000		/* times 10 ms */

char device_path[CUT_PATH];

static const char *const mode_name[] = {
	"writeback", "writethrough", "writearound", "passthrough",
};

static __u64 slow_sectors(const struct plan *p)
{
	return p->slow.kb * 2;
}

static int remove_top(void)
{
	int i, ret = -EBUSY;

	for (i = 0; i < PATIENCE && ret == -EBUSY; i++) {
		if (i)
			sleep_ns(10 * MS);
		ret = dm_remove(TOP);
	}
	return ret == -ENXIO ? 0 : ret;
}

/* ---- no cache -------------------------------------------------------- */

static int bare_create(const struct plan *p, bool format)
{
	(void)p;
	(void)format;
	snprintf(device_path, CUT_PATH, "/dev/slow");
	return 0;
}

static int nothing(void)
{
	return 0;
}

static int linear_create(const struct plan *p, bool format)
{
	(void)format;
	return dm_create(TOP, device_path, slow_sectors(p), "linear", "/dev/slow 0");
}

/* ---- optcache -------------------------------------------------------- */

static unsigned int mode_now;

static const char *optcache_args(const struct plan *p, bool format)
{
	static char text[160];

	snprintf(text, sizeof(text),
		 "/dev/fast /dev/slow %d mode %s writeback_delay %u seq_cutoff %u%s",
		 6 + format, mode_name[mode_now], p->delay, p->cutoff,
		 format ? " format" : "");
	return text;
}

static int optcache_create(const struct plan *p, bool format)
{
	if (format)
		mode_now = p->mode;
	return dm_create(TOP, device_path, slow_sectors(p), "optcache",
			 format ? optcache_args(p, true) : "/dev/fast /dev/slow 0");
}

static bool status_field(const char *text, const char *key, __u64 *value)
{
	char word[40];
	const char *at;

	snprintf(word, sizeof(word), " %s=", key);
	at = strstr(text, word);
	if (!at)
		return false;
	*value = strtoull(at + strlen(word), NULL, 10);
	return true;
}

static int optcache_status(struct status *st)
{
	const char *text = dm_status(TOP);

	if (!text || !status_field(text, "dirty", &st->dirty) ||
	    !status_field(text, "mapped", &st->mapped) ||
	    !status_field(text, "fresh", &st->fresh) ||
	    !status_field(text, "journal_commits", &st->commits))
		return -EIO;
	return 0;
}

static int optcache_writeback(void)
{
	const char *text;
	__u64 left;
	int i, ret = dm_message(TOP, "flush");

	for (i = 0; !ret && i < PATIENCE; i++) {
		text = dm_status(TOP);
		if (!text)
			return -EIO;
		if (strstr(text, " flush=idle"))
			return status_field(text, "flush_left", &left) && !left ? 0 : -EAGAIN;
		sleep_ns(10 * MS);
	}
	return ret ?: -ETIMEDOUT;
}

/* The superblocks are enough: old journal blocks and pages must not matter. */
static int optcache_wipe(void)
{
	return zero_start("/dev/fast", 12);
}

static int optcache_reload(const struct plan *p, unsigned int mode)
{
	int ret;

	mode_now = mode;
	ret = dm_load(TOP, slow_sectors(p), "optcache", optcache_args(p, false));
	if (!ret)
		ret = dm_suspend(TOP);
	return ret ?: dm_resume(TOP);
}

static int optcache_set(const char *key, unsigned int value)
{
	char text[64];

	snprintf(text, sizeof(text), "set %s %u", key, value);
	return dm_message(TOP, text);
}

static int optcache_mode(unsigned int mode, bool sysfs)
{
	char text[96];

	mode_now = mode;
	if (sysfs) {
		snprintf(text, sizeof(text), "/sys/block/%s/optcache/mode",
			 strrchr(device_path, '/') + 1);
		return put(text, "%s\n", mode_name[mode]);
	}
	snprintf(text, sizeof(text), "set mode %s", mode_name[mode]);
	return dm_message(TOP, text);
}

static int optcache_control(const struct plan *p, const struct cut_op *op)
{
	int ret;

	switch (op->control) {
	case C_MODE_MESSAGE:
	case C_MODE_SYSFS:
		return optcache_mode(op->arg, op->control == C_MODE_SYSFS);
	case C_RELOAD:
		return optcache_reload(p, op->arg);
	case C_SUSPEND:
		ret = dm_suspend(TOP);
		return ret ?: dm_resume(TOP);
	case C_DELAY:
		return optcache_set("writeback_delay", op->arg);
	case C_CUTOFF:
		return optcache_set("seq_cutoff", op->arg * 16);
	case C_HIGH:
		return optcache_set("dirty_high", op->arg);
	case C_FLUSH:
		return dm_message(TOP, "flush");
	case C_CANCEL:
		return dm_message(TOP, "cancel-flush");
	default:
		return dm_message(TOP, "drop-clean");
	}
}

/* A device that could not be resumed would hold its I/O for ever. */
static void let_go(const struct plan *p)
{
	if (!dm_suspended(TOP))
		return;
	dm_load(TOP, slow_sectors(p), "error", "");
	dm_resume(TOP);
}

int target_control(const struct target *t, const struct plan *p, const struct cut_op *op)
{
	int ret;

	if (!t->controls)
		return 0;
	ret = optcache_control(p, op);
	if (ret)
		let_go(p);
	return ret;
}

/* ---- peers ----------------------------------------------------------- */

static int writecache_create(const struct plan *p, bool format)
{
	char args[160];

	(void)format;
	snprintf(args, sizeof(args),
		 "s /dev/slow /dev/fast 4096 4 high_watermark 40 low_watermark 20");
	return dm_create(TOP, device_path, slow_sectors(p), "writecache", args);
}

static int writecache_writeback(void)
{
	return dm_message(TOP, "flush");
}

#define CACHE_META	8192		/* sectors */

static char cache_meta[CUT_PATH], cache_data[CUT_PATH];

static int cache_parts(const struct plan *p)
{
	char args[64];
	int ret = dm_create("meta", cache_meta, CACHE_META, "linear", "/dev/fast 0");

	snprintf(args, sizeof(args), "/dev/fast %d", CACHE_META);
	return ret ?: dm_create("data", cache_data, p->fast.kb * 2 - CACHE_META, "linear", args);
}

static int cache_destroy(void)
{
	int ret = remove_top();

	dm_remove("meta");
	dm_remove("data");
	return ret;
}

static int cache_create(const struct plan *p, bool format)
{
	char args[200];
	int ret = cache_parts(p);

	(void)format;
	snprintf(args, sizeof(args),
		 "%s %s /dev/slow 64 1 writeback smq 2 migration_threshold 16384",
		 cache_meta, cache_data);
	if (!ret)
		ret = dm_create(TOP, device_path, slow_sectors(p), "cache", args);
	if (ret)
		cache_destroy();
	return ret;
}

static const struct target targets[] = {
	{
		.name = "optcache", .module = "dm-optcache", .fast_kb = 336,
		.fast_more_kb = 800, .controls = true,
		.create = optcache_create, .destroy = remove_top,
		.writeback = optcache_writeback, .status = optcache_status,
		.wipe = optcache_wipe,
	},
	{
		.name = "bare", .fast_kb = 336, .create = bare_create,
		.destroy = nothing,
	},
	{
		.name = "dm-linear", .fast_kb = 336,
		.create = linear_create, .destroy = remove_top,
	},
	{
		.name = "dm-writecache", .fast_kb = 1024, .fast_more_kb = 1024, .lbs = 4096,
		.create = writecache_create, .destroy = remove_top,
		.writeback = writecache_writeback,
	},
	{
		.name = "dm-cache", .fast_kb = 5120, .fast_more_kb = 1024,
		.create = cache_create, .destroy = cache_destroy,
	},
	{
		.name = "bcache", .fast_kb = 16384, .offset = BCACHE_OFFSET,
		.create = bcache_create, .destroy = bcache_destroy,
	},
};

#define NR_TARGETS (sizeof(targets) / sizeof(targets[0]))

const struct target *target_find(const char *name)
{
	size_t i;

	for (i = 0; i < NR_TARGETS; i++)
		if (!strcmp(targets[i].name, name))
			return &targets[i];
	return NULL;
}

void target_names(void)
{
	size_t i;

	for (i = 0; i < NR_TARGETS; i++)
		printf(" %s", targets[i].name);
}
