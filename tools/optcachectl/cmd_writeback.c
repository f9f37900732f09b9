// SPDX-License-Identifier: GPL-2.0-only
/*
 * writeback: bring the disk up to date without the kernel module.
 *
 *	1. the cache is sound, or has no worse damage than a power cut leaves
 *	2. the disk is the one that the cache left, or the user says that it may be written
 *	3. the fingerprint of the disk is forgotten, since that changes now
 *	4. every dirty sector is copied to the disk; the disk is flushed
 *	5. what was copied is called clean on the cache device (commit.c)
 *
 * Cut before 5 is done, some blocks are still dirty, and are copied again the next time.
 */
#include "checking.h"
#include "commit.h"
#include "copying.h"
#include "fingerprint.h"
#include "human.h"
#include "interrupt.h"
#include "json.h"
#include "pair.h"
#include "say.h"

#define KEY_KEEP	'K'

static bool keep_dirty;

static const struct argp_option options[] = {
	{ "keep-dirty", KEY_KEEP, NULL, 0,
	  "Also when the disk was changed without the cache: dirty blocks win over what it holds now, clean ones are dropped at the next attach",
	  0 },
	{ 0 }
};

static int option(int key, const char *arg)
{
	(void)key;
	(void)arg;
	keep_dirty = true;
	return 0;
}

struct writeback {
	struct pair pair;
	struct check c;
	struct copying copy;
	bool origin_changed;	/* by others, while the cache was not active */
	u64 left;		/* dirty blocks that are still only in the cache */
};

/* Volatile caches first: what was lost with the power must not be taken for durable. */
static int settle(const struct pair *p)
{
	const struct dev *d = &p->cache;
	int err = dev_sync(d);

	if (!err) {
		d = &p->origin;
		err = dev_sync(d);
	}
	return err ? fail(OC_EXIT_IO, "See the kernel log for the device",
			  "cannot flush %s (%s)", d->path, strerror(-err)) : 0;
}

static int check_cache(struct writeback *w)
{
	int code;

	code = check_device(&w->c, &w->pair.cache, FINDINGS_SILENT);
	if (code)
		return code;
	if (!w->c.s.best)
		code = pair_check(&w->pair, &w->c.s.sb);
	if (!code && !check_usable(&w->c))
		code = fail(OC_EXIT_DATA, "See optcachectl check, and use optcachectl repair first",
			    "the metadata on %s is damaged, nothing was written",
			    w->pair.cache.path);
	if (code)
		check_free(&w->c);
	return code;
}

static int judge_change(const struct writeback *w, const char *where)
{
	const char *origin = w->pair.origin.path;

	if (!w->c.dirty)
		return 0;
	if (!keep_dirty)
		return fail(OC_EXIT_REFUSED,
			    "Run it again with --keep-dirty to let the dirty blocks win, or give them up with create --force",
			    "%s was changed while its cache was not active (%s), and %llu dirty blocks are newer than what it held",
			    origin, where, (unsigned long long)w->c.dirty);
	warn_user("%s was changed while its cache was not active (%s): check its file systems (fsck) before they are used",
		  origin, where);
	return 0;
}

/*
 * When it is marked stale its user has decided once, but who knows what the disk was used
 * for since.
 */
static int check_origin(struct writeback *w)
{
	char where[FINGERPRINT_WHERE_MAX];
	int differs;

	if (w->c.s.sb.flags & OPTCACHE_SUPER_STALE) {
		w->origin_changed = true;
		return judge_change(w, "what was begun with --keep-dirty has not come to its end");
	}
	differs = fingerprint_differs(&w->c.m, &w->pair.cache, &w->pair.origin, where);
	if (differs < 0)
		return fail(OC_EXIT_OS, "Free some memory and try again", "cannot begin (%s)",
			    strerror(-differs));
	w->origin_changed = differs;
	return differs ? judge_change(w, where) : 0;
}

static void call_clean(struct writeback *w)
{
	struct mapping *m = &w->c.m;
	u32 slot;

	for (slot = find_next_bit(w->copy.done, m->slots.nr, 0); slot < m->slots.nr;
	     slot = find_next_bit(w->copy.done, m->slots.nr, slot + 1))
		commit_word(m, slot, m->slots.word[slot] & ~OC_WORD_DIRTY);
}

static int copy(struct writeback *w)
{
	struct supers *s = &w->c.s;
	int err;

	/* the disk can still be made complete, and commit() will fail too */
	if (commit_forget_fingerprint(&w->pair.cache, s, w->origin_changed))
		warn_user("%s cannot be written: if this is run again, it will take its own work for a change of the disk",
			  w->pair.cache.path);
	err = copying_run(&w->copy, &w->pair.cache, &w->pair.origin, &w->c.m);
	if (err)
		return fail(OC_EXIT_OS, "Free some memory and try again", "cannot begin (%s)",
			    strerror(-err));
	err = dev_sync(&w->pair.origin);
	if (err)
		return fail(OC_EXIT_IO, "See the kernel log for the disk, and run it again",
			    "cannot flush %s (%s); the cache still has everything",
			    w->pair.origin.path, strerror(-err));
	call_clean(w);
	err = commit(&w->pair.cache, s, &w->c.m, s->sb.epoch, NULL);
	if (err)
		return fail(OC_EXIT_IO,
			    "The disk can be used alone; do not attach this cache to it any more",
			    "%s has all that could be copied, but %s cannot be written (%s)",
			    w->pair.origin.path, w->pair.cache.path, strerror(-err));
	return 0;
}

/* ---- what came of it ------------------------------------------------------ */

static void print_json(const struct writeback *w)
{
	struct json_object *o = json_object_new_object();

	json_text(o, "cache", w->pair.cache.path);
	json_text(o, "origin", w->pair.origin.path);
	json_flag(o, "origin_changed", w->origin_changed);
	json_number(o, "dirty", w->c.dirty);
	json_number(o, "written", w->copy.blocks);
	json_number(o, "written_bytes", w->copy.bytes);
	json_number(o, "left", w->left);
	json_object_object_add(o, "unreadable", ranges_json(&w->copy.unreadable));
	json_object_object_add(o, "unwritable", ranges_json(&w->copy.unwritable));
	json_print(o);
}

static void print_text(const struct writeback *w)
{
	ranges_print(&w->copy.unreadable, "the cache device cannot be read:");
	ranges_print(&w->copy.unwritable, "the disk cannot be written:");
	if (w->left)
		return;
	tell("%s: %s written back; it is complete and can be used alone", w->pair.origin.path,
	     human_bytes(w->copy.bytes).text);
}

static int conclude(const struct writeback *w)
{
	const struct human left = human_bytes(w->left * OPTCACHE_BLOCK_SIZE);

	if (!w->left)
		return 0;
	if (w->copy.unwritable.sectors)
		return fail(OC_EXIT_IO, "Copy the disk to a good one, and run it again with that and --keep-dirty",
			    "%s could not be written to %s; the cache still has it", left.text,
			    w->pair.origin.path);
	if (w->copy.unreadable.sectors)
		return fail(OC_EXIT_IO,
			    "Try again, or check the disk (fsck), restore what is missing and format the cache anew",
			    "%s of %s cannot be read; all else is on %s", left.text,
			    w->pair.cache.path, w->pair.origin.path);
	return fail(OC_EXIT_TEMP, "Run it again, with the same options, to go on",
		    "interrupted, %s left; what was copied stays", left.text);
}

static int write_back(struct writeback *w, bool json)
{
	int code;

	interrupt_catch();
	code = settle(&w->pair);
	if (!code)
		code = check_cache(w);
	if (code)
		return code;
	code = check_origin(w);
	if (!code && w->c.dirty)
		code = copy(w);
	w->left = w->c.dirty - w->copy.blocks;
	if (!code) {
		if (json)
			print_json(w);
		else
			print_text(w);
		code = conclude(w);
	}
	copying_free(&w->copy);
	check_free(&w->c);
	return code;
}

static int run(const struct verb_args *args)
{
	static struct writeback w;
	const unsigned int how = DEV_WRITE | DEV_EXCLUSIVE;
	int code;

	code = pair_open(&w.pair, args, how, how);
	if (code)
		return code;
	code = write_back(&w, args->json);
	pair_close(&w.pair);
	return code;
}

const struct verb verb_writeback = {
	.name = "writeback",
	.args_doc = "CACHE_DEV ORIGIN_DEV",
	.summary = "write an inactive cache back, without the module",
	.doc = "Bring the disk up to date from a cache that is not active: copy every dirty sector, flush the disk, then call the blocks clean on the cache device. Needs neither the kernel module nor device-mapper. If the disk was changed since the cache was last active and there are dirty blocks, nothing is written without --keep-dirty. Cut or interrupted it can be run again. Sectors that cannot be read or written are named, and all others copied; the exit status is 74 then. Images will do.",
	.options = options,
	.min_args = 2,
	.max_args = 2,
	.has_json = true,
	.option = option,
	.run = run,
};
