// SPDX-License-Identifier: GPL-2.0-only
/*
 * check: is a cache device sound?  Reads everything that activation would read, and
 * what it would not: the copies it does not need.  Writes nothing.
 */
#include "findings.h"
#include "human.h"
#include "journal_end.h"
#include "json.h"
#include "say.h"
#include "supers.h"
#include "verb.h"

struct check {
	struct findings f;
	struct dev dev;
	struct supers s;
	struct mapping m;
	bool loaded;
	struct journal_end end;
	u64 mapped, dirty;
};

/* ---- superblocks ------------------------------------------------------ */

static void check_supers(struct check *c)
{
	const struct supers *s = &c->s;
	struct oc_super other;
	const char *why;
	unsigned int i;

	for (i = 0; i < OPTCACHE_SUPER_COPIES; i++)
		if (s->err[i])
			finding(&c->f, s->best ? OC_EXIT_DAMAGED : OC_EXIT_COVERED, "superblock", i,
				"%s%s", s->why[i], s->best ? "" : "; the other copy is used");
	if (s->best && !s->err[0] && !s->err[1])
		finding(&c->f, OC_EXIT_DAMAGED, "superblock", -1, "%s", s->best_why);
	if (s->best || s->err[!s->which])
		return;
	oc_super_decode(&other, &s->disk[!s->which], &why);
	if (memcmp(&other.geo, &s->sb.geo, sizeof(other.geo)))
		finding(&c->f, OC_EXIT_DAMAGED, "superblock", !s->which,
			"the copies disagree about the layout");
}

static void check_super_contents(struct check *c)
{
	const struct oc_super *sb = &c->s.sb;

	if (sb->flags & OPTCACHE_SUPER_FAILED)
		finding(&c->f, OC_EXIT_DAMAGED, "superblock", c->s.which,
			"the failed mark is set: a metadata write failed, the mappings are not to be trusted");
	if (sb->geo.cache_sectors << 9 > c->dev.bytes)
		finding(&c->f, OC_EXIT_DAMAGED, "superblock", c->s.which,
			"the cache was made for %s, the device has only %s",
			human_bytes(sb->geo.cache_sectors << 9).text,
			human_bytes(c->dev.bytes).text);
}

/* ---- table ------------------------------------------------------------ */

/* Of magic, uuid and page number two fit: this was written as place of page @nr. */
static bool was_page(const struct check *c, u32 nr, const struct optcache_table_page *p)
{
	return (le32_to_cpu(p->magic) == OPTCACHE_TABLE_MAGIC) +
	       !memcmp(p->uuid, c->s.sb.uuid, OPTCACHE_UUID_SIZE) +
	       (le32_to_cpu(p->page) == nr && le64_to_cpu(p->seq)) >= 2;
}

/*
 * A page has a good place, and the other one is not good.  A write of the page that
 * a power cut tore is normal: until it is whole the journal's tail stays at or before
 * the first record it would contain, so the page says a higher number than the tail.
 * Anything else is a place that was whole once.
 */
static void check_bad_place(struct check *c, u32 nr, unsigned int bad,
			    const struct optcache_table_page *good,
			    const struct optcache_table_page *page)
{
	if (!page) {
		finding(&c->f, OC_EXIT_COVERED, "table", nr, "place %u cannot be read", bad);
		return;
	}
	if (!was_page(c, nr, page))
		return;
	if (le64_to_cpu(page->seq) > le64_to_cpu(good->seq) &&
	    le64_to_cpu(page->lsn) <= c->s.sb.tail_lsn)
		finding(&c->f, OC_EXIT_DAMAGED, "table", nr,
			"place %u, the newer one, is damaged, and the journal no longer covers it",
			bad);
	else
		finding(&c->f, OC_EXIT_COVERED, "table", nr,
			"place %u is damaged or torn; the other place and the journal cover it",
			bad);
}

static void check_page(void *arg, u32 nr, const struct optcache_table_page *place[2], int err)
{
	struct check *c = arg;
	unsigned int p;
	int bad[2];

	for (p = 0; p < 2; p++)
		bad[p] = place[p] ? oc_page_check(place[p], &c->s.sb.geo, c->s.sb.uuid, nr) :
				    -EIO;
	if (err == -EUCLEAN) {
		finding(&c->f, OC_EXIT_DAMAGED, "table", nr, "an entry is out of range");
		return;
	}
	if (err) {
		finding(&c->f, OC_EXIT_DAMAGED, "table", nr,
			"no good place: %u slots from %u on are lost", OPTCACHE_ENTRIES_PER_PAGE,
			nr * OPTCACHE_ENTRIES_PER_PAGE);
		return;
	}
	for (p = 0; p < 2; p++)
		if (bad[p] && !bad[!p])
			check_bad_place(c, nr, p, place[!p], place[p]);
}

/* ---- journal and mapping ----------------------------------------------- */

static void check_journal(struct check *c)
{
	const struct mapping *m = &c->m;
	bool stopped = c->s.sb.flags & OPTCACHE_SUPER_CLEAN_STOP;

	if (m->journal_err == -EUCLEAN) {
		finding(&c->f, OC_EXIT_DAMAGED, "journal", -1,
			"the block at offset %llu has a good checksum and senseless records",
			(unsigned long long)m->rp.offset);
		return;
	}
	if (m->journal_err) {
		finding(&c->f, OC_EXIT_DAMAGED, "journal", -1, "it cannot be read (%s)",
			strerror(-m->journal_err));
		return;
	}
	journal_end_find(m, &c->end);
	if (c->end.kind == JOURNAL_END_HOLE)
		finding(&c->f, OC_EXIT_DAMAGED, "journal", -1,
			"the block at offset %llu is damaged: %llu records are lost before the good block at offset %llu",
			(unsigned long long)c->end.offset,
			(unsigned long long)(c->end.next_lsn - m->rp.lsn),
			(unsigned long long)c->end.next_offset);
	else if (c->end.kind == JOURNAL_END_TORN)
		finding(&c->f, stopped ? OC_EXIT_DAMAGED : OC_EXIT_COVERED, "journal", -1,
			"the last block, at offset %llu, is incomplete: %s",
			(unsigned long long)c->end.offset,
			stopped ? "after a stop in order that is damage" :
				  "normal after a power cut, else its records are lost");
}

static void check_mapping(struct check *c)
{
	const struct mapping *m = &c->m;
	struct mapping_run run;
	u32 from = 0;

	if (m->finish_err && m->bad_slot != OC_NO_SLOT)
		finding(&c->f, OC_EXIT_DAMAGED, "mapping", from_slot(m->bad_slot),
			"this slot claims a block that another slot holds too");
	else if (m->finish_err)
		finding(&c->f, OC_EXIT_DAMAGED, "journal", -1,
			"a page of the table stands for records behind the journal's end: a part of the journal is lost");
	while (mapping_next_run(m, from, &run)) {
		c->mapped += run.count;
		if (run.dirty)
			c->dirty += run.count;
		from = run.slot + run.count;
	}
}

/* As format leaves it: never activated. */
static bool is_fresh(const struct check *c)
{
	return c->s.sb.seq == 1 && !c->s.sb.generation && !c->mapped;
}

static void check_state(struct check *c)
{
	if (c->m.rp.nr_records)
		finding(&c->f, OC_EXIT_REPLAY, "journal", -1,
			"activation will replay %llu records",
			(unsigned long long)c->m.rp.nr_records);
	else if (!(c->s.sb.flags & OPTCACHE_SUPER_CLEAN_STOP) && !is_fresh(c))
		finding(&c->f, OC_EXIT_REPLAY, "superblock", c->s.which,
			"the cache was not stopped in order");
	if (c->dirty)
		finding(&c->f, OC_EXIT_SOUND, "mapping", -1,
			"%s are newer than on the disk, which is not complete without this cache",
			human_bytes(c->dirty * OPTCACHE_BLOCK_SIZE).text);
}

/* ---- the verb ---------------------------------------------------------- */

static void print_json(struct check *c)
{
	struct json_object *o = json_object_new_object();

	json_text(o, "device", c->dev.path);
	json_text(o, "result", findings_result(&c->f));
	json_number(o, "exit_code", c->f.worst);
	json_number(o, "nr_findings", c->f.nr);
	json_object_object_add(o, "findings", c->f.list);
	if (!c->s.best)
		json_object_object_add(o, "superblock", json_super(&c->s.sb));
	if (c->loaded) {
		json_number(o, "mapped", c->mapped);
		json_number(o, "dirty", c->dirty);
		json_number(o, "journal_blocks", c->m.journal_blocks);
		json_number(o, "journal_records", c->m.rp.nr_records);
		json_number(o, "journal_used", c->m.rp.used);
	}
	json_print(o);
}

static void print_text(const struct check *c)
{
	static const char *const advice[] = {
		[OC_EXIT_SOUND] = "sound",
		[OC_EXIT_REPLAY] = "sound; activation will repair what the last stop left undone",
		[OC_EXIT_COVERED] = "usable; the damage is covered, activation will repair it",
		[OC_EXIT_DAMAGED] = "damaged; do not activate it before the disk is safe, see optcachectl(8)",
	};

	if (c->loaded)
		tell("%s: %llu of %u slots mapped, %llu dirty, %llu journal records", c->dev.path,
		     (unsigned long long)c->mapped, c->s.sb.geo.nr_slots,
		     (unsigned long long)c->dirty, (unsigned long long)c->m.rp.nr_records);
	tell("%s: %s", c->dev.path, advice[c->f.worst]);
}

static int check_device(struct check *c)
{
	int err;

	check_supers(c);
	if (c->s.best)
		return 0;
	check_super_contents(c);
	err = mapping_load(&c->m, &c->dev, &c->s.sb, check_page, c);
	if (err)
		return fail(OC_EXIT_OS, "Free some memory and try again",
			    "cannot read the mapping of %s (%s)", c->dev.path, strerror(-err));
	c->loaded = true;
	check_journal(c);
	check_mapping(c);
	check_state(c);
	return 0;
}

static int run(const struct verb_args *args)
{
	static struct check c;
	int code;

	code = dev_open(&c.dev, args->arg[0], DEV_READ | DEV_EXCLUSIVE);
	if (code)
		return code;
	/* Damaged superblocks are findings; none at all, or of a newer format, is not. */
	code = supers_probe(&c.dev, &c.s);
	if (!code) {
		findings_start(&c.f, args->json);
		code = check_device(&c);
		if (!code) {
			if (args->json)
				print_json(&c);
			else
				print_text(&c);
			code = c.f.worst;
		}
		if (c.loaded)
			mapping_free(&c.m);
	}
	dev_close(&c.dev);
	return code;
}

const struct verb verb_check = {
	.name = "check",
	.args_doc = "CACHE_DEV",
	.summary = "verify a cache device; reads only",
	.doc = "Verify superblocks, mapping table and journal of a cache device that is not active, or of an image of one. Nothing is written.\vExit status: 0 sound, 1 sound but the journal has to be replayed, 2 damage that another copy covers, 3 damage that loses mappings or data; 64 and above: it could not be checked.",
	.min_args = 1,
	.max_args = 1,
	.has_json = true,
	.run = run,
};
