// SPDX-License-Identifier: GPL-2.0-only
/* Looking for damage. */
#include "checking.h"
#include "exits.h"
#include "human.h"
#include "say.h"

/* ---- superblocks ------------------------------------------------------ */

/* Each write of a superblock raises its number, and lets none of these fall. */
static bool goes_back(const struct oc_super *older, const struct oc_super *newer)
{
	return older->generation > newer->generation || older->epoch > newer->epoch ||
	       older->tail_lsn > newer->tail_lsn || older->tail_epoch > newer->tail_epoch;
}

static void compare_supers(struct check *c)
{
	const struct oc_super *sb = &c->s.sb;
	const unsigned int which = !c->s.which;
	struct oc_super other;
	const char *why;

	if (oc_super_decode(&other, &c->s.disk[which], &why))
		return;
	c->supers_differ = true;
	if (memcmp(&other.geo, &sb->geo, sizeof(other.geo)) ||
	    memcmp(other.origin_uuid, sb->origin_uuid, OPTCACHE_UUID_SIZE))
		finding(&c->f, OC_EXIT_DAMAGED, "superblock", which,
			"the copies disagree about the layout or the pair");
	else if (goes_back(&other, sb) || (other.seq == sb->seq && goes_back(sb, &other)))
		finding(&c->f, OC_EXIT_DAMAGED, "superblock", which,
			"the copies contradict each other: the older one knows of later things");
	else
		c->supers_differ = false;
}

static void check_supers(struct check *c)
{
	const struct supers *s = &c->s;
	unsigned int i;

	for (i = 0; i < OPTCACHE_SUPER_COPIES; i++)
		if (s->err[i])
			finding(&c->f, s->best ? OC_EXIT_DAMAGED : OC_EXIT_COVERED, "superblock", i,
				"%s%s", s->why[i], s->best ? "" : "; the other copy is used");
	if (s->best && !s->err[0] && !s->err[1])
		finding(&c->f, OC_EXIT_DAMAGED, "superblock", -1, "%s", s->best_why);
	if (!s->best)
		compare_supers(c);
}

static void check_super_contents(struct check *c)
{
	const struct oc_super *sb = &c->s.sb;

	if (sb->flags & OPTCACHE_SUPER_FAILED)
		finding(&c->f, OC_EXIT_DAMAGED, "superblock", c->s.which,
			"the failed mark is set: a metadata write failed, the mappings are not to be trusted");
	if (sb->flags & OPTCACHE_SUPER_STALE)
		finding(&c->f, OC_EXIT_SOUND, "superblock", c->s.which,
			"the origin was changed behind the cache's back: attach it once, which drops the clean blocks that are left");
	if (sb->geo.cache_sectors << 9 > c->dev->bytes)
		finding(&c->f, OC_EXIT_DAMAGED, "superblock", c->s.which,
			"the cache was made for %s, the device has only %s",
			human_bytes(sb->geo.cache_sectors << 9).text,
			human_bytes(c->dev->bytes).text);
}

/* ---- table ------------------------------------------------------------ */

static int place_check(const struct oc_super *sb, u32 nr, const struct optcache_table_page *p)
{
	return p ? oc_page_check(p, &sb->geo, sb->uuid, nr) : -EIO;
}

/* Of magic, uuid and page number two fit: this was written as place of page @nr. */
static bool was_page(const struct oc_super *sb, u32 nr, const struct optcache_table_page *p)
{
	return (le32_to_cpu(p->magic) == OPTCACHE_TABLE_MAGIC) +
	       !memcmp(p->uuid, sb->uuid, OPTCACHE_UUID_SIZE) +
	       (le32_to_cpu(p->page) == nr && le64_to_cpu(p->seq)) >= 2;
}

/*
 * Behind its first sector there are entries, and all of them make sense here; and it is
 * not a page of an earlier cache, which the module's format leaves alone.
 */
static bool resembles_page(const struct oc_super *sb, u32 nr, const struct optcache_table_page *p)
{
	static const struct optcache_table_page zero;
	struct optcache_table_page body = zero;

	if (oc_page_check(p, &sb->geo, p->uuid, nr) != -EBADMSG)
		return false;
	memcpy((char *)&body + 512, (const char *)p + 512, sizeof(body) - 512);
	if (!memcmp(&body, &zero, sizeof(body)))
		return false;
	oc_page_seal(&body, sb->uuid, nr, 1, 1);
	return !oc_page_check(&body, &sb->geo, sb->uuid, nr);
}

/* What a place without a right checksum is, beside a good one. */
enum bad_place {
	PLACE_NEVER_OURS,	/* nothing was ever written there */
	PLACE_HARMLESS,		/* the older version, or a newer one that the journal covers */
	PLACE_NEWER,		/* and the journal no longer has what it contained */
	PLACE_MAYBE_NEWER,	/* or the older one, nobody can tell */
};

/*
 * Versions are written in turn, so the place has the one before or the one after.  A
 * write that a power cut tore is normal: until it is whole the journal's tail stays at or
 * before the first record it would contain, so the page says a higher number than the
 * tail, but not more than the ring can hold.  Anything else is a place that was whole once.
 */
static enum bad_place judge_place(const struct oc_super *sb, u32 nr,
				  const struct optcache_table_page *good,
				  const struct optcache_table_page *bad)
{
	const u64 most = sb->tail_lsn + sb->geo.journal_size / sizeof(struct optcache_record);
	const u64 good_seq = le64_to_cpu(good->seq), good_lsn = le64_to_cpu(good->lsn);
	u64 seq = 0, lsn = 0;

	/*
	 * Beside the first version there may be anything, and its first sector stays when
	 * the first write of the place is torn.
	 */
	if (bad && good_seq == 1 && memcmp(bad->uuid, sb->uuid, OPTCACHE_UUID_SIZE))
		return resembles_page(sb, nr, bad) ? PLACE_HARMLESS : PLACE_NEVER_OURS;
	if (bad && was_page(sb, nr, bad)) {
		seq = le64_to_cpu(bad->seq);
		lsn = le64_to_cpu(bad->lsn);
	}
	/* whatever a still newer version contained, the journal has it */
	if (good_lsn >= sb->tail_lsn || (seq && seq == good_seq - 1))
		return PLACE_HARMLESS;
	if (seq == good_seq + 1 && lsn > sb->tail_lsn && lsn <= most)
		return PLACE_HARMLESS;
	return seq == good_seq + 1 ? PLACE_NEWER : PLACE_MAYBE_NEWER;
}

/* Versions of a page are numbered, and stand for more records one after the other. */
static bool places_differ(const struct optcache_table_page *const place[2])
{
	const u64 seq[2] = { le64_to_cpu(place[0]->seq), le64_to_cpu(place[1]->seq) };
	const bool second = seq[1] > seq[0];

	return seq[second] != seq[!second] + 1 ||
	       le64_to_cpu(place[second]->lsn) < le64_to_cpu(place[!second]->lsn);
}

bool check_page_outdated(const struct oc_super *sb, u32 nr,
			 const struct optcache_table_page *const place[2])
{
	const bool bad[2] = { place_check(sb, nr, place[0]), place_check(sb, nr, place[1]) };

	if (bad[0] && bad[1])
		return false;
	if (!bad[0] && !bad[1])
		return places_differ(place);
	return judge_place(sb, nr, place[bad[0]], place[!bad[0]]) >= PLACE_NEWER;
}

/* A page has a good place, and the other one is not good. */
static void check_bad_place(struct check *c, u32 nr, unsigned int bad,
			    const struct optcache_table_page *good,
			    const struct optcache_table_page *page)
{
	switch (judge_place(&c->s.sb, nr, good, page)) {
	case PLACE_NEVER_OURS:
		break;
	case PLACE_HARMLESS:
		finding(&c->f, OC_EXIT_COVERED, "table", nr,
			"place %u %s; the other place and the journal cover it", bad,
			page ? "is damaged or torn" : "cannot be read");
		break;
	case PLACE_NEWER:
		finding(&c->f, OC_EXIT_DAMAGED, "table", nr,
			"place %u, the newer one, is damaged, and the journal no longer covers it",
			bad);
		break;
	case PLACE_MAYBE_NEWER:
		finding(&c->f, OC_EXIT_DAMAGED, "table", nr,
			"place %u %s, and may have been the newer one", bad,
			page ? "is damaged beyond recognition" : "cannot be read");
		break;
	}
}

static void compare_places(struct check *c, u32 nr, const struct optcache_table_page *place[2])
{
	if (places_differ(place))
		finding(&c->f, OC_EXIT_DAMAGED, "table", nr,
			"the places contradict each other: their versions do not follow one another");
}

static void check_page(void *arg, u32 nr, const struct optcache_table_page *place[2], int err)
{
	struct check *c = arg;
	unsigned int p;
	int bad[2];

	for (p = 0; p < 2; p++)
		bad[p] = place_check(&c->s.sb, nr, place[p]);
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
	if (!bad[0] && !bad[1])
		compare_places(c, nr, place);
	for (p = 0; p < 2; p++)
		if (bad[p] && !bad[!p])
			check_bad_place(c, nr, p, place[!p], place[p]);
}

static void check_undecided(void *arg, const struct oc_intent *in)
{
	struct check *c = arg;

	finding(&c->f, OC_EXIT_DAMAGED, "mapping", from_slot(in->slot),
		"this slot was being written when the power was cut, and cannot be read now");
}

/* ---- journal and mapping ----------------------------------------------- */

/* How the journal ends, with records that were good up to there. */
static void check_end(struct check *c)
{
	const struct journal_end *end = &c->end;
	bool stopped = c->s.sb.flags & OPTCACHE_SUPER_CLEAN_STOP;

	switch (end->kind) {
	case JOURNAL_END_PLAIN:
		break;
	case JOURNAL_END_HOLE:
		finding(&c->f, OC_EXIT_DAMAGED, "journal", -1,
			"the block at offset %llu is damaged: %llu records are lost before the good block at offset %llu",
			(unsigned long long)end->offset,
			(unsigned long long)(end->next_lsn - c->m.rp.lsn),
			(unsigned long long)end->next_offset);
		break;
	case JOURNAL_END_TORN:
		finding(&c->f, stopped ? OC_EXIT_DAMAGED : OC_EXIT_COVERED, "journal", -1,
			"the last blocks, from offset %llu on, are incomplete: %s",
			(unsigned long long)end->offset,
			stopped ? "after a stop in order that is damage" :
				  "normal after a power cut, else its records are lost");
		break;
	case JOURNAL_END_ODD:
		finding(&c->f, OC_EXIT_DAMAGED, "journal", -1,
			"the superblock says that it ends at offset %llu with record %llu, the blocks there say otherwise",
			(unsigned long long)end->offset, (unsigned long long)c->m.rp.lsn);
		break;
	}
	if (end->max_epoch > c->s.sb.epoch)
		finding(&c->f, OC_EXIT_DAMAGED, "journal", -1,
			"a block is newer than the superblock, of which the latest version is lost");
}

static void check_journal(struct check *c)
{
	const struct mapping *m = &c->m;

	if (m->journal_unreadable)
		finding(&c->f, OC_EXIT_COVERED, "journal", -1, "%u of its pages cannot be read",
			m->journal_unreadable);
	journal_end_find(m, &c->end);
	if (m->journal_err == -EUCLEAN)
		finding(&c->f, OC_EXIT_DAMAGED, "journal", -1,
			"the block at offset %llu has a good checksum, and senseless records or an epoch above that of the superblock",
			(unsigned long long)m->rp.offset);
	else if (m->journal_err)
		finding(&c->f, OC_EXIT_DAMAGED, "journal", -1, "it cannot be read at its offset %llu (%s)",
			(unsigned long long)m->rp.offset, strerror(-m->journal_err));
	else
		check_end(c);
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

/* ---- all of it ----------------------------------------------------------- */

static int load(struct check *c)
{
	const struct mapping_hooks hooks = {
		.seen = check_page, .undecided = check_undecided, .arg = c,
	};
	int err;

	check_super_contents(c);
	err = mapping_load(&c->m, c->dev, &c->s.sb, &hooks);
	if (err)
		return fail(OC_EXIT_OS, "Free some memory and try again",
			    "cannot read the mapping of %s (%s)", c->dev->path, strerror(-err));
	c->loaded = true;
	check_journal(c);
	check_mapping(c);
	check_state(c);
	return 0;
}

int check_device(struct check *c, const struct dev *d, enum findings_as as)
{
	int code;

	*c = (struct check){ .dev = d };
	code = supers_probe(d, &c->s);
	if (code)
		return code;
	findings_start(&c->f, as);
	check_supers(c);
	if (!c->s.best)
		code = load(c);
	if (code)
		findings_end(&c->f);
	return code;
}

void check_free(struct check *c)
{
	findings_end(&c->f);
	if (c->loaded)
		mapping_free(&c->m);
	c->loaded = false;
}
