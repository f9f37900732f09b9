// SPDX-License-Identifier: GPL-2.0-only
/* Making a new cache: may it be, and what is in its superblock? */
#include <uuid/uuid.h>

#include "contents.h"
#include "exits.h"
#include "formatting.h"
#include "making.h"
#include "say.h"

int formatting_option(struct formatting *f, int key, const char *arg)
{
	switch (key) {
	case KEY_FORCE:
		f->force = true;
		return 0;
	case KEY_YES:
		f->yes = true;
		return 0;
	case KEY_MODE:
		return opts_add(&f->given, "mode", arg);
	case KEY_SET:
		return opts_add_pair(&f->given, arg);
	}
	return -1;
}

int formatting_options_done(struct formatting *f)
{
	oc_options_default(&f->opt);
	return opts_check(&f->given, &f->opt);
}

/* ---- what is there ---------------------------------------------------- */

/* A file system made for 512-byte sectors stops working on larger ones. */
static int check_sector_size(const struct dev *cache, const struct dev *origin)
{
	if (cache->lbs <= origin->lbs)
		return 0;
	return fail(OC_EXIT_REFUSED,
		    "Give the cache device the smaller sectors (nvme format), or use another one",
		    "%s has %u-byte sectors and %s %u-byte ones (what is on the disk could not be mounted)",
		    cache->path, cache->lbs, origin->path, origin->lbs);
}

int formatting_check(const struct formatting *f, const struct pair *p, struct oc_geometry *geo)
{
	const struct dev *cache = &p->cache, *origin = &p->origin;
	const char *why = "";
	int code;

	if (oc_geometry_plan(geo, cache->bytes >> 9, origin->bytes >> 9, cache->lbs, &why))
		return fail(OC_EXIT_REFUSED, "Use another device",
			    "%s cannot be the cache of %s (%s)", cache->path, origin->path, why);
	code = check_sector_size(cache, origin);
	return code ? code : contents_check(cache, f->force, f->yes);
}

/* ---- making it --------------------------------------------------------- */

static void new_super(const struct formatting *f, const struct oc_geometry *geo,
		      struct oc_super *sb)
{
	uuid_t cache, origin;
	unsigned int i;

	uuid_generate_random(cache);
	uuid_generate_random(origin);
	oc_super_new(sb, geo, cache, origin);
	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++) {
		if (!(f->opt.mask & 1U << i))
			continue;
		sb->option_mask |= 1U << i;
		sb->option[i] = f->opt.value[i];
	}
}

int formatting_run(const struct formatting *f, const struct dev *cache,
		   const struct oc_geometry *geo, struct oc_super *sb)
{
	new_super(f, geo, sb);
	return making_run(cache, sb, NULL, "formatting");
}
