// SPDX-License-Identifier: GPL-2.0-only
/* A cache device and the disk that it belongs to. */
#include "devname.h"
#include "exits.h"
#include "pair.h"
#include "say.h"
#include "stack.h"
#include "supers.h"

/* Before they are opened: holding the one would make the other look busy. */
static int check_overlap(const char *cache, const char *origin)
{
	dev_t c, o;
	const char *upper;

	if (!strcmp(cache, origin))
		return fail(OC_EXIT_REFUSED, "Name the cache device first, then the disk",
			    "%s cannot be the cache of itself", cache);
	if (!devname_parse(cache, &c) || !devname_parse(origin, &o))
		return 0;	/* opening will say what it is */
	if (c == o)
		return fail(OC_EXIT_REFUSED, "Name the cache device first, then the disk",
			    "%s and %s are the same device", cache, origin);
	upper = stack_on_top_of(c, o) ? cache : stack_on_top_of(o, c) ? origin : NULL;
	if (!upper)
		return 0;
	return fail(OC_EXIT_REFUSED, "Name two devices that do not share a disk",
		    "%s lies on %s (they overlap)", upper, upper == cache ? origin : cache);
}

int pair_open(struct pair *p, const struct verb_args *args, unsigned int cache_how,
	      unsigned int origin_how)
{
	int code;

	p->origin.fd = -1;
	code = check_overlap(args->arg[0], args->arg[1]);
	if (code)
		return code;
	code = dev_open(&p->cache, args->arg[0], cache_how);
	if (code)
		return code;
	code = dev_open(&p->origin, args->arg[1], origin_how);
	if (!code && dev_same(&p->cache, &p->origin))
		code = fail(OC_EXIT_REFUSED, "Name the cache device first, then the disk",
			    "%s cannot be the cache of itself", p->cache.path);
	if (code)
		pair_close(p);
	return code;
}

void pair_close(struct pair *p)
{
	dev_close(&p->origin);
	dev_close(&p->cache);
}

int pair_check_origin(const struct pair *p, const struct oc_super *sb)
{
	const u64 sectors = p->origin.bytes >> 9;

	if (sb->geo.origin_sectors == sectors)
		return 0;
	return fail(OC_EXIT_REFUSED,
		    "Name the disk that the cache was made for, or give it its old size back",
		    "%s is not the disk of the cache on %s (it has %llu sectors, that one %llu)",
		    p->origin.path, p->cache.path, (unsigned long long)sectors,
		    (unsigned long long)sb->geo.origin_sectors);
}

int pair_check(const struct pair *p, const struct oc_super *sb)
{
	int code = supers_check(&p->cache, sb);

	return code ? code : pair_check_origin(p, sb);
}
