// SPDX-License-Identifier: GPL-2.0-only
/* flush: write all dirty data back to the disk; the cache stays in use. */
#include "exits.h"
#include "flushing.h"
#include "human.h"
#include "json.h"
#include "number.h"
#include "say.h"
#include "verb.h"

#define KEY_TIMEOUT	't'
#define KEY_CANCEL	'c'

static struct {
	unsigned long timeout;
	bool cancel;
} flush_opt;

static const struct argp_option options[] = {
	{ "timeout", KEY_TIMEOUT, "SECONDS", 0,
	  "Stop waiting after this time (the flush goes on)", 0 },
	{ "cancel", KEY_CANCEL, NULL, 0, "Stop a flush that is under way", 0 },
	{ 0 }
};

static int option(int key, const char *arg)
{
	if (key == KEY_TIMEOUT)
		return number_option("--timeout", arg, 1, 10000000, &flush_opt.timeout);
	flush_opt.cancel = true;
	return 0;
}

static u64 left_bytes(const struct cache *c)
{
	return status_count(&c->st, "dirty") * OPTCACHE_BLOCK_SIZE;
}

static int report(const struct cache *c, bool json)
{
	struct json_object *o;

	if (!json) {
		tell("%s: the disk has everything%s", c->dm.name,
		     left_bytes(c) ? " that was written before the flush" : "");
		return 0;
	}
	o = json_object_new_object();
	json_text(o, "name", c->dm.name);
	json_number(o, "dirty", status_count(&c->st, "dirty"));
	json_print(o);
	return 0;
}

static int conclude(const struct cache *c, enum flush_result result, int code, bool json)
{
	const struct human h = human_bytes(left_bytes(c));
	const char *left = h.text;

	switch (result) {
	case FLUSH_DONE:
		return report(c, json);
	case FLUSH_INTERRUPTED:
		return fail(OC_EXIT_TEMP, "Stop it with optcachectl flush --cancel",
			    "interrupted, %s left (the flush goes on in the kernel)", left);
	case FLUSH_TIMEOUT:
		return fail(OC_EXIT_TEMP,
			    "Watch it with optcachectl status, or stop it with flush --cancel",
			    "timed out, %s left (the flush goes on in the kernel)", left);
	case FLUSH_STUCK:
		return fail(OC_EXIT_IO, "See optcachectl status and the kernel log for errors",
			    "the flush of '%s' ended early, %s left (a device has errors, or it was cancelled)",
			    c->dm.name, left);
	case FLUSH_CANNOT:
		break;
	}
	return code;
}

static int run(const struct verb_args *args)
{
	enum flush_result result;
	struct cache c;
	int code;

	code = cache_find(args->arg[0], &c);
	if (code)
		return code;
	if (flush_opt.cancel) {
		code = cache_send(&c, "cancel-flush", "See optcachectl status");
		if (!code)
			tell("%s: flush cancelled", c.dm.name);
	} else {
		result = flush_and_wait(&c, flush_opt.timeout, &code);
		code = conclude(&c, result, code, args->json);
	}
	cache_put(&c);
	return code;
}

const struct verb verb_flush = {
	.name = "flush",
	.args_doc = "NAME",
	.summary = "write all dirty data back to the disk",
	.doc = "Write back what the disk does not have yet, and wait for it. The cache stays in use. Interrupted or timed out, the flush goes on in the kernel.",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.has_json = true,
	.option = option,
	.run = run,
};
