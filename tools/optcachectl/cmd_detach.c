// SPDX-License-Identifier: GPL-2.0-only
/*
 * detach: take a cache away again and leave a plain, complete disk.
 *
 *	1. nobody uses the device; remember its mode
 *	2. passthrough: nothing new becomes dirty
 *	3. write back until nothing is dirty
 *	4. the old mode again, for the next attach (nobody can write any more)
 *	5. remove the dm device
 *	6. verify on the cache device that nothing is dirty; with --wipe erase it
 *
 * Interrupted, or stopped by an error, before 5: the device stays active and all data
 * is safe; running detach again goes on where this one ended.
 */
#include "ask.h"
#include "cache.h"
#include "dev.h"
#include "devname.h"
#include "exits.h"
#include "flushing.h"
#include "human.h"
#include "interrupt.h"
#include "json.h"
#include "mapping.h"
#include "say.h"
#include "state.h"
#include "supers.h"
#include "verb.h"

#define KEY_KEEP	'k'
#define KEY_WIPE	'w'
#define KEY_LOST	'L'
#define KEY_YES		'y'

#define OPEN_TRIES	5
#define OPEN_WAIT_MS	200
#define FLUSHES_MAX	5	/* blocks may have become dirty during the first one */

static struct {
	bool keep, wipe, lost, yes;
} detach_opt;

static const struct argp_option options[] = {
	{ "keep", KEY_KEEP, NULL, 0,
	  "Leave the cache on its device for the next attach (default)", 0 },
	{ "wipe", KEY_WIPE, NULL, 0, "Erase the superblocks of the cache device afterwards", 0 },
	{ "lost-cache", KEY_LOST, NULL, 0,
	  "The cache device is gone for good: give up what only it had", 0 },
	{ "yes", KEY_YES, NULL, 0, "Do not ask", 0 },
	{ 0 }
};

static int option(int key, const char *arg)
{
	(void)arg;
	switch (key) {
	case KEY_KEEP:
		detach_opt.keep = true;
		break;
	case KEY_WIPE:
		detach_opt.wipe = true;
		break;
	case KEY_LOST:
		detach_opt.lost = true;
		break;
	default:
		detach_opt.yes = true;
	}
	return 0;
}

static bool failed(const struct cache *c)
{
	return !strcmp(state_of(c)->name, "failed");
}

static u64 dirty_bytes(const struct cache *c)
{
	return status_count(&c->st, "dirty") * OPTCACHE_BLOCK_SIZE;
}

/* ---- 1 to 4: the cache becomes clean ------------------------------------ */

/* udev and its helpers look at a device for a moment whenever it changes. */
static int check_unused(struct cache *c)
{
	unsigned int i;
	int code;

	for (i = 0; c->dm.open_count > 0 && i < OPEN_TRIES; i++) {
		interruptible_sleep(OPEN_WAIT_MS);
		code = cache_refresh(c);
		if (code)
			return code;
	}
	if (c->dm.open_count <= 0)
		return 0;
	return fail(OC_EXIT_TEMP, "Unmount it (or stop what is above it, see lsblk), then detach again",
		    "'%s' is in use (open count %d); nothing was changed", c->dm.name,
		    c->dm.open_count);
}

static int set_mode(const struct cache *c, const char *mode)
{
	char message[64];

	snprintf(message, sizeof(message), "set mode %s", mode);
	return cache_send(c, message, "See optcachectl status and the kernel log");
}

/* What is left behind when this ends before its time. */
static int stopped(const struct cache *c, int code, const char *why, const char *mode)
{
	char next[2 * DM_NAME_MAX + 160];

	snprintf(next, sizeof(next),
		 "Run optcachectl detach %s again to go on, or optcachectl mode %s %s to stay",
		 c->dm.name, c->dm.name, mode);
	return fail(code, next, "%s (%s is left; '%s' stays active in mode passthrough, no data is lost)",
		    why, human_bytes(dirty_bytes(c)).text, c->dm.name);
}

static int write_back(struct cache *c, const char *mode)
{
	unsigned int i;
	int code = 0;

	/* At least once: what a device's own volatile cache holds goes out too. */
	for (i = 0; i < FLUSHES_MAX && (!i || dirty_bytes(c)); i++) {
		switch (flush_and_wait(c, 0, &code)) {
		case FLUSH_DONE:
			/* it can no longer call blocks clean, but the disk has them now */
			if (failed(c))
				return 0;
			break;
		case FLUSH_INTERRUPTED:
		case FLUSH_TIMEOUT:
			return stopped(c, OC_EXIT_TEMP, "interrupted", mode);
		case FLUSH_STUCK:
			return stopped(c, OC_EXIT_IO,
				       "the write-back ended early, see optcachectl status", mode);
		case FLUSH_CANNOT:
			return code;
		}
	}
	return dirty_bytes(c) ?
	       stopped(c, OC_EXIT_IO, "blocks stay dirty, see the kernel log", mode) : 0;
}

static int make_clean(struct cache *c)
{
	const char *mode = status_text(&c->st, "mode");
	char was[32];
	int code;

	snprintf(was, sizeof(was), "%s", mode ? mode : "writeback");
	code = set_mode(c, "passthrough");
	if (!code)
		code = cache_refresh(c);
	if (!code)
		code = write_back(c, was);
	return code ? code : set_mode(c, was);
}

/* ---- 5 and 6: it goes ---------------------------------------------------- */

static int remove_device(const struct cache *c)
{
	struct dm_cache gone;
	int err = dm_delete(c->dm.name);

	if (err == -EBUSY)
		return fail(OC_EXIT_TEMP, "Find its user with lsblk or fuser, then detach again",
			    "'%s' is in use again (opened meanwhile); it stays active", c->dm.name);
	if (err)
		return fail(OC_EXIT_OS, "See the kernel log, then detach again",
			    "cannot remove '%s' (%s); it stays active", c->dm.name, strerror(-err));
	err = dm_get(c->dm.name, &gone);
	if (!err)
		dm_put(&gone);
	if (err != -ENXIO && err != -ENOENT)
		return fail(OC_EXIT_OS, "Look at it with dmsetup info",
			    "'%s' is still there after it was removed", c->dm.name);
	return 0;
}

static int check_clean(const struct dev *d)
{
	struct supers s;
	struct mapping m;
	u64 dirty;
	int code, err;

	code = supers_need(d, &s);
	if (code)
		return code;
	err = mapping_load(&m, d, &s.sb, NULL);
	if (err)
		return fail(OC_EXIT_OS, "Run optcachectl check on it",
			    "cannot read the mapping of %s (%s)", d->path, strerror(-err));
	dirty = atomic64_read(&m.slots.nr_dirty);
	if (mapping_damaged(&m))
		code = fail(OC_EXIT_DATA, "Run optcachectl check on it; the disk was complete before",
			    "the metadata on %s is damaged", d->path);
	else if (dirty)
		code = fail(OC_EXIT_IO, "Attach the pair again before the disk is used alone",
			    "%s holds %s that the disk does not have (written while detaching)",
			    d->path, human_bytes(dirty * OPTCACHE_BLOCK_SIZE).text);
	mapping_free(&m);
	return code;
}

static int verify_and_wipe(const char *cache_dev)
{
	char path[PATH_MAX];
	struct dev d;
	int code, err;

	devname_show(cache_dev, path);
	code = dev_open(&d, path, (detach_opt.wipe ? DEV_WRITE : DEV_READ) | DEV_EXCLUSIVE);
	if (code)
		return code;
	code = check_clean(&d);
	if (!code && detach_opt.wipe) {
		err = supers_erase(&d);
		if (err)
			code = fail(OC_EXIT_IO, "See the kernel log for the device",
				    "cannot erase %s (%s)", path, strerror(-err));
	}
	dev_close(&d);
	return code;
}

/* It still calls blocks dirty: attached again it would write them over newer ones. */
static void retire(const char *cache_dev)
{
	char path[PATH_MAX];
	struct dev d;
	int err = -ENXIO;

	devname_show(cache_dev, path);
	if (!dev_open(&d, path, DEV_WRITE | DEV_EXCLUSIVE)) {
		err = supers_erase(&d);
		dev_close(&d);
	}
	if (err)
		warn_user("the superblocks of the failed cache device cannot be erased: never attach it again");
}

/* ---- the verb ---------------------------------------------------------- */

static void report(const struct cache *c, bool json)
{
	char cache[PATH_MAX], origin[PATH_MAX];
	struct json_object *o;

	devname_show(c->cache_dev, cache);
	devname_show(c->origin_dev, origin);
	if (json) {
		o = json_object_new_object();
		json_text(o, "name", c->dm.name);
		json_text(o, "cache", cache);
		json_text(o, "origin", origin);
		json_flag(o, "wiped", detach_opt.wipe);
		json_flag(o, "lost_cache", detach_opt.lost);
		json_number(o, "lost", detach_opt.lost ? status_count(&c->st, "dirty") : 0);
		json_print(o);
		return;
	}
	if (failed(c) && !detach_opt.lost)
		tell("%s: removed; %s is complete and can be used alone; format or replace %s, which has failed",
		     c->dm.name, origin, cache);
	else if (detach_opt.lost)
		tell("%s: removed; %s was lost, check %s (fsck) before you use it", c->dm.name,
		     human_bytes(dirty_bytes(c)).text, origin);
	else
		tell("%s: removed; %s is complete and can be used alone%s", c->dm.name, origin,
		     detach_opt.wipe ? ", the cache device is empty" : "");
}

static int detach_lost(struct cache *c)
{
	int code = 0;

	if (dirty_bytes(c))
		code = ask(detach_opt.yes,
			   "%s of data is only on the cache device of '%s' and will be lost",
			   human_bytes(dirty_bytes(c)).text, c->dm.name);
	return code ? code : remove_device(c);
}

static int detach(struct cache *c)
{
	int code = check_unused(c);

	if (code)
		return code;
	if (detach_opt.lost)
		return detach_lost(c);
	if (failed(c) && dirty_bytes(c))
		warn_user("the cache device has failed; what cannot be read from it stays dirty");
	code = make_clean(c);
	if (!code)
		code = cache_refresh(c);
	if (!code)
		code = remove_device(c);
	/* nothing that a failed cache still says can be relied on */
	if (!code && !failed(c))
		code = verify_and_wipe(c->cache_dev);
	else if (!code)
		retire(c->cache_dev);
	return code;
}

static int run(const struct verb_args *args)
{
	struct cache c;
	int code;

	if (detach_opt.keep + detach_opt.wipe + detach_opt.lost > 1)
		return fail(OC_EXIT_USAGE, "Give one of them",
			    "--keep, --wipe and --lost-cache exclude each other");
	code = cache_find(args->arg[0], &c);
	if (code)
		return code;
	code = detach(&c);
	if (!code)
		report(&c, args->json);
	cache_put(&c);
	return code;
}

const struct verb verb_detach = {
	.name = "detach",
	.args_doc = "NAME",
	.summary = "write everything back and take the cache away",
	.doc = "Write back what the disk does not have, remove the device, and verify that the disk is complete. Interrupted, the device stays active in mode passthrough and all data is safe. NAME may also be the path of the cached device, of its disk or of its cache device.",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.has_json = true,
	.option = option,
	.run = run,
};
