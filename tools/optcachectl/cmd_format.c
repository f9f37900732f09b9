// SPDX-License-Identifier: GPL-2.0-only
/* format: make a cache device without activating it.  Works on images too. */
#include "exits.h"
#include "formatting.h"
#include "human.h"
#include "json.h"
#include "pair.h"
#include "say.h"
#include "supers.h"
#include "verb.h"

static struct formatting format_opt;

static const struct argp_option options[] = {
	{ "mode", KEY_MODE, "MODE", 0,
	  "writeback (default), writethrough, writearound or passthrough", 0 },
	{ "set", KEY_SET, "KEY=VALUE", 0,
	  "Save an option on the cache device; may be repeated", 0 },
	{ "force", KEY_FORCE, NULL, 0, "Erase what the cache device holds", 0 },
	{ "yes", KEY_YES, NULL, 0, "Do not ask", 0 },
	{ 0 }
};

static int option(int key, const char *arg)
{
	return formatting_option(&format_opt, key, arg);
}

static void report(const struct dev *cache, const struct oc_super *sb, bool json)
{
	struct json_object *o;

	if (json) {
		o = json_object_new_object();
		json_text(o, "device", cache->path);
		json_object_object_add(o, "superblock", json_super(sb));
		json_print(o);
		return;
	}
	tell("%s: formatted, %s of cache in %u slots for a disk of %s", cache->path,
	     human_bytes((u64)sb->geo.nr_slots * sb->geo.slot_size).text, sb->geo.nr_slots,
	     human_bytes(sb->geo.origin_sectors << 9).text);
}

static int run(const struct verb_args *args)
{
	struct oc_geometry geo;
	struct oc_super sb;
	struct pair p;
	int code;

	code = formatting_options_done(&format_opt);
	if (!code)
		code = pair_open(&p, args, DEV_WRITE | DEV_EXCLUSIVE, DEV_READ);
	if (code)
		return code;
	code = formatting_check(&format_opt, &p, &geo);
	if (!code)
		code = formatting_run(&format_opt, &p.cache, &geo, &sb);
	if (!code)
		report(&p.cache, &sb, args->json);
	pair_close(&p);
	return code;
}

const struct verb verb_format = {
	.name = "format",
	.args_doc = "CACHE_DEV ORIGIN_DEV",
	.summary = "make a cache device for a disk, without activating it",
	.doc = "Make CACHE_DEV the cache of ORIGIN_DEV; of the latter only the size is read. Refuses a device that is in use, and without --force one that holds anything. Both may be plain files.",
	.options = options,
	.min_args = 2,
	.max_args = 2,
	.has_json = true,
	.option = option,
	.run = run,
};
