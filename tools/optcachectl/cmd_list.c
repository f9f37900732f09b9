// SPDX-License-Identifier: GPL-2.0-only
/* list: all active caches, one a line. */
#include <sys/sysmacros.h>

#include "cache.h"
#include "devname.h"
#include "human.h"
#include "json.h"
#include "say.h"
#include "state.h"
#include "verb.h"

static const char *or_unknown(const char *text)
{
	return text ? text : "?";
}

static struct json_object *json_cache(const struct cache *c)
{
	struct json_object *o = json_object_new_object();
	char name[PATH_MAX];

	json_text(o, "name", c->dm.name);
	json_number(o, "major", c->dm.major);
	json_number(o, "minor", c->dm.minor);
	devname_show(c->cache_dev, name);
	json_text(o, "cache", name);
	devname_show(c->origin_dev, name);
	json_text(o, "origin", name);
	json_number(o, "sectors", c->dm.sectors);
	json_text(o, "mode", status_text(&c->st, "mode"));
	json_text(o, "state", state_of(c)->name);
	return o;
}

static void print_json(const struct cache *list, size_t nr)
{
	struct json_object *o = json_object_new_object(), *all = json_object_new_array();
	size_t i;

	for (i = 0; i < nr; i++)
		json_object_array_add(all, json_cache(&list[i]));
	json_object_object_add(o, "caches", all);
	json_print(o);
}

static void print_text(const struct cache *list, size_t nr)
{
	char cache[PATH_MAX], origin[PATH_MAX], device[32];
	size_t i;

	if (nr)
		tell("%-16s %-9s %-9s %-13s %-10s %-24s %s", "NAME", "DEVICE", "SIZE", "MODE",
		     "STATE", "CACHE", "ORIGIN");
	for (i = 0; i < nr; i++) {
		devname_show(list[i].cache_dev, cache);
		devname_show(list[i].origin_dev, origin);
		snprintf(device, sizeof(device), "dm-%u", list[i].dm.minor);
		tell("%-16s %-9s %-9s %-13s %-10s %-24s %s", list[i].dm.name, device,
		     human_bytes(list[i].dm.sectors << 9).text,
		     or_unknown(status_text(&list[i].st, "mode")), state_of(&list[i])->name, cache,
		     origin);
	}
}

static int run(const struct verb_args *args)
{
	struct cache *list;
	size_t nr;
	int code;

	code = cache_all(&list, &nr);
	if (code)
		return code;
	if (args->json)
		print_json(list, nr);
	else
		print_text(list, nr);
	cache_put_all(list, nr);
	return 0;
}

const struct verb verb_list = {
	.name = "list",
	.args_doc = "",
	.summary = "list the active caches",
	.doc = "List the active caches.",
	.has_json = true,
	.run = run,
};
