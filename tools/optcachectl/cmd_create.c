// SPDX-License-Identifier: GPL-2.0-only
/*
 * create: put a new cache in front of a disk.
 *
 *	1. everything that could be wrong is found out; nothing was written yet
 *	2. the cache device is formatted
 *	3. the dm device is made
 *
 * Both devices stay opened exclusively until 3, so that nobody mounts the disk in
 * between.
 */
#include "activate.h"
#include "cache.h"
#include "exits.h"
#include "formatting.h"
#include "human.h"
#include "json.h"
#include "pair.h"
#include "say.h"
#include "supers.h"
#include "verb.h"

#define KEY_NAME	'n'

static struct {
	struct formatting f;
	const char *name;
} create_opt;

static const struct argp_option options[] = {
	{ "name", KEY_NAME, "NAME", 0,
	  "Name of the device in /dev/mapper (default fast-<disk>)", 0 },
	{ "mode", KEY_MODE, "MODE", 0,
	  "writeback (default), writethrough, writearound or passthrough", 0 },
	{ "set", KEY_SET, "KEY=VALUE", 0, "Set an option; may be repeated", 0 },
	{ "force", KEY_FORCE, NULL, 0, "Erase what the cache device holds", 0 },
	{ "yes", KEY_YES, NULL, 0, "Do not ask", 0 },
	{ 0 }
};

static int option(int key, const char *arg)
{
	if (key != KEY_NAME)
		return formatting_option(&create_opt.f, key, arg);
	if (!cache_name_valid(arg))
		return fail(OC_EXIT_USAGE, "Give another one",
			    "'%s' is no name for a device (letters, digits and #+-.:=@_)", arg);
	create_opt.name = arg;
	return 0;
}

static void report(const char *name, const struct pair *p, const struct oc_super *sb, bool json)
{
	struct json_object *o;

	if (json) {
		o = json_object_new_object();
		json_text(o, "name", name);
		json_text(o, "cache", p->cache.path);
		json_text(o, "origin", p->origin.path);
		json_object_object_add(o, "superblock", json_super(sb));
		json_print(o);
		return;
	}
	tell("/dev/mapper/%s: %s with %s of cache on %s", name, p->origin.path,
	     human_bytes((u64)sb->geo.nr_slots * sb->geo.slot_size).text, p->cache.path);
	tell("Use /dev/mapper/%s in place of %s from now on", name, p->origin.path);
}

/* Everything before the first write. */
static int check(const struct pair *p, char name[DM_NAME_MAX], struct oc_geometry *geo)
{
	int code;

	code = activate_name(create_opt.name, &p->origin, name);
	if (!code)
		code = activate_check(name);
	if (!code)
		code = activate_check_encryption(&p->cache, &p->origin, create_opt.f.yes);
	if (!code)
		code = formatting_check(&create_opt.f, p, geo);
	return code;
}

static int create(struct pair *p, bool json)
{
	char name[DM_NAME_MAX];
	struct oc_geometry geo;
	struct oc_super sb;
	int code;

	code = check(p, name, &geo);
	if (!code)
		code = formatting_run(&create_opt.f, &p->cache, &geo, &sb);
	if (code)
		return code;
	pair_close(p);		/* the kernel wants them for itself */
	code = activate_run(name, &sb, p->cache.rdev, p->origin.rdev, &create_opt.f.opt,
			    false);
	if (!code)
		report(name, p, &sb, json);
	return code;
}

static int run(const struct verb_args *args)
{
	const unsigned int how = DEV_WRITE | DEV_EXCLUSIVE | DEV_ONLY_BLOCK;
	struct pair p;
	int code;

	code = formatting_options_done(&create_opt.f);
	if (!code)
		code = pair_open(&p, args, how, how);
	if (code)
		return code;
	code = create(&p, args->json);
	pair_close(&p);
	return code;
}

const struct verb verb_create = {
	.name = "create",
	.args_doc = "CACHE_DEV ORIGIN_DEV",
	.summary = "put a new cache in front of a disk",
	.doc = "Make CACHE_DEV the cache of ORIGIN_DEV and bring the pair up as /dev/mapper/NAME. What is on the disk stays; what is on the cache device is erased, which needs --force if there is anything. Neither may be in use.",
	.options = options,
	.min_args = 2,
	.max_args = 2,
	.has_json = true,
	.option = option,
	.run = run,
};
