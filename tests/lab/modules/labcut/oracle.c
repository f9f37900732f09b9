// SPDX-License-Identifier: GPL-2.0
/*
 * The oracle: for each sector a list of versions, each with the time it was sent, ended
 * and whether it is durable.  A version is superseded by another that was sent after it
 * had ended; of two that overlap either may be the later one.
 *
 *	a read		may find what no version supersedes that ended before the read was sent
 *	after a cut	what no *durable* version supersedes
 *
 * Durable is a write that was acknowledged with FUA, or before a flush was sent which was
 * acknowledged; on a device without a volatile cache, every acknowledged one.  An
 * acknowledgment that comes after the cut is none: see load.c.
 *
 * What a read finds while nothing is written to the sector settles it: this version is
 * from then on later than all others that were possible.
 *
 * A cut leaves the versions that are legal then, as equals that are durable: what is on
 * the devices after a cut is there to stay.  Which one it is the next read will tell.
 *
 * A discard is a version that is zeroes or any value that the sector ever had; what a read
 * finds settles that too, and for good once the discard is durable.
 */
#include <linux/ktime.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "labcut.h"

#define CUT_VERSIONS	24

struct cut_version {
	u32 value;
	u32 sent;		/* tick; later than the op's, if a read has settled the order */
	u32 cut;		/* 0, or the tick of the cut that it has survived */
	u16 id;
	bool discard;
};

struct cut_sector {
	u16 nr;
	bool crashed;		/* not read since the last cut */
	bool settled;		/* read since the last write */
	struct cut_version version[CUT_VERSIONS];
};

static struct cut_sector *cut_sectors;

/* 0: not yet.  No earlier than it was sent, also when a read has settled that. */
static u32 cut_ended(const struct cut_version *v)
{
	u32 ended = v->cut ?: cut.record[v->id].ended;

	return ended ? max(ended, v->sent) : 0;
}

static bool cut_durable(const struct cut_version *v)
{
	return v->cut || cut.record[v->id].durable;
}

static bool cut_wrote(const struct cut_record *r, u32 sector)
{
	return (r->kind == CUT_WRITE || r->kind == CUT_ZEROES) && r->state != CUT_UNSENT &&
	       sector >= r->sector && sector - r->sector < r->sectors;
}

/* Was @value ever written to @sector, before @tick? */
static bool cut_once(u32 sector, u32 value, u32 tick)
{
	u32 id = cut_value_id(value);
	const struct cut_record *r;

	if (value == CUT_ZERO || id == CUT_BASE_ID)
		return true;
	if (value == CUT_GARBAGE || id > cut.newest)
		return false;
	r = &cut.record[id];
	return cut_wrote(r, sector) && r->kind == CUT_WRITE && r->sent < tick;
}

static bool cut_matches(const struct cut_version *v, u32 sector, u32 value)
{
	u32 ended = cut.record[v->id].ended;

	if (v->value == CUT_ANY)
		return cut_once(sector, value, ended ?: ~0u);
	if ((v->value & 3) == CUT_EITHER)
		return cut_value_id(value) == v->id && value != CUT_GARBAGE;
	return value == v->value;
}

/* The latest start of a version that counts: what ended before it is superseded. */
static u32 cut_line(const struct cut_sector *s, u32 before, bool crash)
{
	u32 line = 0, ended;
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		const struct cut_version *v = &s->version[i];

		ended = cut_ended(v);
		if (crash ? cut_durable(v) : ended && ended < before)
			line = max(line, v->sent);
	}
	return line;
}

static bool cut_legal(const struct cut_version *v, u32 line)
{
	u32 ended = cut_ended(v);

	return !ended || ended >= line;
}

/* When the oldest read was sent that is still in flight; else, what the next one will be. */
static u32 cut_oldest_read(void)
{
	const struct cut_record *r;

	for (; cut.reading <= cut.newest; cut.reading++) {
		r = &cut.record[cut.reading];
		if (r->kind == CUT_READ && r->state == CUT_SENT)
			return r->sent;
	}
	return cut.tick + 1;
}

/* Drop what neither a cut nor a read can bring to light any more. */
static void cut_prune(struct cut_sector *s)
{
	u32 crash = cut_line(s, 0, true);
	u32 live = cut_line(s, cut_oldest_read(), false);
	unsigned int i, n = 0;

	for (i = 0; i < s->nr; i++)
		if (cut_legal(&s->version[i], crash) || cut_legal(&s->version[i], live))
			s->version[n++] = s->version[i];
	s->nr = n;
}

static bool cut_changes(u8 kind)
{
	return kind == CUT_WRITE || kind == CUT_DISCARD || kind == CUT_ZEROES;
}

bool cut_oracle_room(const struct cut_op *op)
{
	u32 i;

	lockdep_assert_held(&cut.lock);
	if (!cut_changes(op->kind))
		return true;
	for (i = 0; i < op->sectors; i++)
		if (cut_sectors[op->sector + i].nr == CUT_VERSIONS)
			return false;
	return true;
}

static u32 cut_op_value(const struct cut_op *op)
{
	if (op->kind == CUT_DISCARD)
		return CUT_ANY;
	if (op->kind == CUT_ZEROES)
		return CUT_ZERO;
	return cut_value(op->id, op->flags & CUT_SCRIBBLE ? CUT_EITHER : 0);
}

void cut_oracle_sent(const struct cut_op *op)
{
	struct cut_record *r = &cut.record[op->id];
	u32 i;

	lockdep_assert_held(&cut.lock);
	*r = (struct cut_record){
		.sent = ++cut.tick, .sector = op->sector, .sectors = op->sectors,
		.kind = op->kind, .flags = op->flags, .state = CUT_SENT,
		.trace = { .run = cut.runs, .status = 2 },
	};
	cut.newest = max(cut.newest, op->id);
	if (!cut_changes(op->kind))
		return;
	for (i = 0; i < op->sectors; i++) {
		struct cut_sector *s = &cut_sectors[op->sector + i];

		s->settled = false;
		s->version[s->nr++] = (struct cut_version){
			.value = cut_op_value(op), .sent = r->sent, .id = op->id,
			.discard = op->kind == CUT_DISCARD,
		};
	}
}

static void cut_make_durable(struct cut_record *r)
{
	u32 i;

	r->durable = true;
	for (i = 0; i < r->sectors; i++)
		cut_prune(&cut_sectors[r->sector + i]);
}

/* A flush that was sent at @tick has ended. */
static void cut_flushed(u32 tick)
{
	struct cut_record *r;
	bool all = true;
	u16 id;

	for (id = cut.oldest; id <= cut.newest; id++) {
		r = &cut.record[id];
		if (cut_changes(r->kind) && r->state == CUT_ENDED && !r->durable &&
		    r->ended < tick)
			cut_make_durable(r);
		all = all && (r->durable || r->state == CUT_FAILED || !cut_changes(r->kind));
		if (all)
			cut.oldest = id + 1;
	}
}

void cut_oracle_ended(u16 id)
{
	struct cut_record *r = &cut.record[id];

	lockdep_assert_held(&cut.lock);
	r->ended = ++cut.tick;
	r->state = CUT_ENDED;
	if (cut_changes(r->kind) && (!cut.cached || r->flags & CUT_FUA))
		cut_make_durable(r);
	if (r->kind == CUT_FLUSH || r->flags & CUT_PREFLUSH)
		cut_flushed(r->sent);
}

static void cut_find(u32 sector, u32 value, u32 got_sector, u32 pass, enum cut_bad bad,
		     u32 line)
{
	const struct cut_sector *s = &cut_sectors[sector];
	struct cut_finding *f;
	unsigned int i;

	cut.result.bad[bad]++;
	if (cut.nr_findings == ARRAY_SIZE(cut.finding))
		return;
	f = &cut.finding[cut.nr_findings++];
	*f = (struct cut_finding){
		.at_ns = ktime_get_ns() - cut.start_ns, .bad = bad, .sector = sector,
		.got = value, .got_sector = got_sector, .pass = pass,
	};
	for (i = 0; i < s->nr && f->nr < ARRAY_SIZE(f->legal); i++)
		if (cut_legal(&s->version[i], line))
			f->legal[f->nr++] = s->version[i].value;
}

static bool cut_ever_zero(u32 sector)
{
	const struct cut_record *r;
	u16 id;

	for (id = CUT_FIRST_ID; id <= cut.newest; id++) {
		r = &cut.record[id];
		if ((r->kind == CUT_ZEROES || r->kind == CUT_DISCARD) &&
		    sector >= r->sector && sector - r->sector < r->sectors)
			return true;
	}
	return false;
}

static enum cut_bad cut_kind_of_bad(const struct cut_sector *s, u32 sector, u32 value)
{
	if (value == CUT_ZERO ? !cut_ever_zero(sector) : !cut_once(sector, value, ~0u))
		return CUT_FOREIGN;
	if (s->settled)
		return CUT_UNSTABLE;
	return s->crashed ? CUT_LOST : CUT_STALE;
}

/*
 * These of the legal versions have @value.  A write that wrote it is what a read has seen,
 * rather than a discard that may have left it.
 */
static unsigned int cut_candidates(struct cut_sector *s, u32 sector, u32 value, u32 line,
				   struct cut_version *found[CUT_VERSIONS])
{
	unsigned int i, n = 0, written = 0;

	for (i = 0; i < s->nr; i++) {
		struct cut_version *v = &s->version[i];

		if (!cut_legal(v, line) || !cut_matches(v, sector, value))
			continue;
		if (v->value != CUT_ANY && !written++)
			n = 0;
		if (v->value != CUT_ANY || !written)
			found[n++] = v;
	}
	return n;
}

/* Nobody has written meanwhile, so @value is what the sector holds from now on. */
static void cut_settle(struct cut_sector *s, u32 value, struct cut_version **found,
		       unsigned int n)
{
	while (n--) {
		found[n]->sent = cut.tick;
		found[n]->value = value;
	}
	s->settled = true;
	s->crashed = false;
	cut_prune(s);
}

static bool cut_quiet(const struct cut_sector *s, u32 since)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		u32 ended = cut_ended(&s->version[i]);

		if (!ended || ended >= since)
			return false;
	}
	return true;
}

/* What is wrong is told once: from now on it is what the sector holds. */
static void cut_give_in(struct cut_sector *s, u32 value)
{
	s->nr = 1;
	s->settled = true;
	s->crashed = false;
	s->version[0] = (struct cut_version){
		.value = value, .sent = cut.tick, .cut = cut.tick, .id = CUT_BASE_ID,
	};
}

/* A read that was sent at @since has found @value. */
void cut_oracle_read(u32 sector, u32 value, u32 got_sector, u32 since, u32 pass)
{
	struct cut_sector *s = &cut_sectors[sector];
	u32 line = cut_line(s, since, false);
	struct cut_version *found[CUT_VERSIONS];
	unsigned int n;

	lockdep_assert_held(&cut.lock);
	n = cut_candidates(s, sector, value, line, found);
	if (!n)
		cut_find(sector, value, got_sector, pass, cut_kind_of_bad(s, sector, value),
			 line);
	if (!cut_quiet(s, since))
		return;
	if (n)
		cut_settle(s, value, found, n);
	else
		cut_give_in(s, value);
}

/* Is @value what the sector is known to hold? */
bool cut_oracle_is(u32 sector, u32 value)
{
	const struct cut_sector *s = &cut_sectors[sector];
	unsigned int i;

	lockdep_assert_held(&cut.lock);
	for (i = 0; i < s->nr; i++)
		if (cut_matches(&s->version[i], sector, value))
			return true;
	return false;
}

static void cut_sector_crashed(struct cut_sector *s)
{
	u32 line = cut_line(s, 0, true);
	unsigned int i, n = 0;

	for (i = 0; i < s->nr; i++)
		if (cut_legal(&s->version[i], line))
			s->version[n++] = s->version[i];
	s->nr = n;
	for (i = 0; i < n; i++) {
		struct cut_version *v = &s->version[i];

		if (v->discard && !cut_durable(v))
			v->value = CUT_ANY;
		v->sent = cut.tick;
		v->cut = cut.tick;
	}
	s->settled = false;
	s->crashed = true;
}

void cut_oracle_crashed(void)
{
	u32 i;

	lockdep_assert_held(&cut.lock);
	cut.tick++;
	for (i = 0; i < cut.sectors; i++)
		cut_sector_crashed(&cut_sectors[i]);
	for (i = CUT_FIRST_ID; i <= cut.newest; i++)
		if (cut.record[i].state == CUT_SENT)
			cut.record[i].state = CUT_FAILED;
	cut.oldest = cut.newest + 1;
	cut.tick++;
}

void cut_oracle_new(u64 seed, u32 sectors)
{
	u32 i;

	lockdep_assert_held(&cut.lock);
	cut.seed = seed;
	cut.sectors = sectors;
	cut.tick = 1;
	cut.oldest = CUT_FIRST_ID;
	cut.newest = CUT_BASE_ID;
	cut.reading = CUT_FIRST_ID;
	cut.runs = 0;
	cut.nr_findings = 0;
	memset(&cut.result, 0, sizeof(cut.result));
	memset(cut.record, 0, CUT_MAX_OPS * sizeof(*cut.record));
	cut.record[CUT_BASE_ID] = (struct cut_record){
		.sent = 1, .ended = 1, .sectors = CUT_MAX_SECTORS, .kind = CUT_WRITE,
		.state = CUT_ENDED, .durable = true,
	};
	for (i = 0; i < sectors; i++) {
		struct cut_sector *s = &cut_sectors[i];

		s->nr = 1;
		s->crashed = false;
		s->settled = true;
		s->version[0] = (struct cut_version){
			.value = cut_value(CUT_BASE_ID, 0), .sent = 1, .cut = 1,
			.id = CUT_BASE_ID,
		};
	}
}

int cut_oracle_init(void)
{
	cut_sectors = vzalloc(array_size(CUT_MAX_SECTORS, sizeof(*cut_sectors)));
	cut.record = vzalloc(array_size(CUT_MAX_OPS, sizeof(*cut.record)));
	if (cut_sectors && cut.record)
		return 0;
	cut_oracle_exit();
	return -ENOMEM;
}

void cut_oracle_exit(void)
{
	vfree(cut_sectors);
	vfree(cut.record);
}
