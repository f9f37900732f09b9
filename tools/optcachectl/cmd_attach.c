// SPDX-License-Identifier: GPL-2.0-only
/* attach: bring a pair up that was made before.  Meant for boot scripts as well. */
#include "activate.h"
#include "cache.h"
#include "devname.h"
#include "exits.h"
#include "json.h"
#include "opts.h"
#include "pair.h"
#include "say.h"
#include "supers.h"
#include "verb.h"

#define KEY_NAME	'n'
#define KEY_MODE	'm'
#define KEY_SET		's'
#define KEY_KEEP	'K'

static struct {
	const char *name;
	struct opts given;
	struct oc_options opt;
	bool keep_dirty;
} attach_opt;

static const struct argp_option options[] = {
	{ "name", KEY_NAME, "NAME", 0,
	  "Name of the device in /dev/mapper (default fast-<disk>)", 0 },
	{ "mode", KEY_MODE, "MODE", 0, "Another mode than the saved one", 0 },
	{ "set", KEY_SET, "KEY=VALUE", 0, "Another value than the saved one; may be repeated", 0 },
	{ "keep-dirty", KEY_KEEP, NULL, 0,
	  "Also when the disk was changed without the cache: dirty blocks win over what it holds now, clean ones are dropped",
	  0 },
	{ 0 }
};

static int option(int key, const char *arg)
{
	if (key == KEY_MODE)
		return opts_add(&attach_opt.given, "mode", arg);
	if (key == KEY_SET)
		return opts_add_pair(&attach_opt.given, arg);
	if (key == KEY_KEEP) {
		attach_opt.keep_dirty = true;
		return 0;
	}
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

static int check(const struct pair *p, char name[DM_NAME_MAX], struct oc_super *sb)
{
	struct supers s;
	int code;

	code = supers_need(&p->cache, &s);
	if (code)
		return code;
	*sb = s.sb;
	code = pair_check(p, sb);
	if (!code)
		code = activate_name(attach_opt.name, &p->origin, name);
	if (!code)
		code = activate_check(name);
	return code;
}

static int attach(const struct verb_args *args)
{
	const unsigned int how = DEV_WRITE | DEV_EXCLUSIVE | DEV_ONLY_BLOCK;
	char name[DM_NAME_MAX];
	struct oc_super sb;
	struct pair p;
	int code;

	code = pair_open(&p, args, how, how);
	if (code)
		return code;
	code = check(&p, name, &sb);
	pair_close(&p);		/* the kernel wants them for itself */
	if (!code)
		code = activate_run(name, &sb, p.cache.rdev, p.origin.rdev, &attach_opt.opt,
				    attach_opt.keep_dirty);
	return code ? code : report(name, args->arg[0], args->arg[1], false, args->json);
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
	int code;

	oc_options_default(&attach_opt.opt);
	code = opts_check(&attach_opt.given, &attach_opt.opt);
	if (code || already_active(args->arg[0], args->arg[1], args->json, &code))
		return code;
	return attach(args);
}

const struct verb verb_attach = {
	.name = "attach",
	.args_doc = "CACHE_DEV ORIGIN_DEV",
	.summary = "bring up a cache that was made before",
	.doc = "Bring the pair up as /dev/mapper/NAME, with the options saved on the cache device. A pair that is active already is left alone, with exit status 0. If the disk was changed since the cache was stopped, its clean blocks are dropped; if it has dirty ones too, nothing is activated without --keep-dirty.",
	.options = options,
	.min_args = 2,
	.max_args = 2,
	.has_json = true,
	.option = option,
	.run = run,
};
