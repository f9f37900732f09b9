// SPDX-License-Identifier: GPL-2.0-only
/* Fills, FRESH slots, eviction, write-back, reads in flight. */
#include "world.hpp"

static int all_sectors() { return (1 << cfg.sectors) - 1; }

/* ---- fill ---- */

static void fill_begins(State s, int b, Sink &out)
{
	int m = current_slot(s, b), t = free_slot(s, 0);
	u8 v[NH];

	if (locked(s, b) || s.fill.on || s.ip[b].mask || t == NS || !has_room(s, 1))
		return;
	if (m >= 0 && (s.s[m].dirty || s.s[m].mask == all_sectors()))
		return;
	s.bud[B_FILL]--;
	if (m >= 0)
		end_mapping(s, m);
	for (int h = 0; h < NH; h++)
		v[h] = s.origin[b][h].cur;
	write_slot(s, t, all_sectors(), v);
	s.fill = { 1, (u8)b, (u8)t, dropped(R_fresh_user_only) ? s.user_writes : s.writes };
	out.step(s, "fill: the origin's %s goes to the free s%d", name(v[0]), t);
}

static void fill_ends(State s, Sink &out)
{
	Fill f = s.fill;
	Slot &x = s.s[f.slot];

	slot_written(s, f.slot, all_sectors(), false);
	s.fill = {};
	if (current_slot(s, f.blk) < 0) {
		x = {};
		x.st = FRESH;
		x.blk = f.blk;
		x.mask = all_sectors();
		x.need = f.need;
	} else {
		become_free(s, f.slot);
	}
	out.quiet(s, "fill: s%d is FRESH", f.slot);
}

static void fresh_recorded(State s, int i, Sink &out)
{
	Slot &x = s.s[i];
	Rec r = make_rec(MAP, i, x.blk, x.mask);

	x.st = SEALED;
	x.need = 0;
	x.lsn = append(s, cfg.vol_cache ? r | WANTS_FLUSH : r);
	out.quiet(s, "FRESH s%d: MAP clean", i);
}

/* ---- eviction ---- */

static void evict(State s, int i, Sink &out)
{
	s.bud[B_EVICT]--;
	end_mapping(s, i);
	if (dropped(R_reuse_early) && s.s[i].st == DEAD)
		become_free(s, i);
	out.quiet(s, "evict s%d", i);
}

/* ---- write-back ---- */

static void clean(State &s, int i)
{
	Rec r = make_rec(CLEAN, i);

	s.s[i].dirty = 0;
	s.s[i].st = LIVE;
	s.s[i].lsn = append(s, cfg.vol_cache ? r | WANTS_FLUSH : r);
}

static void wb_begins(State s, int b, Sink &out)
{
	int m = current_slot(s, b);
	u8 v[NH];

	if (locked(s, b) || m < 0 || !s.s[m].dirty || slot_busy(s, m, ALL_SECTORS) || !has_room(s, 1))
		return;
	if (s.s[m].st != LIVE && !(s.s[m].st == SEALED && dropped(R_wb_sealed)))
		return;
	s.bud[B_WB]--;
	for (int h = 0; h < NH; h++)
		v[h] = s.slot[m][h].cur;
	write_origin(s, b, s.s[m].mask, v);
	s.op[b] = {};
	s.op[b].kind = WRITEBACK;
	s.op[b].phase = 1;
	s.op[b].slot = m;
	s.op[b].mask = s.s[m].mask;
	s.s[m].st = COPY;
	if (dropped(R_clean_early_nv))
		clean(s, m);
	out.step(s, "write-back: s%d (%s) goes to the origin", m, name(v[0]));
}

static void wb_written(State s, int b, Sink &out)
{
	Op &o = s.op[b];

	origin_written(s, b, o.mask, false);
	s.writes += cfg.vol_origin;
	o.phase = 2;
	o.need = s.writes;
	out.quiet(s, "write-back: the origin has it");
}

static void wb_fails(State s, int b, bool landed, Sink &out)
{
	Op &o = s.op[b];

	s.bud[B_FAIL]--;
	origin_failed(s, b, o.mask, landed);
	s.writes += cfg.vol_origin;
	if (s.s[o.slot].st == COPY)
		s.s[o.slot].st = LIVE;
	o = {};
	out.quiet(s, "write-back: writing the origin fails%s", landed ? ", but it is there" : "");
}

static void wb_ends(State s, int b, Sink &out)
{
	int m = s.op[b].slot;
	bool still = s.s[m].st == COPY && s.s[m].blk == b;

	if (still && !can_append(s, 1))
		return;
	s.op[b] = {};
	if (still)
		clean(s, m);
	out.quiet(s, "write-back ends: s%d %s", m, still ? "CLEAN" : "stays dirty");
}

/* ---- the origin's flush ---- */

static void origin_flush(const State &s, Sink &out)
{
	State n = s;

	if (s.oflush) {
		origin_flush_ended(n);
		out.quiet(n, "the flush of the origin ends");
	} else if (s.writes) {
		send_origin_flush(n);
		out.quiet(n, "a flush of the origin is sent");
	}
}

/* ---- a read in flight ---- */

static void read_begins(State s, int b, Sink &out)
{
	int m = current_slot(s, b);

	if (m < 0 || !(s.s[m].mask & 1))
		return;
	s.bud[B_READ]--;
	s.rd = 1;
	s.rd_slot = m;
	s.rd_blk = b;
	s.rd_legal = s.now[b][0];
	out.quiet(s, "a read of block %c from s%d is sent", 'A' + b, m);
}

static void read_ends(State s, Sink &out)
{
	u8 slot = s.rd_slot, x = s.slot[slot][0].cur;

	if (!(s.rd_legal >> x & 1))
		out.bad("a read of block %c that was in flight gives %s", 'A' + s.rd_blk, name(x));
	s.rd = s.rd_slot = s.rd_blk = s.rd_legal = 0;
	pins_changed(s, slot);
	out.quiet(s, "the read of s%d ends", slot);
}

static void next_writeback(const State &s, int b, Sink &out)
{
	const Op &o = s.op[b];

	if (s.bud[B_WB])
		wb_begins(s, b, out);
	if (o.kind != WRITEBACK)
		return;
	if (o.phase == 2) {
		if (!o.need || dropped(R_clean_early))
			wb_ends(s, b, out);
		return;
	}
	wb_written(s, b, out);
	for (int landed = 0; s.bud[B_FAIL] && landed < 2; landed++)
		wb_fails(s, b, landed, out);
}

void next_background(const State &s, Sink &out)
{
	for (int i = 0; i < NS; i++) {
		const Slot &x = s.s[i];

		if (x.st == FRESH && (!x.need || dropped(R_fresh_early)) && has_room(s, 1))
			fresh_recorded(s, i, out);
		if (s.bud[B_EVICT] && is_current(x) && !x.dirty && x.st != COPY && has_room(s, 1))
			evict(s, i, out);
	}
	for (int b = 0; b < NB; b++) {
		if (s.bud[B_FILL])
			fill_begins(s, b, out);
		next_writeback(s, b, out);
		if (s.bud[B_READ] && !s.rd)
			read_begins(s, b, out);
	}
	if (s.fill.on)
		fill_ends(s, out);
	if (s.rd)
		read_ends(s, out);
	origin_flush(s, out);
}
