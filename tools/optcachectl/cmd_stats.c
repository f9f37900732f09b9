// SPDX-License-Identifier: GPL-2.0-only
/*
 * stats: the counters of one cache; with --interval what they grew by, again and
 * again.  Numbers that are no counters (dirty, free, ...) are shown as they are.
 */
#include "cache.h"
#include "exits.h"
#include "interrupt.h"
#include "json.h"
#include "number.h"
#include "progress.h"
#include "say.h"
#include "verb.h"

#define KEY_INTERVAL	'i'
#define KEY_COUNT	'c'
#define KEY_RESET	'r'

static struct {
	unsigned long interval;
	unsigned long count;
	bool reset;
} stats_opt;

static const struct argp_option options[] = {
	{ "interval", KEY_INTERVAL, "SECONDS", 0,
	  "Print the changes this often, until interrupted", 0 },
	{ "count", KEY_COUNT, "N", 0, "Stop after N intervals", 0 },
	{ "reset", KEY_RESET, NULL, 0, "Set the counters to zero", 0 },
	{ 0 }
};

static int option(int key, const char *arg)
{
	if (key == KEY_INTERVAL)
		return number_option("--interval", arg, 1, 86400, &stats_opt.interval);
	if (key == KEY_COUNT)
		return number_option("--count", arg, 1, 1000000000, &stats_opt.count);
	stats_opt.reset = true;
	return 0;
}

/* Levels and options; everything else that is a number only grows. */
static bool is_level(const char *key)
{
	static const char *const level[] = {
		"slots", "slot_size", "free", "mapped", "dirty", "fresh", "memory",
		"journal_used", "journal_size", "flush_left", "seq_cutoff",
		"writeback_delay", "dirty_low", "dirty_high",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(level); i++)
		if (!strcmp(level[i], key))
			return true;
	return false;
}

static int print_once(const struct cache *c, bool json)
{
	struct json_object *o, *st;
	unsigned int i;

	if (json) {
		o = json_object_new_object();
		st = json_object_new_object();
		json_text(o, "name", c->dm.name);
		status_to_json(&c->st, st);
		json_object_object_add(o, "stats", st);
		json_print(o);
		return 0;
	}
	for (i = 0; i < c->st.nr; i++)
		tell("%-20s %s", c->st.pair[i].key, c->st.pair[i].value);
	return 0;
}

/* A reset in between makes a counter fall: then it grew by what it shows. */
static u64 growth(const struct cache *c, const struct status *before, const char *key)
{
	u64 now = status_count(&c->st, key), then = status_count(before, key);

	return now >= then ? now - then : now;
}

static void print_change_json(const struct cache *c, const struct status *before, double seconds)
{
	struct json_object *o = json_object_new_object();
	unsigned int i;
	u64 v;

	json_text(o, "name", c->dm.name);
	json_object_object_add(o, "seconds", json_object_new_double(seconds));
	for (i = 0; i < c->st.nr; i++) {
		const char *key = c->st.pair[i].key;

		if (!status_number(&c->st, key, &v))
			json_text(o, key, c->st.pair[i].value);
		else
			json_number(o, key, is_level(key) ? v : growth(c, before, key));
	}
	json_print_line(o);
}

static const char *const column[] = {
	"read_hits", "read_misses", "read_bypass", "write_hits", "write_new", "write_bypass",
	"flushes", "fills", "evictions", "writeback_blocks",
};

static void print_header(void)
{
	tell("%9s %9s %9s %9s %9s %9s %9s %9s %9s %9s %9s", "rd-hit/s", "rd-miss/s", "rd-byp/s",
	     "wr-hit/s", "wr-new/s", "wr-byp/s", "flush/s", "fill/s", "evict/s", "wback/s",
	     "dirty");
}

static void print_change_text(const struct cache *c, const struct status *before, double seconds)
{
	char line[160];
	unsigned int i;
	int n = 0;

	for (i = 0; i < ARRAY_SIZE(column); i++)
		n += scnprintf(line + n, sizeof(line) - n, "%9.0f ",
			       growth(c, before, column[i]) / seconds);
	tell("%s%9llu", line, (unsigned long long)status_count(&c->st, "dirty"));
	fflush(stdout);
}

static int one_interval(struct cache *c, unsigned long row, bool json)
{
	unsigned long long start = now_ms();
	struct status before = c->st;
	double seconds;
	int code;

	c->st = (struct status){ 0 };	/* ours now */
	if (!json && row % 20 == 0)
		print_header();
	if (!interruptible_sleep(stats_opt.interval * 1000)) {
		code = cache_refresh(c);
		seconds = (now_ms() - start) / 1000.0;
		if (!code && json)
			print_change_json(c, &before, seconds);
		else if (!code)
			print_change_text(c, &before, seconds);
	} else {
		code = 0;
	}
	status_free(&before);
	return code;
}

static int print_forever(struct cache *c, bool json)
{
	unsigned long row;
	int code = 0;

	interrupt_catch();
	for (row = 0; !code && !interrupted(); row++) {
		if (stats_opt.count && row == stats_opt.count)
			break;
		code = one_interval(c, row, json);
		if (!code && ferror(stdout))
			break;
	}
	return code;
}

static int run(const struct verb_args *args)
{
	struct cache c;
	int code;

	if (stats_opt.count && !stats_opt.interval)
		return fail(OC_EXIT_USAGE, "Give --interval too", "--count needs --interval");
	code = cache_find(args->arg[0], &c);
	if (code)
		return code;
	if (stats_opt.reset) {
		code = cache_send(&c, "reset-stats", "See optcachectl status");
		if (!code)
			tell("%s: counters are zero again", c.dm.name);
	} else if (stats_opt.interval) {
		code = print_forever(&c, args->json);
	} else {
		code = print_once(&c, args->json);
	}
	cache_put(&c);
	return code;
}

const struct verb verb_stats = {
	.name = "stats",
	.args_doc = "NAME",
	.summary = "the counters of a cache, once or every few seconds",
	.doc = "Print the counters of a cache; with --interval the change per second, one line an interval (with --json one object a line, with the growth of each counter).",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.has_json = true,
	.option = option,
	.run = run,
};
