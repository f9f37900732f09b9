// SPDX-License-Identifier: GPL-2.0-only
/* The journal, and what its progress allows. */
#include "world.hpp"

/* ---- space ---- */

/* Records that may be outstanding: the ring has a unit for each. */
int room(int used)
{
	return cfg.pend < cfg.ring - used ? cfg.pend : cfg.ring - used;
}

/* UNMAP and MAP of a new version, the MAP or CLEAN of others. */
static int reserved(const State &s)
{
	int n = 0;

	for (const Op &o : s.op) {
		if (o.kind == NEW && !dropped(R_space_intents))
			n += 2;
		n += o.kind == EXTEND || o.kind == WRITEBACK;
	}
	return n;
}

/* May somebody reserve room for @n records? */
bool has_room(const State &s, int n)
{
	if (!cfg.space)
		return can_append(s, n);
	return reserved(s) + s.npend + n <= room(s.used);
}

/* For those who have reserved it. */
bool can_append(const State &s, int n)
{
	return s.npend + n <= NPEND;
}

/* ---- records ---- */

static bool melts(Rec last, Rec r)
{
	if (rec_type(last) != rec_type(r) || rec_type(r) == INTENT || rec_slot(last) + 1 != rec_slot(r))
		return false;
	if (rec_type(r) != MAP)
		return true;
	return rec_dirty(last) == rec_dirty(r) && rec_mask(last) == rec_mask(r) &&
	       rec_block(last) + 1 == rec_block(r);
}

/* Return: the record's lsn. */
u8 append(State &s, Rec r)
{
	u8 head = head_lsn(s);

	if (rec_type(r) != INTENT)
		s.dirty_pages |= 1 << page_of(rec_slot(r));
	if (cfg.melt && s.npend && head > s.closed && melts(s.pend[s.npend - 1], r)) {
		s.pend[s.npend++] = r | JOINED;
		return head - 1;
	}
	s.pend[s.npend++] = r;
	return head;
}

/* ---- slots ---- */

static bool pinned(const State &s, int slot)
{
	return slot_busy(s, slot, ALL_SECTORS) || (s.rd && s.rd_slot == slot && !dropped(R_pin_ignored));
}

/* What a free slot holds makes no difference, as long as all rules are kept. */
void become_free(State &s, int slot)
{
	s.s[slot] = {};
	if (cfg.drop >= 0)
		return;
	for (Cell &c : s.slot[slot])
		c = { bit(GARBAGE), GARBAGE, 0 };
}

void release(State &s, int slot)
{
	s.s[slot] = {};
	s.s[slot].st = GONE;
	pins_changed(s, slot);
}

void pins_changed(State &s, int slot)
{
	if (s.s[slot].st == GONE && !pinned(s, slot))
		become_free(s, slot);
}

/* FRESH: no record knows it. */
void end_mapping(State &s, int slot)
{
	Slot &x = s.s[slot];

	if (x.st == FRESH) {
		release(s, slot);
		return;
	}
	x.st = DEAD;
	x.lsn = append(s, make_rec(UNMAP, slot));
}

/* ---- durable ---- */

static void record_durable(State &s, Rec r, u8 lsn)
{
	int slot = rec_slot(r);
	Slot &x = s.s[slot];

	if (rec_type(r) == MAP && x.st == SEALED &&
	    (rec_mask(r) == x.mask || dropped(R_confirm_any)))
		x.st = LIVE;
	if (rec_type(r) == INTENT || x.lsn != lsn)
		return;
	x.lsn = 0;
	x.rejected = 0;
	if (x.st == DEAD)
		release(s, slot);
}

static void block_durable(State &s, const JBlock &b)
{
	u8 lsn = b.lsn;

	for (int i = 0; i < b.n; i++) {
		if (i && !rec_joined(b.rec[i]))
			lsn++;
		record_durable(s, b.rec[i], lsn);
	}
	if (s.durable < b.lsn + b.nr)
		s.durable = b.lsn + b.nr;
	for (int k = 0; k < NB; k++) {
		FuaWait &w = s.fw[k];

		if (!w.mask || w.lsn >= s.durable)
			continue;
		for (int h = 0; h < NH; h++)
			if (w.mask >> h & 1)
				version_durable(s, k, h, w.ver);
		w = {};
	}
}

static void pop(State &s)
{
	for (int k = 0; k + 1 < NFLY; k++) {
		s.fly[k] = s.fly[k + 1];
		s.jflush[k] = s.jflush[k + 1];
	}
	s.fly[NFLY - 1] = {};
	s.jflush[NFLY - 1] = {};
}

static void complete(State s, int k, Sink &out)
{
	JFly &f = s.fly[k];
	u8 lsn = f.b.lsn;

	s.ring[f.pos] = f.b;
	f.done = 1;
	if (cfg.vol_cache && dropped(R_journal_no_fua))
		s.ring_soft |= 1 << f.pos;
	if (f.preflush) {
		u8 covers = dropped(R_covered_at_end) ? head_lsn(s) : f.covers;

		if (s.covered < covers)
			s.covered = covers;
		flush_ended(s, s.jflush[k]);
		f.preflush = f.covers = 0;
	}
	if (dropped(R_ack_out_of_order))
		block_durable(s, f.b);
	while (s.fly[0].used && s.fly[0].done) {
		block_durable(s, s.fly[0].b);
		pop(s);
	}
	out.step(s, "the journal block from record %d on is written", lsn);
}

/* ---- commit ---- */

static bool needs_preflush(const State &s, const JBlock &b)
{
	u8 lsn = b.lsn;

	if (!cfg.vol_cache)
		return false;
	for (int i = 0; i < b.n; i++) {
		if (i && !rec_joined(b.rec[i]))
			lsn++;
		if (!rec_wants_flush(b.rec[i]) || lsn < s.covered)
			continue;
		if (rec_type(b.rec[i]) == MAP ? dropped(R_map_no_preflush) : dropped(R_clean_no_preflush))
			continue;
		return true;
	}
	return false;
}

static const char *rec_text(const JBlock &b)
{
	static const char *const type[] = { "MAP", "UNMAP", "CLEAN", "INTENT" };
	static char buf[160];
	int n = 0;

	for (int i = 0; i < b.n; i++) {
		Rec r = b.rec[i];

		n += snprintf(buf + n, sizeof(buf) - n, "%s%s(s%d", i ? rec_joined(r) ? "+" : ", " : "",
			      type[rec_type(r)], rec_slot(r));
		if (rec_type(r) == MAP || rec_type(r) == INTENT)
			n += snprintf(buf + n, sizeof(buf) - n, ",%c%s", 'A' + rec_block(r),
				      rec_type(r) == INTENT ? "" : rec_dirty(r) ? " dirty" : " clean");
		n += snprintf(buf + n, sizeof(buf) - n, ")");
	}
	return buf;
}

static void issue(State s, int k, int n, Sink &out)
{
	JFly &f = s.fly[k];

	f.used = 1;
	f.b.epoch = s.epoch;
	f.b.lsn = s.issued;
	f.b.n = n;
	for (int i = 0; i < n; i++) {
		f.b.rec[i] = s.pend[i];
		f.b.nr += !rec_joined(s.pend[i]);
	}
	f.pos = s.pos;
	if (!dropped(R_epoch_late))
		s.sb.epoch = s.epoch;
	f.preflush = needs_preflush(s, f.b);
	if (f.preflush) {
		send_flush(s, s.jflush[k]);
		f.covers = head_lsn(s);
		if (!dropped(R_melt_flushed))
			s.closed = f.covers;
	}
	for (int i = 0; i < n; i++)
		f.b.rec[i] &= ~WANTS_FLUSH;
	memmove(s.pend, s.pend + n, (NPEND - n) * sizeof(Rec));
	memset(s.pend + NPEND - n, 0, n * sizeof(Rec));
	s.npend -= n;
	s.issued += f.b.nr;
	s.pos = (s.pos + 1) % cfg.ring;
	s.used++;
	out.step(s, "the journal block from record %d on is sent%s: %s", f.b.lsn,
		 f.preflush ? " with PREFLUSH" : "", out.tracing ? rec_text(f.b) : "");
}

void next_journal(const State &s, Sink &out)
{
	int k = 0;

	for (int i = 0; i < NFLY; i++)
		if (s.fly[i].used && !s.fly[i].done)
			complete(s, i, out);
	while (k < cfg.flights && s.fly[k].used)
		k++;
	if (k == cfg.flights || !s.npend || s.used >= cfg.ring || (s.sb_fly && s.sb.epoch != s.epoch))
		return;
	for (int n = 1; n <= s.npend && n <= NREC; n++) {
		bool last = n == s.npend || n == NREC;

		if (n < s.npend && rec_joined(s.pend[n]))
			continue;
		if (last || cfg.split)
			issue(s, k, n, out);
	}
}
