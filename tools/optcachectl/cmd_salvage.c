// SPDX-License-Identifier: GPL-2.0-only
/* salvage: what the disk alone does not have, of a cache that is lost or of no more use. */
#include <optcache/order.h>

#include "checking.h"
#include "dumpfile.h"
#include "exits.h"
#include "human.h"
#include "json.h"
#include "pair.h"
#include "ranges.h"
#include "say.h"

#define PASS_MAX	(1U << 20)	/* blocks that are sorted at once */

struct salvage {
	struct pair pair;
	struct ranges stale;
	bool exact;		/* that is all of it, and nothing else */
};

static int collect(struct salvage *v, const struct oc_super *sb, struct oc_slots *slots)
{
	struct oc_order order;
	u32 i;

	if (oc_order_init(&order, min_t(u64, atomic64_read(&slots->nr_dirty) + 1, PASS_MAX)))
		goto out_of_memory;
	while (oc_order_collect(&order, slots, true))
		for (i = 0; i < order.nr; i++)
			ranges_add_block(&v->stale, &sb->geo, order.item[i].block,
					 oc_word_valid(oc_slot_read(slots, order.item[i].slot)));
	oc_order_exit(&order);
	if (!v->stale.full)
		return 0;
out_of_memory:
	return fail(OC_EXIT_OS, "Free some memory and try again", "out of memory");
}

/* ---- where it is known from --------------------------------------------------- */

static int from_dump(struct salvage *v, FILE *f)
{
	char why[DUMPFILE_WHY_MAX];
	struct dumpfile df;
	int code;

	if (dumpfile_read(&df, f, OPTCACHE_MAX_SLOTS, why))
		return fail(OC_EXIT_DATA, "Name the cache device, or what optcachectl dump --json printed",
			    "%s is neither a cache device nor a good dump (%s)",
			    v->pair.cache.path, why);
	v->exact = !df.damaged && df.has_mappings;
	code = pair_check_origin(&v->pair, &df.sb);
	if (!code)
		code = collect(v, &df.sb, &df.slots);
	dumpfile_free(&df);
	return code;
}

static int from_cache(struct salvage *v)
{
	struct check c;
	int code = check_device(&c, &v->pair.cache, FINDINGS_SILENT);

	if (code)
		return code;
	if (c.s.best)
		code = fail(OC_EXIT_DATA, "Name an earlier output of dump --json instead, or fsck the disk",
			    "%s has no usable superblock (%s)", v->pair.cache.path, c.s.best_why);
	v->exact = check_usable(&c);
	if (!code)
		code = pair_check_origin(&v->pair, &c.s.sb);
	if (!code)
		code = collect(v, &c.s.sb, &c.m.slots);
	check_free(&c);
	return code;
}

/* A plain file is either; what begins with a brace is a dump. */
static int gather(struct salvage *v)
{
	FILE *f = v->pair.cache.block ? NULL : fopen(v->pair.cache.path, "re");
	int code, c = f ? getc(f) : EOF;

	if (c == '{') {
		ungetc(c, f);
		code = from_dump(v, f);
	} else {
		code = from_cache(v);
	}
	if (f)
		fclose(f);
	return code;
}

/* ---- the verb ---------------------------------------------------------------- */

static void print_json(const struct salvage *v)
{
	struct json_object *o = json_object_new_object();

	json_text(o, "from", v->pair.cache.path);
	json_text(o, "origin", v->pair.origin.path);
	json_flag(o, "exact", v->exact);
	json_number(o, "stale_sectors", v->stale.sectors);
	json_number(o, "stale_bytes", v->stale.sectors << 9);
	json_object_object_add(o, "stale", ranges_json(&v->stale));
	json_print(o);
}

static void print_text(const struct salvage *v)
{
	ranges_print(&v->stale, "stale:");
	if (v->stale.sectors)
		tell("%s: %s in %zu ranges are older than in the cache", v->pair.origin.path,
		     human_bytes(v->stale.sectors << 9).text, v->stale.nr);
	else
		tell("%s: nothing is older than in the cache", v->pair.origin.path);
}

static int run(const struct verb_args *args)
{
	static struct salvage v;
	int code;

	code = pair_open(&v.pair, args, DEV_READ | DEV_EXCLUSIVE, DEV_READ);
	if (code)
		return code;
	code = gather(&v);
	if (!code) {
		if (args->json)
			print_json(&v);
		else
			print_text(&v);
		if (!v.exact)
			code = fail(OC_EXIT_DATA, "Run optcachectl check for the details",
				    "the list is not exact (the metadata is damaged or incomplete)");
	}
	ranges_free(&v.stale);
	pair_close(&v.pair);
	return code;
}

const struct verb verb_salvage = {
	.name = "salvage",
	.args_doc = "CACHE_DEV|DUMP ORIGIN_DEV",
	.summary = "list what the disk alone does not have",
	.doc = "List the ranges of the disk that are older than what the cache held: what is lost if the cache device is. Known from the metadata of a cache that is not active, or from an earlier output of dump --json. Nothing is written; of ORIGIN_DEV only the size is read.",
	.min_args = 2,
	.max_args = 2,
	.has_json = true,
	.run = run,
};
