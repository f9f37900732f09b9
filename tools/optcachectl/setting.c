// SPDX-License-Identifier: GPL-2.0-only
/* Changing options of an active cache. */
#include "cache.h"
#include "json.h"
#include "say.h"
#include "setting.h"

/* What is in force, as far as the status line tells. */
static void read_options(const struct cache *c, struct oc_options *opt)
{
	struct opts o = { 0 };
	const char *value;
	unsigned int i;

	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++) {
		value = status_text(&c->st, oc_option_desc[i].key);
		if (value && o.nr < OPTS_MAX) {
			snprintf(o.given[o.nr].key, sizeof(o.given[0].key), "%s",
				 oc_option_desc[i].key);
			o.given[o.nr++].value = value;
		}
	}
	oc_options_default(opt);
	opts_apply(&o, opt);
}

static int send(const struct cache *c, const struct oc_options *opt, unsigned int i)
{
	char text[24], message[96];

	snprintf(message, sizeof(message), "set %s %s", oc_option_desc[i].key,
		 oc_option_text(opt, i, text, sizeof(text)));
	return cache_send(c, message, "See optcachectl set NAME --show for what is in force");
}

/* In an order in which every step is legal: a higher dirty_high first, else last. */
static int send_all(const struct cache *c, const struct oc_options *opt)
{
	bool high_first = status_count(&c->st, "dirty_high") <
			  opt->value[OPTCACHE_OPT_DIRTY_HIGH];
	unsigned int i;
	int code = 0;

	if (high_first && opt->mask & 1U << OPTCACHE_OPT_DIRTY_HIGH)
		code = send(c, opt, OPTCACHE_OPT_DIRTY_HIGH);
	for (i = 0; !code && i < OPTCACHE_NR_OPTIONS; i++)
		if (opt->mask & 1U << i && (i != OPTCACHE_OPT_DIRTY_HIGH || !high_first))
			code = send(c, opt, i);
	return code;
}

static void report(const struct cache *c, const struct oc_options *opt, bool json)
{
	struct json_object *o = json ? json_object_new_object() : NULL;
	char text[24];
	unsigned int i;

	if (json)
		json_text(o, "name", c->dm.name);
	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++) {
		if (!(opt->mask & 1U << i))
			continue;
		oc_option_text(opt, i, text, sizeof(text));
		if (!json)
			tell("%s: %s is now %s%s%s", c->dm.name, oc_option_desc[i].key, text,
			     *oc_option_desc[i].unit ? " " : "", oc_option_desc[i].unit);
		else if (i == OPTCACHE_OPT_MODE)
			json_text(o, oc_option_desc[i].key, text);
		else
			json_number(o, oc_option_desc[i].key, opt->value[i]);
	}
	if (json)
		json_print(o);
}

int setting_change(const char *name, const struct opts *o, bool json)
{
	struct oc_options opt;
	struct cache c;
	int code;

	/* what is wrong on any cache is said without asking the kernel */
	code = opts_check_alone(o);
	if (!code)
		code = cache_find(name, &c);
	if (code)
		return code;
	read_options(&c, &opt);
	code = opts_check(o, &opt);
	opt.mask = opts_mask(o);
	if (!code)
		code = send_all(&c, &opt);
	if (!code)
		report(&c, &opt, json);
	cache_put(&c);
	return code;
}
