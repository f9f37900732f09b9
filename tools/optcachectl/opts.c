// SPDX-License-Identifier: GPL-2.0-only
/* Cache options on the command line; what is legal the core decides. */
#include "exits.h"
#include "opts.h"
#include "say.h"

int opts_add(struct opts *o, const char *key, const char *value)
{
	if (o->nr == OPTS_MAX)
		return fail(OC_EXIT_USAGE, "Give each option once", "too many settings (at '%s')",
			    key);
	snprintf(o->given[o->nr].key, sizeof(o->given[0].key), "%s", key);
	o->given[o->nr].value = value;
	o->nr++;
	return 0;
}

int opts_add_pair(struct opts *o, const char *arg)
{
	const char *eq = strchr(arg, '=');
	char key[sizeof(o->given[0].key)];

	if (!eq || eq == arg || !eq[1] || eq - arg >= (ptrdiff_t)sizeof(key))
		return fail(OC_EXIT_USAGE, "Write it as --set key=value",
			    "'%.64s' is no setting", arg);
	memcpy(key, arg, eq - arg);
	key[eq - arg] = '\0';
	return opts_add(o, key, eq + 1);
}

/*
 * dirty_low and dirty_high must agree, and may be given in the order that is illegal
 * half way: go round while one more of them fits.
 */
u32 opts_apply(const struct opts *o, struct oc_options *opt)
{
	char why[OC_WHY_MAX];
	u32 done = 0, before;
	unsigned int i;

	do {
		before = done;
		for (i = 0; i < o->nr; i++)
			if (!(done & 1U << i) &&
			    !oc_option_set(opt, o->given[i].key, o->given[i].value, why))
				done |= 1U << i;
	} while (done != before);
	return done;
}

static int explain(const struct opts *o, unsigned int i, struct oc_options *opt)
{
	char why[OC_WHY_MAX] = "";

	oc_option_set(opt, o->given[i].key, o->given[i].value, why);
	return fail(OC_EXIT_USAGE, "The options and their ranges are in optcachectl(8)", "%s", why);
}

int opts_check(const struct opts *o, struct oc_options *opt)
{
	u32 done = opts_apply(o, opt);
	unsigned int i;

	for (i = 0; i < o->nr; i++)
		if (!(done & 1U << i))
			return explain(o, i, opt);
	return 0;
}

int opts_check_alone(const struct opts *o)
{
	struct oc_options opt;
	char why[OC_WHY_MAX];
	unsigned int i;

	for (i = 0; i < o->nr; i++) {
		oc_options_default(&opt);
		opt.mask = 1U << OPTCACHE_OPT_DIRTY_LOW | 1U << OPTCACHE_OPT_DIRTY_HIGH;
		opt.value[OPTCACHE_OPT_DIRTY_LOW] = oc_option_desc[OPTCACHE_OPT_DIRTY_LOW].min;
		opt.value[OPTCACHE_OPT_DIRTY_HIGH] = oc_option_desc[OPTCACHE_OPT_DIRTY_HIGH].max;
		if (oc_option_set(&opt, o->given[i].key, o->given[i].value, why))
			return explain(o, i, &opt);
	}
	return 0;
}

u32 opts_mask(const struct opts *o)
{
	u32 mask = 0;
	unsigned int i, k;

	for (i = 0; i < o->nr; i++)
		for (k = 0; k < OPTCACHE_NR_OPTIONS; k++)
			if (!strcmp(o->given[i].key, oc_option_desc[k].key))
				mask |= 1U << k;
	return mask;
}

void opts_table_words(const struct oc_options *opt, char *buf, unsigned int *nr)
{
	char text[24];
	unsigned int i;
	size_t n = 0;

	*nr = 0;
	buf[0] = '\0';
	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++) {
		if (!(opt->mask & 1U << i))
			continue;
		n += scnprintf(buf + n, OPTS_TEXT_MAX - n, " %s %s", oc_option_desc[i].key,
			       oc_option_text(opt, i, text, sizeof(text)));
		*nr += 2;
	}
}
