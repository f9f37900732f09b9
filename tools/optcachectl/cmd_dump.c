// SPDX-License-Identifier: GPL-2.0-only
/*
 * dump: everything a cache device says about itself, as text or JSON.  The mapping
 * of a large cache has millions of entries, so it is printed run by run and never
 * held as JSON objects.
 */
#include <optcache/options.h>

#include "dumpfile.h"
#include "exits.h"
#include "human.h"
#include "json.h"
#include "mapping.h"
#include "say.h"
#include "supers.h"
#include "verb.h"

#define KEY_DIRTY	'd'
#define KEY_NO_MAP	'M'

static struct {
	bool only_dirty;
	bool no_mapping;
} dump_opt;

static const struct argp_option options[] = {
	{ "dirty", KEY_DIRTY, NULL, 0, "Only mappings with data that the disk does not have", 0 },
	{ "no-mappings", KEY_NO_MAP, NULL, 0, "Only superblock, layout and sums", 0 },
	{ 0 }
};

static int option(int key, const char *arg)
{
	(void)arg;
	if (key == KEY_DIRTY)
		dump_opt.only_dirty = true;
	else
		dump_opt.no_mapping = true;
	return 0;
}

struct sums {
	u64 mapped, dirty;
};

static bool next_run(const struct mapping *m, struct mapping_run *run)
{
	u32 from = run->slot + run->count;

	while (mapping_next_run(m, from, run)) {
		if (run->dirty || !dump_opt.only_dirty)
			return true;
		from = run->slot + run->count;
	}
	return false;
}

static struct sums sum_up(const struct mapping *m)
{
	struct mapping_run run;
	struct sums s = { 0 };
	u32 from = 0;

	while (mapping_next_run(m, from, &run)) {
		s.mapped += run.count;
		s.dirty += run.dirty ? run.count : 0;
		from = run.slot + run.count;
	}
	return s;
}

/* ---- JSON ------------------------------------------------------------- */

static void print_json(const struct dev *d, const struct supers *s, const struct mapping *m)
{
	struct mapping_run run = { 0 };
	struct sums sums = sum_up(m);
	struct json_object *o = json_object_new_object();
	const char *head;
	bool first = true;

	json_text(o, "device", d->path);
	json_number(o, "dump_version", DUMP_VERSION);
	json_number(o, "copy", s->which);
	json_object_object_add(o, "superblock", json_super(&s->sb));
	json_number(o, "mapped", sums.mapped);
	json_number(o, "dirty", sums.dirty);
	json_number(o, "journal_blocks", m->journal_blocks);
	json_number(o, "journal_records", m->rp.nr_records);
	json_number(o, "journal_used", m->rp.used);
	json_number(o, "next_lsn", m->rp.lsn);
	json_number(o, "next_offset", m->rp.offset);
	json_flag(o, "damaged", mapping_damaged(m));
	json_flag(o, "only_dirty", dump_opt.only_dirty);
	if (dump_opt.no_mapping) {
		json_print(o);
		return;
	}

	head = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
					      JSON_C_TO_STRING_NOSLASHESCAPE);
	printf("%.*s,\n\"mappings\":[", (int)strlen(head) - 1, head);
	json_object_put(o);
	for (; next_run(m, &run); first = false)
		printf("%s\n{\"slot\":%u,\"block\":%llu,\"count\":%u,\"valid\":%u,\"dirty\":%s}",
		       first ? "" : ",", run.slot, (unsigned long long)run.block, run.count,
		       run.valid, run.dirty ? "true" : "false");
	puts("\n]}");
}

/* ---- text ------------------------------------------------------------- */

static void print_super(const struct dev *d, const struct supers *s)
{
	const struct oc_super *sb = &s->sb;
	char uuid[UUID_TEXT], origin[UUID_TEXT];

	uuid_text(sb->uuid, uuid);
	uuid_text(sb->origin_uuid, origin);
	printf("%s: optcache cache device, format %u\n", d->path, OPTCACHE_VERSION);
	printf("  superblock    copy %u, written %llu times, activated %llu times\n", s->which,
	       (unsigned long long)sb->seq, (unsigned long long)sb->generation);
	printf("  uuid          %s\n  pair          %s\n", uuid, origin);
	printf("  state         %s%s%s\n",
	       sb->flags & OPTCACHE_SUPER_CLEAN_STOP ? "stopped in order" :
						       "never activated, or not stopped in order",
	       sb->flags & OPTCACHE_SUPER_FAILED ? ", FAILED" : "",
	       sb->flags & OPTCACHE_SUPER_STALE ?
			", the origin was changed: clean blocks are being dropped" : "");
	if (sb->nr_samples)
		printf("  fingerprint   %u parts of the origin\n", sb->nr_samples);
	else
		puts("  fingerprint   none");
}

static void print_layout(const struct oc_super *sb)
{
	const struct oc_geometry *geo = &sb->geo;

	printf("  origin        %s (%llu sectors)\n", human_bytes(geo->origin_sectors << 9).text,
	       (unsigned long long)geo->origin_sectors);
	printf("  cache         %s (%llu sectors)\n", human_bytes(geo->cache_sectors << 9).text,
	       (unsigned long long)geo->cache_sectors);
	printf("  journal       at %llu, %s, unit %u, epoch %llu, tail at %llu (record %llu, epoch %llu)\n",
	       (unsigned long long)geo->journal_start, human_bytes(geo->journal_size).text,
	       geo->journal_unit, (unsigned long long)sb->epoch,
	       (unsigned long long)sb->tail_offset, (unsigned long long)sb->tail_lsn,
	       (unsigned long long)sb->tail_epoch);
	printf("  table         at %llu, %u pages\n", (unsigned long long)geo->table_start,
	       geo->nr_pages);
	printf("  slots         at %llu, %u of %u bytes\n", (unsigned long long)geo->data_start,
	       geo->nr_slots, geo->slot_size);
}

static void print_options(const struct oc_super *sb)
{
	struct oc_options opt = { 0 };
	char text[24];
	unsigned int i;

	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++) {
		if (!(sb->option_mask & 1U << i))
			continue;
		opt.value[i] = sb->option[i];
		printf("  option        %s=%s\n", oc_option_desc[i].key,
		       oc_option_text(&opt, i, text, sizeof(text)));
	}
}

static void print_run(const struct mapping_run *r)
{
	printf("slot %u+%u block %llu valid %02x %s\n", r->slot, r->count,
	       (unsigned long long)r->block, r->valid, r->dirty ? "dirty" : "clean");
}

static void print_text(const struct dev *d, const struct supers *s, const struct mapping *m)
{
	struct mapping_run run = { 0 };
	struct sums sums = sum_up(m);

	print_super(d, s);
	print_layout(&s->sb);
	print_options(&s->sb);
	printf("  replayed      %llu records in %llu blocks (%s)\n",
	       (unsigned long long)m->rp.nr_records, (unsigned long long)m->journal_blocks,
	       human_bytes(m->rp.used).text);
	printf("  mapped        %llu slots (%s), %llu dirty (%s)\n",
	       (unsigned long long)sums.mapped,
	       human_bytes(sums.mapped * OPTCACHE_BLOCK_SIZE).text,
	       (unsigned long long)sums.dirty,
	       human_bytes(sums.dirty * OPTCACHE_BLOCK_SIZE).text);
	if (dump_opt.no_mapping)
		return;
	while (next_run(m, &run))
		print_run(&run);
}

static int dump(const struct dev *d, bool json)
{
	struct supers s;
	struct mapping m;
	int code, err;

	code = supers_need(d, &s);
	if (code)
		return code;
	err = mapping_load(&m, d, &s.sb, NULL);
	if (err)
		return fail(OC_EXIT_OS, "Free some memory and try again",
			    "cannot read the mapping of %s (%s)", d->path, strerror(-err));
	if (json)
		print_json(d, &s, &m);
	else if (!say_is_quiet())
		print_text(d, &s, &m);
	if (mapping_damaged(&m))
		code = fail(OC_EXIT_DATA, "Run optcachectl check for the details",
			    "what was printed is not complete (%s is damaged)", d->path);
	mapping_free(&m);
	return code;
}

static int run(const struct verb_args *args)
{
	struct dev d;
	int code;

	code = dev_open(&d, args->arg[0], DEV_READ | DEV_EXCLUSIVE);
	if (code)
		return code;
	code = dump(&d, args->json);
	dev_close(&d);
	return code;
}

const struct verb verb_dump = {
	.name = "dump",
	.args_doc = "CACHE_DEV",
	.summary = "print superblock, layout and mappings; reads only",
	.doc = "Print what a cache device that is not active, or an image of one, holds: superblock, layout, saved options, and the mapping after replay of the journal, as runs of slots. Nothing is written.",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.has_json = true,
	.option = option,
	.run = run,
};
