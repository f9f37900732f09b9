// SPDX-License-Identifier: GPL-2.0-only
/*
 * status: how a cache is, for people: what the state means, what to do about it, and
 * whether the cache is worth its place.
 */
#include "cache.h"
#include "devname.h"
#include "human.h"
#include "json.h"
#include "say.h"
#include "state.h"
#include "verb.h"

#define LABEL	"  %-11s "

static u64 get(const struct cache *c, const char *key)
{
	return status_count(&c->st, key);
}

static bool has(const struct cache *c, const char *key)
{
	return status_text(&c->st, key);
}

static u64 slots_bytes(const struct cache *c, const char *key)
{
	u64 size;

	return get(c, key) * (status_number(&c->st, "slot_size", &size) ? size :
									   OPTCACHE_BLOCK_SIZE);
}

static u64 all_reads(const struct cache *c)
{
	return get(c, "read_hits") + get(c, "read_misses") + get(c, "read_bypass");
}

static u64 all_writes(const struct cache *c)
{
	return get(c, "write_hits") + get(c, "write_new") + get(c, "write_through") +
	       get(c, "write_bypass");
}

/* ---- text ------------------------------------------------------------- */

static void print_devices(const struct cache *c)
{
	char cache[PATH_MAX], origin[PATH_MAX];

	devname_show(c->cache_dev, cache);
	devname_show(c->origin_dev, origin);
	tell("%s (dm-%u): %s, %s on %s", c->dm.name, c->dm.minor,
	     human_bytes(c->dm.sectors << 9).text, origin, cache);
}

static void print_state(const struct cache *c)
{
	const struct state *s = state_of(c);

	tell(LABEL "%s: %s", "state", s->name, s->meaning);
	if (s->advice)
		tell(LABEL "%s", "", s->advice);
	if (has(c, "mode"))
		tell(LABEL "%s", "mode", status_text(&c->st, "mode"));
}

static void print_room(const struct cache *c)
{
	u64 slots = get(c, "slots");

	if (has(c, "mapped"))
		tell(LABEL "%s of %s used (%s)", "cache",
		     human_bytes(slots_bytes(c, "mapped")).text,
		     human_bytes(slots_bytes(c, "slots")).text,
		     human_percent(get(c, "mapped"), slots).text);
	if (has(c, "dirty"))
		tell(LABEL "%s not yet on the disk (%s)", "dirty",
		     human_bytes(slots_bytes(c, "dirty")).text,
		     human_percent(get(c, "dirty"), slots).text);
	if (status_is(&c->st, "flush", "running"))
		tell(LABEL "running, %s left", "flush",
		     human_bytes(slots_bytes(c, "flush_left")).text);
	if (has(c, "memory") && slots)
		tell(LABEL "%s: %.1f bytes a slot, and %s whatever the size", "memory",
		     human_bytes(get(c, "memory")).text, (double)get(c, "slot_memory") / slots,
		     human_bytes(get(c, "memory") - get(c, "slot_memory")).text);
}

static void print_traffic(const struct cache *c)
{
	if (has(c, "read_hits"))
		tell(LABEL "%llu: %s from the cache, %s from the disk, %s past the cache", "reads",
		     (unsigned long long)get(c, "reads"),
		     human_percent(get(c, "read_hits"), all_reads(c)).text,
		     human_percent(get(c, "read_misses"), all_reads(c)).text,
		     human_percent(get(c, "read_bypass"), all_reads(c)).text);
	if (has(c, "write_hits"))
		tell(LABEL "%llu: %s over cached blocks, %s new in the cache, %s past the cache",
		     "writes", (unsigned long long)get(c, "writes"),
		     human_percent(get(c, "write_hits"), all_writes(c)).text,
		     human_percent(get(c, "write_new"), all_writes(c)).text,
		     human_percent(get(c, "write_bypass"), all_writes(c)).text);
	if (has(c, "flushes"))
		tell(LABEL "%llu, of which the disk had to do %llu", "flushes",
		     (unsigned long long)get(c, "flushes"),
		     (unsigned long long)get(c, "origin_flushes"));
	if (has(c, "journal_size"))
		tell(LABEL "%s of %s used", "journal", human_bytes(get(c, "journal_used")).text,
		     human_bytes(get(c, "journal_size")).text);
}

static void print_errors(const struct cache *c)
{
	if (get(c, "cache_errors") || get(c, "origin_errors") || get(c, "lost"))
		tell(LABEL "%llu of the cache device, %llu of the disk, %llu blocks lost", "errors",
		     (unsigned long long)get(c, "cache_errors"),
		     (unsigned long long)get(c, "origin_errors"),
		     (unsigned long long)get(c, "lost"));
}

static void print_text(const struct cache *c)
{
	print_devices(c);
	print_state(c);
	print_room(c);
	print_traffic(c);
	print_errors(c);
}

/* ---- JSON ------------------------------------------------------------- */

static void add_ratio(struct json_object *o, const char *key, u64 part, u64 whole)
{
	if (whole)
		json_object_object_add(o, key, json_object_new_double((double)part / whole));
}

static struct json_object *json_status(const struct cache *c)
{
	struct json_object *o = json_object_new_object(), *st = json_object_new_object();
	struct json_object *derived = json_object_new_object();
	const struct state *s = state_of(c);
	char name[PATH_MAX];

	json_text(o, "name", c->dm.name);
	json_text(o, "uuid", c->dm.uuid);
	json_number(o, "major", c->dm.major);
	json_number(o, "minor", c->dm.minor);
	json_number(o, "sectors", c->dm.sectors);
	json_number(o, "open_count", c->dm.open_count < 0 ? 0 : c->dm.open_count);
	devname_show(c->cache_dev, name);
	json_text(o, "cache", name);
	devname_show(c->origin_dev, name);
	json_text(o, "origin", name);
	json_text(o, "state", s->name);
	json_text(o, "meaning", s->meaning);
	json_text(o, "advice", s->advice);
	json_number(o, "status_version", c->st.version);
	status_to_json(&c->st, st);
	json_object_object_add(o, "status", st);

	add_ratio(derived, "read_hit_ratio", get(c, "read_hits"), all_reads(c));
	add_ratio(derived, "write_hit_ratio", get(c, "write_hits"), all_writes(c));
	add_ratio(derived, "dirty_ratio", get(c, "dirty"), get(c, "slots"));
	add_ratio(derived, "used_ratio", get(c, "mapped"), get(c, "slots"));
	add_ratio(derived, "memory_per_slot", get(c, "slot_memory"), get(c, "slots"));
	json_object_object_add(o, "derived", derived);
	return o;
}

/* ---- the verb ---------------------------------------------------------- */

static void warn_version(const struct cache *c)
{
	if (c->st.version && c->st.version != OPTCACHE_STATUS_VERSION)
		warn_user("the module speaks status version %u, this tool %u: numbers may be wrong",
			  c->st.version, OPTCACHE_STATUS_VERSION);
}

static int status_of_one(const char *name, bool json)
{
	struct cache c;
	int code = cache_find(name, &c);

	if (code)
		return code;
	warn_version(&c);
	if (json)
		json_print(json_status(&c));
	else
		print_text(&c);
	cache_put(&c);
	return 0;
}

static int status_of_all(bool json)
{
	struct json_object *o, *all;
	struct cache *list;
	size_t nr, i;
	int code = cache_all(&list, &nr);

	if (code)
		return code;
	if (json) {
		o = json_object_new_object();
		all = json_object_new_array();
		for (i = 0; i < nr; i++)
			json_object_array_add(all, json_status(&list[i]));
		json_object_object_add(o, "caches", all);
		json_print(o);
	} else if (!nr) {
		tell("no cache is active");
	}
	for (i = 0; i < nr && !json; i++) {
		warn_version(&list[i]);
		print_text(&list[i]);
	}
	cache_put_all(list, nr);
	return 0;
}

static int run(const struct verb_args *args)
{
	return args->nr ? status_of_one(args->arg[0], args->json) : status_of_all(args->json);
}

const struct verb verb_status = {
	.name = "status",
	.args_doc = "[NAME]",
	.summary = "how a cache is doing, and what to do about it",
	.doc = "Show state, use, hit ratios and errors of one cache or of all. NAME may also be the path of the cached device, of its disk or of its cache device.",
	.max_args = 1,
	.has_json = true,
	.run = run,
};
