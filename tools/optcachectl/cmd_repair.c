// SPDX-License-Identifier: GPL-2.0-only
/*
 * repair: make a damaged cache one that can be activated or written back, without losing
 * a dirty block unsaid.
 *
 *	1. the findings of check
 *	2. what would be done about them (mending.c), and what that costs
 *	3. asked and answered: it is written, as one change (commit.c)
 *	4. the findings of check again: nothing is left
 */
#include "ask.h"
#include "human.h"
#include "json.h"
#include "mending.h"
#include "say.h"
#include "verb.h"

#define KEY_YES		'y'
#define KEY_DRY		'n'
#define KEY_DROP	'D'
#define KEY_KEEP	'K'

static struct {
	bool yes, dry, drop, keep;
} repair_opt;

static const struct argp_option options[] = {
	{ "dry-run", KEY_DRY, NULL, 0, "Only say what would be done", 0 },
	{ "drop-dirty", KEY_DROP, NULL, 0,
	  "Give up dirty blocks that are lost or contradictory, or in doubt without --keep-dirty",
	  0 },
	{ "keep-dirty", KEY_KEEP, NULL, 0,
	  "Trust dirty blocks in doubt: write-back will put them over what the disk has", 0 },
	{ "yes", KEY_YES, NULL, 0, "Do not ask", 0 },
	{ 0 }
};

static int option(int key, const char *arg)
{
	(void)arg;
	switch (key) {
	case KEY_DRY:
		repair_opt.dry = true;
		break;
	case KEY_DROP:
		repair_opt.drop = true;
		break;
	case KEY_KEEP:
		repair_opt.keep = true;
		break;
	default:
		repair_opt.yes = true;
	}
	return 0;
}

/* ---- what it comes to --------------------------------------------------- */

static void print_text(const struct dev *d, const struct mending *md)
{
	const char *doubtful = repair_opt.keep ? "in doubt, kept:" :
			       repair_opt.drop ? "in doubt, given up:" : "in doubt:";

	ranges_print(&md->doubtful, doubtful);
	ranges_print(&md->dropped, "contradictory, given up:");
	ranges_print(&md->undecided, "unreadable, given up:");
	if (md->lost_slots)
		tell("%s: %llu slots are unknown or out of date, what else was dirty in them is lost",
		     d->path, (unsigned long long)md->lost_slots);
	if (md->lost_entries)
		tell("%s: %llu senseless entries said dirty, what they meant is lost", d->path,
		     (unsigned long long)md->lost_entries);
	if (md->lost_records)
		tell("%s: %llu records or more are lost, and with them what they said of dirty blocks",
		     d->path, (unsigned long long)md->lost_records);
	if (md->dropped_clean)
		tell("%s: %llu clean blocks are dropped, the disk has them", d->path,
		     (unsigned long long)md->dropped_clean);
}

static void print_json(const struct dev *d, const struct mending *md, struct check *c, bool done)
{
	struct json_object *o = json_object_new_object();

	json_text(o, "device", d->path);
	json_object_object_add(o, "findings", c->f.list);
	c->f.list = NULL;
	json_object_object_add(o, "doubtful", ranges_json(&md->doubtful));
	json_object_object_add(o, "contradictory", ranges_json(&md->dropped));
	json_object_object_add(o, "undecided", ranges_json(&md->undecided));
	json_number(o, "lost_slots", md->lost_slots);
	json_number(o, "lost_entries", md->lost_entries);
	json_number(o, "lost_records", md->lost_records);
	json_number(o, "dropped_clean", md->dropped_clean);
	json_flag(o, "repaired", done);
	json_print(o);
}

/* ---- doing it -------------------------------------------------------------- */

static int consent(const struct dev *d, const struct mending *md)
{
	if (mending_loses(md) && !repair_opt.drop)
		return fail(OC_EXIT_REFUSED,
			    "Save what can be read elsewhere, then give --drop-dirty to go on",
			    "dirty data of %s is or may be lost, nothing was changed", d->path);
	if (md->doubtful.sectors && !repair_opt.drop && !repair_opt.keep)
		return fail(OC_EXIT_REFUSED,
			    "Give --keep-dirty to trust the blocks in doubt, or --drop-dirty to give them up",
			    "%s of dirty data on %s may be out of date, nothing was changed",
			    human_bytes(md->doubtful.sectors << 9).text, d->path);
	return ask(repair_opt.yes, "The metadata of %s is written anew", d->path);
}

static int verify(const struct dev *d)
{
	struct check c;
	int code = check_device(&c, d, FINDINGS_SILENT);

	if (code)
		return code;
	if (c.f.worst != OC_EXIT_SOUND)
		code = fail(OC_EXIT_IO, "See optcachectl check, and replace the device",
			    "%s has damage again", d->path);
	check_free(&c);
	return code;
}

static int write_it(const struct dev *d, struct mending *md)
{
	int err = mending_commit(md, repair_opt.keep);

	if (!err)
		return verify(d);
	return fail(OC_EXIT_IO, "Copy the device to a good one (dd) and repair that",
		    "cannot write %s (%s)", d->path, strerror(-err));
}

static int repair(const struct dev *d, struct check *c, bool json)
{
	struct mending md;
	int code = mending_load(&md, d);

	if (code)
		return code;
	if (!json)
		print_text(d, &md);
	if (!repair_opt.dry)
		code = consent(d, &md);
	if (!code && !repair_opt.dry)
		code = write_it(d, &md);
	if (json)
		print_json(d, &md, c, !code && !repair_opt.dry);
	else if (!code)
		tell("%s: %s", d->path, repair_opt.dry ? "nothing was changed" : "repaired");
	mending_free(&md);
	return code;
}

static int check_possible(const struct dev *d, const struct check *c)
{
	const char *why = c->s.best ? c->s.best_why :
			  c->supers_differ ? "the copies contradict each other" : NULL;

	if (!why)
		return supers_check(d, &c->s.sb);
	return fail(OC_EXIT_DATA,
		    "Restore the metadata from a dump (optcachectl restore), or format it anew",
		    "%s has no usable superblock (%s)", d->path, why);
}

static int nothing_to_do(const struct dev *d, struct check *c, bool json)
{
	const struct mending none = { 0 };

	if (json)
		print_json(d, &none, c, false);
	else
		tell("%s: there is nothing to repair", d->path);
	return 0;
}

static int run(const struct verb_args *args)
{
	static struct check c;
	struct dev d;
	int code;

	code = dev_open(&d, args->arg[0],
			DEV_EXCLUSIVE | (repair_opt.dry ? DEV_READ : DEV_WRITE));
	if (code)
		return code;
	code = check_device(&c, &d, args->json ? FINDINGS_JSON : FINDINGS_TEXT);
	if (!code) {
		if (c.f.worst <= OC_EXIT_REPLAY)
			code = nothing_to_do(&d, &c, args->json);
		else
			code = check_possible(&d, &c);
		if (!code && c.f.worst > OC_EXIT_REPLAY)
			code = repair(&d, &c, args->json);
		check_free(&c);
	}
	dev_close(&d);
	return code;
}

const struct verb verb_repair = {
	.name = "repair",
	.args_doc = "CACHE_DEV",
	.summary = "repair the metadata of an inactive cache",
	.doc = "Find what check finds, say what can be done about it and at what price, ask, and write the metadata anew. Clean blocks whose mapping is in doubt are dropped, the disk has them. Dirty ones are named, and neither dropped nor kept unless --drop-dirty or --keep-dirty says so.",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.has_json = true,
	.option = option,
	.run = run,
};
