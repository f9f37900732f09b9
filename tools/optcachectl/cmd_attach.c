// SPDX-License-Identifier: GPL-2.0-only
/* attach: bring a pair up that was made before.  Meant for boot scripts as well. */
#include <sys/sysmacros.h>

#include "activate.h"
#include "cache.h"
#include "devname.h"
#include "exits.h"
#include "human.h"
#include "json.h"
#include "opts.h"
#include "say.h"
#include "supers.h"
#include "verb.h"

#define KEY_NAME	'n'
#define KEY_MODE	'm'
#define KEY_SET		's'

static struct {
	const char *name;
	struct opts given;
	struct oc_options opt;
} attach_opt;

static const struct argp_option options[] = {
	{ "name", KEY_NAME, "NAME", 0,
	  "Name of the device in /dev/mapper (default fast-<disk>)", 0 },
	{ "mode", KEY_MODE, "MODE", 0, "Another mode than the saved one", 0 },
	{ "set", KEY_SET, "KEY=VALUE", 0, "Another value than the saved one; may be repeated", 0 },
	{ 0 }
};

static int option(int key, const char *arg)
{
	if (key == KEY_MODE)
		return opts_add(&attach_opt.given, "mode", arg);
	if (key == KEY_SET)
		return opts_add_pair(&attach_opt.given, arg);
	if (!cache_name_valid(arg))
		return fail(OC_EXIT_USAGE, "Give another one",
			    "'%s' is no name for a device (letters, digits and #+-.:=@_)", arg);
	attach_opt.name = arg;
	return 0;
}

static int report(const char *name, const char *cache, const char *origin, bool was_active,
		  bool json)
{
	struct json_object *o;

	if (json) {
		o = json_object_new_object();
		json_text(o, "name", name);
		json_text(o, "cache", cache);
		json_text(o, "origin", origin);
		json_flag(o, "was_active", was_active);
		json_print(o);
	} else if (was_active) {
		tell("/dev/mapper/%s: %s and %s are already active", name, cache, origin);
	} else {
		tell("/dev/mapper/%s: active", name);
	}
	return 0;
}

/* The superblock and the disk fit together, as far as the tool can see. */
static int check_pair(const struct dev *cache, const struct dev *origin, const struct oc_super *sb)
{
	u64 sectors = origin->bytes >> 9;

	if (sb->geo.cache_sectors << 9 > cache->bytes)
		return fail(OC_EXIT_DATA, "Give the device its old size back",
			    "%s has become too small (it has %s, the cache on it needs %s)",
			    cache->path, human_bytes(cache->bytes).text,
			    human_bytes(sb->geo.cache_sectors << 9).text);
	if (sb->geo.origin_sectors != sectors)
		return fail(OC_EXIT_REFUSED,
			    "Name the disk that the cache was made for, or give it its old size back",
			    "%s is not the disk of the cache on %s (it has %llu sectors, that one %llu)",
			    origin->path, cache->path, (unsigned long long)sectors,
			    (unsigned long long)sb->geo.origin_sectors);
	if (sb->flags & OPTCACHE_SUPER_FAILED)
		return fail(OC_EXIT_DATA, "See what is left with optcachectl check",
			    "the cache on %s failed while it ran (its mappings are not to be trusted)",
			    cache->path);
	return 0;
}

static int check(const struct dev *cache, const struct dev *origin, char name[DM_NAME_MAX],
		 struct oc_super *sb)
{
	struct supers s;
	int code;

	code = supers_need(cache, &s);
	if (code)
		return code;
	*sb = s.sb;
	code = check_pair(cache, origin, sb);
	if (!code)
		code = activate_name(attach_opt.name, origin, name);
	if (!code)
		code = activate_check(name);
	return code;
}

static int attach(struct dev *cache, const char *origin_path, bool json)
{
	char name[DM_NAME_MAX];
	struct dev origin;
	struct oc_super sb;
	dev_t cache_dev = cache->rdev, origin_dev;
	int code;

	code = dev_open(&origin, origin_path, DEV_WRITE | DEV_EXCLUSIVE | DEV_ONLY_BLOCK);
	if (code)
		return code;
	origin_dev = origin.rdev;
	code = check(cache, &origin, name, &sb);
	dev_close(&origin);
	dev_close(cache);
	if (!code)
		code = activate_run(name, &sb, cache_dev, origin_dev, &attach_opt.opt);
	return code ? code : report(name, cache->path, origin_path, false, json);
}

/* Both belong to one and the same active cache.  Return: true when done with it. */
static bool already_active(const char *cache, const char *origin, bool json, int *code)
{
	dev_t dev[2], used[2];
	struct cache c;
	bool same;

	if (!devname_parse(cache, &dev[0]) || !devname_parse(origin, &dev[1]) ||
	    !cache_using(dev[0], &c))
		return false;
	same = devname_parse(c.cache_dev, &used[0]) && used[0] == dev[0] &&
	       devname_parse(c.origin_dev, &used[1]) && used[1] == dev[1];
	if (same)
		*code = report(c.dm.name, cache, origin, true, json);
	else
		*code = fail(OC_EXIT_TEMP, "See optcachectl status, and detach that one first",
			     "%s already belongs to the cache '%s'", cache, c.dm.name);
	cache_put(&c);
	return true;
}

static int run(const struct verb_args *args)
{
	struct dev cache;
	int code;

	oc_options_default(&attach_opt.opt);
	code = opts_check(&attach_opt.given, &attach_opt.opt);
	if (code || already_active(args->arg[0], args->arg[1], args->json, &code))
		return code;
	code = activate_check_overlap(args->arg[0], args->arg[1]);
	if (code)
		return code;
	code = dev_open(&cache, args->arg[0], DEV_WRITE | DEV_EXCLUSIVE | DEV_ONLY_BLOCK);
	if (code)
		return code;
	code = attach(&cache, args->arg[1], args->json);
	dev_close(&cache);
	return code;
}

const struct verb verb_attach = {
	.name = "attach",
	.args_doc = "CACHE_DEV ORIGIN_DEV",
	.summary = "bring up a cache that was made before",
	.doc = "Bring the pair up as /dev/mapper/NAME, with the options saved on the cache device. A pair that is active already is left alone, with exit status 0.",
	.options = options,
	.min_args = 2,
	.max_args = 2,
	.has_json = true,
	.option = option,
	.run = run,
};
