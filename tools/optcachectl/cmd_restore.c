// SPDX-License-Identifier: GPL-2.0-only
/*
 * restore: make the metadata of a cache device from a dump.  The data in the slots is
 * left as it is, so the dump must be of what they hold now.
 */
#include <unistd.h>

#include "ask.h"
#include "contents.h"
#include "dumpfile.h"
#include "exits.h"
#include "human.h"
#include "json.h"
#include "making.h"
#include "say.h"
#include "supers.h"
#include "verb.h"

#define KEY_FORCE	'f'
#define KEY_YES		'y'
#define KEY_INPUT	'i'

static struct {
	bool force, yes;
	const char *input;
} restore_opt;

static const struct argp_option options[] = {
	{ "input", KEY_INPUT, "FILE", 0, "Read the dump from FILE, not from standard input", 0 },
	{ "force", KEY_FORCE, NULL, 0,
	  "Also over something else, or over a later state of this cache", 0 },
	{ "yes", KEY_YES, NULL, 0, "Do not ask", 0 },
	{ 0 }
};

static int option(int key, const char *arg)
{
	switch (key) {
	case KEY_INPUT:
		restore_opt.input = arg;
		break;
	case KEY_FORCE:
		restore_opt.force = true;
		break;
	default:
		restore_opt.yes = true;
	}
	return 0;
}

/* ---- is it to be? ---------------------------------------------------------- */

static int check_size(const struct dev *d, const struct oc_geometry *geo)
{
	if (geo->cache_sectors << 9 > d->bytes)
		return fail(OC_EXIT_REFUSED, "Name a device of at least the size of the old one",
			    "%s is too small (it has %s, the cache of the dump needs %s)",
			    d->path, human_bytes(d->bytes).text,
			    human_bytes(geo->cache_sectors << 9).text);
	if (d->lbs > geo->journal_unit)
		return fail(OC_EXIT_REFUSED, "Use a device with the sector size of the old one",
			    "%s has sectors of %u bytes (the cache of the dump writes %u)",
			    d->path, d->lbs, geo->journal_unit);
	return 0;
}

/*
 * What the device has now: this very cache, or what is left of it, is what a restore is
 * for, unless it was written since.  Anything else is not to be erased without --force.
 */
static int check_target(const struct dev *d, const struct oc_super *sb)
{
	struct supers s;
	int err = supers_read(d, &s);

	if (err)
		return fail(OC_EXIT_IO, "See the kernel log for the device", "cannot read %s (%s)",
			    d->path, strerror(-err));
	if (s.best || memcmp(s.sb.uuid, sb->uuid, OPTCACHE_UUID_SIZE))
		return contents_check(d, restore_opt.force, restore_opt.yes);
	if (s.sb.seq > sb->seq && !restore_opt.force)
		return fail(OC_EXIT_REFUSED,
			    "Give --force if the slots are known to hold what the dump says",
			    "the cache on %s was used after the dump was made", d->path);
	return ask(restore_opt.yes, "The mappings on %s are replaced by those of the dump",
		   d->path);
}

static int check_dump(const struct dumpfile *df)
{
	if (df->damaged)
		return fail(OC_EXIT_DATA, "Use a dump of an undamaged cache",
			    "the dump is not complete (the cache was damaged)");
	if (!df->has_mappings || df->only_dirty)
		return fail(OC_EXIT_DATA, "Use a dump that was made without --dirty and --no-mappings",
			    "the dump is not complete");
	return 0;
}

/* ---- the verb ---------------------------------------------------------------- */

static int read_dump(struct dumpfile *df, const struct dev *d)
{
	const u32 max_slots = min_t(u64, d->bytes / OPTCACHE_BLOCK_SIZE, OPTCACHE_MAX_SLOTS);
	const char *name = restore_opt.input ?: "standard input";
	FILE *f = restore_opt.input ? fopen(restore_opt.input, "re") : stdin;
	char why[DUMPFILE_WHY_MAX];
	int err;

	if (!f)
		return fail(OC_EXIT_NOINPUT, "Check the name of the file", "cannot open %s (%m)",
			    name);
	if (isatty(fileno(f)))
		return fail(OC_EXIT_USAGE, "Name the file with --input, or redirect it",
			    "there is no dump to read");
	err = dumpfile_read(df, f, max_slots, why);
	if (f != stdin)
		fclose(f);
	if (!err)
		return 0;
	return fail(err == -ENOMEM ? OC_EXIT_OS : OC_EXIT_DATA,
		    "Give what optcachectl dump --json printed",
		    "%s is no good dump (%s)", name, why);
}

static void report(const struct dev *d, const struct dumpfile *df, bool json)
{
	const u64 mapped = atomic64_read(&df->slots.nr_mapped);
	const u64 dirty = atomic64_read(&df->slots.nr_dirty);
	struct json_object *o;

	if (!json) {
		tell("%s: restored, %llu of %u slots mapped, %llu dirty", d->path,
		     (unsigned long long)mapped, df->slots.nr, (unsigned long long)dirty);
		return;
	}
	o = json_object_new_object();
	json_text(o, "device", d->path);
	json_number(o, "mapped", mapped);
	json_number(o, "dirty", dirty);
	json_object_object_add(o, "superblock", json_super(&df->sb));
	json_print(o);
}

static int restore(const struct dev *d, const struct dumpfile *df, bool json)
{
	int code = check_dump(df);

	if (!code)
		code = check_size(d, &df->sb.geo);
	if (!code)
		code = check_target(d, &df->sb);
	if (!code)
		code = making_run(d, &df->sb, &df->slots, "restoring");
	if (!code)
		report(d, df, json);
	return code;
}

static int run(const struct verb_args *args)
{
	struct dumpfile df;
	struct dev d;
	int code;

	code = dev_open(&d, args->arg[0], DEV_WRITE | DEV_EXCLUSIVE);
	if (code)
		return code;
	code = read_dump(&df, &d);
	if (!code) {
		code = restore(&d, &df, args->json);
		dumpfile_free(&df);
	}
	dev_close(&d);
	return code;
}

const struct verb verb_restore = {
	.name = "restore",
	.args_doc = "CACHE_DEV",
	.summary = "make the metadata of a cache device from a dump",
	.doc = "Read what dump --json printed and make superblocks, mapping table and an empty journal that say the same. The slots are left alone: the dump must be of what they hold now, made after the cache was last used, or their data must have been copied with it. A device that holds anything else is refused without --force.",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.has_json = true,
	.option = option,
	.run = run,
};
