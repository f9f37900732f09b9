// SPDX-License-Identifier: GPL-2.0-only
/* set: change an option of an active cache, or show them all. */
#include "cache.h"
#include "exits.h"
#include "json.h"
#include "opts.h"
#include "say.h"
#include "setting.h"
#include "verb.h"

#define KEY_SHOW	'S'

static bool set_show;

static const struct argp_option options[] = {
	{ "show", KEY_SHOW, NULL, 0, "Show all options, their values and ranges", 0 },
	{ 0 }
};

static int option(int key, const char *arg)
{
	(void)key;
	(void)arg;
	set_show = true;
	return 0;
}

static struct json_object *json_option(const struct cache *c, const struct oc_option_desc *d)
{
	struct json_object *o = json_object_new_object();
	u64 value;

	if (status_number(&c->st, d->key, &value))
		json_number(o, "value", value);
	else
		json_text(o, "value", status_text(&c->st, d->key));
	json_text(o, "unit", d->unit);
	json_number(o, "min", d->min);
	json_number(o, "max", d->max);
	json_number(o, "default", d->def);
	return o;
}

static void show_json(const struct cache *c)
{
	struct json_object *o = json_object_new_object(), *opts = json_object_new_object();
	unsigned int i;

	json_text(o, "name", c->dm.name);
	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++)
		json_object_object_add(opts, oc_option_desc[i].key,
				       json_option(c, &oc_option_desc[i]));
	json_object_object_add(o, "options", opts);
	json_print(o);
}

static void show_text(const struct cache *c)
{
	const struct oc_option_desc *d;
	const char *value;
	unsigned int i;

	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++) {
		d = &oc_option_desc[i];
		value = status_text(&c->st, d->key);
		if (i == OPTCACHE_OPT_MODE)
			tell("%-18s %-14s (writeback, writethrough, writearound, passthrough)",
			     d->key, value ? value : "?");
		else
			tell("%-18s %-10s %-3s (%llu..%llu, default %llu)", d->key,
			     value ? value : "?", d->unit, (unsigned long long)d->min,
			     (unsigned long long)d->max, (unsigned long long)d->def);
	}
}

static int show(const struct verb_args *args)
{
	struct cache c;
	int code;

	if (args->nr != 1)
		return fail(OC_EXIT_USAGE, "Use optcachectl set NAME --show",
			    "--show takes no setting (got '%s')", args->arg[1]);
	code = cache_find(args->arg[0], &c);
	if (code)
		return code;
	if (args->json)
		show_json(&c);
	else
		show_text(&c);
	cache_put(&c);
	return 0;
}

/* "set NAME KEY VALUE" and "set NAME KEY=VALUE..." */
static int collect(const struct verb_args *args, struct opts *o)
{
	unsigned int i;
	int code = 0;

	if (args->nr == 3 && !strchr(args->arg[1], '='))
		return opts_add(o, args->arg[1], args->arg[2]);
	if (args->nr < 2)
		return fail(OC_EXIT_USAGE, "See optcachectl set --help",
			    "too few arguments (expected NAME KEY VALUE)");
	for (i = 1; !code && i < args->nr; i++)
		code = opts_add_pair(o, args->arg[i]);
	return code;
}

static int run(const struct verb_args *args)
{
	struct opts o = { 0 };
	int code;

	if (set_show)
		return show(args);
	code = collect(args, &o);
	return code ? code : setting_change(args->arg[0], &o, args->json);
}

const struct verb verb_set = {
	.name = "set",
	.args_doc = "NAME KEY VALUE",
	.summary = "change an option of an active cache, or --show all",
	.doc = "Change an option of an active cache at once. KEY=VALUE is understood too, and may be repeated.",
	.options = options,
	.min_args = 1,
	.max_args = 8,
	.has_json = true,
	.option = option,
	.run = run,
};
