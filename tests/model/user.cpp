// SPDX-License-Identifier: GPL-2.0-only
/* Writes that go to the cache. */
#include "world.hpp"

bool locked(const State &s, int b)
{
	return s.op[b].kind || (s.fill.on && s.fill.blk == b && !dropped(R_fill_no_lock));
}

/* The first free slot from @from on, or NS. */
int free_slot(const State &s, int from)
{
	int i;

	for (i = from; i < cfg.slots; i++) {
		bool taken = s.fill.on && s.fill.slot == i;

		for (const Op &o : s.op)
			taken |= (o.kind == NEW || o.kind == THROUGH) && o.slot == i && o.phase;
		if (s.s[i].st == FREE && !taken)
			return i;
	}
	return NS;
}

static void values(const State &s, int b, u8 *v)
{
	for (int h = 0; h < NH; h++)
		v[h] = value(b, s.ver[b]);
}

static const char *fua_text(bool fua) { return fua ? " FUA" : ""; }

/* ---- in place ---- */

static void in_place(State s, int b, int m, int mask, bool fua, Sink &out)
{
	u8 v[NH];

	version_begins(s, b, mask);
	values(s, b, v);
	write_slot(s, m, mask, v);
	s.ip[b] = { (u8)mask, (u8)m, s.ver[b], fua };
	if (s.s[m].st == COPY && !dropped(R_wb_no_copy))
		s.s[m].st = LIVE;
	out.step(s, "write %s%s%s in place, s%d", name(v[0]), mask_text(mask).c_str(), fua_text(fua), m);
}

static void ack_fua(State &s, int b, int mask, int ver)
{
	for (int h = 0; h < NH; h++)
		if (mask >> h & 1)
			version_durable(s, b, h, ver);
}

static void in_place_ends(State s, int b, Sink &out)
{
	InPlace p = s.ip[b];
	bool mapped = is_current(s.s[p.slot]) && s.s[p.slot].blk == b;

	slot_written(s, p.slot, p.mask, p.fua && !dropped(R_fua_plain_data));
	version_ends(s, b, p.mask, p.ver, mapped);
	if (p.fua && mapped)	/* else it came before the discard that it raced with */
		ack_fua(s, b, p.mask, p.ver);
	s.ip[b] = {};
	pins_changed(s, p.slot);
	out.step(s, "write %s in place is done", name(value(b, p.ver)));
}

static void in_place_fails(State s, int b, bool landed, Sink &out)
{
	InPlace p = s.ip[b];

	s.bud[B_FAIL]--;
	slot_failed(s, p.slot, p.mask, landed);
	s.ip[b] = {};
	pins_changed(s, p.slot);
	out.step(s, "write %s in place fails%s", name(value(b, p.ver)), landed ? ", but is there" : "");
}

/* ---- a dirty block, other sectors ---- */

static Rec map_rec(const State &s, int slot, bool wants_flush)
{
	const Slot &x = s.s[slot];
	Rec r = make_rec(MAP, slot, x.blk, x.mask, x.dirty);

	return wants_flush && cfg.vol_cache ? r | WANTS_FLUSH : r;
}

static void grow(State &s, int m, int mask, bool fua)
{
	s.s[m].mask |= mask;
	if (!dropped(R_extend_no_seal))
		s.s[m].st = SEALED;
	s.s[m].lsn = append(s, map_rec(s, m, !fua));
}

/* INTENT for what is not valid yet; what of the data overwrites others needs none. */
static u8 append_intent(State &s, int b, int slot, int mask, const u8 *v)
{
	Rec r = make_rec(INTENT, slot, b, mask);

	for (int h = 0; h < NH; h++)
		if (mask >> h & 1)
			r |= crc_bits(h, dropped(R_crc_other_copy) ? 15 : v[h]);
	return append(s, r);
}

static void extend(State s, int b, int m, int mask, bool fua, bool intent, Sink &out)
{
	Op o = {};
	u8 v[NH];

	version_begins(s, b, mask);
	values(s, b, v);
	write_slot(s, m, mask, v);
	o.kind = EXTEND;
	o.fua = fua;
	o.intent = intent;
	o.slot = m;
	o.mask = mask;
	o.ver = s.ver[b];
	if (intent)
		o.lsn = append_intent(s, b, m, mask & ~s.s[m].mask, v);
	s.op[b] = o;
	if (dropped(R_extend_early)) {
		s.s[m].mask |= mask;
		s.s[m].lsn = append(s, map_rec(s, m, !fua));
	}
	out.step(s, "write %s%s%s into s%d, sectors that it did not have%s", name(v[0]),
		 mask_text(mask).c_str(), fua_text(fua), m, intent ? ", INTENT" : "");
}

static void done_at(State &s, int b, const Op &o, u8 lsn)
{
	if (s.done_lsn < lsn + 1 && !(o.intent && dropped(R_done_lsn_intent)))
		s.done_lsn = lsn + 1;
	version_ends(s, b, o.mask, o.ver);
	if (!o.fua)
		return;
	if (lsn < s.durable || dropped(R_fua_no_lsn))
		ack_fua(s, b, o.mask, o.ver);
	else
		s.fw[b] = { o.mask, (u8)(o.ver & 7), lsn };
}

static void extend_ends(State s, int b, Sink &out)
{
	Op o = s.op[b];

	if (!can_append(s, 1))
		return;
	slot_written(s, o.slot, o.mask, o.fua && !dropped(R_fua_plain_data));
	if (!dropped(R_extend_early))
		grow(s, o.slot, o.mask, o.fua);
	s.op[b] = {};
	done_at(s, b, o, o.intent ? o.lsn : s.s[o.slot].lsn);
	out.step(s, "write %s to s%d is done, MAP with the larger mask", name(value(b, o.ver)), o.slot);
}

/* The slot holds what it held before; a MAP takes the INTENT back. */
static void extend_fails(State s, int b, bool landed, Sink &out)
{
	Op o = s.op[b];

	if (!can_append(s, 1))
		return;
	s.bud[B_FAIL]--;
	slot_failed(s, o.slot, o.mask, landed);
	if (o.intent)
		s.s[o.slot].lsn = append(s, map_rec(s, o.slot, true));
	s.op[b] = {};
	out.step(s, "write %s to s%d fails%s%s", name(value(b, o.ver)), o.slot,
		 landed ? ", but is there" : "", o.intent ? "; MAP with the mask as it was" : "");
}

/* ---- a new version in a fresh slot ---- */

static void new_version(State s, int b, int mask, bool fua, bool intent, int t, Sink &out)
{
	u8 v[NH];
	Op o = {};

	version_begins(s, b, mask);
	values(s, b, v);
	write_slot(s, t, mask, v);
	o.kind = NEW;
	o.phase = 1;
	o.fua = fua;
	o.intent = intent;
	o.slot = t;
	o.mask = mask;
	o.ver = s.ver[b];
	if (intent)
		o.lsn = append_intent(s, b, t, mask, v);
	s.op[b] = o;
	out.step(s, "write %s%s%s to the free s%d%s", name(v[0]), mask_text(mask).c_str(),
		 fua_text(fua), t, intent ? ", INTENT" : "");
}

/* The data is there: the old slot ends, the new one is mapped. */
static void new_ends(State s, int b, Sink &out)
{
	Op o = s.op[b];
	int old = current_slot(s, b);
	Slot &x = s.s[o.slot];
	bool fua = o.fua && !dropped(R_fua_plain_data);

	if (!can_append(s, 2))
		return;
	slot_written(s, o.slot, o.mask, fua);
	if (old >= 0 && !dropped(R_map_before_unmap))
		end_mapping(s, old);
	x = {};
	x.st = SEALED;
	x.blk = b;
	x.mask = o.mask;
	x.dirty = 1;
	x.lsn = append(s, map_rec(s, o.slot, !o.fua));
	if (old >= 0 && dropped(R_map_before_unmap))
		end_mapping(s, old);
	s.op[b] = {};
	done_at(s, b, o, o.intent ? o.lsn : x.lsn);
	out.step(s, "write %s to s%d is done, %sMAP(s%d)", name(value(b, o.ver)), o.slot,
		 old < 0 ? "" : "UNMAP of the old slot, ", o.slot);
}

/* An error, or the write goes to the origin instead. */
static void new_fails(State s, int b, bool landed, bool past, Sink &out)
{
	Op o = s.op[b];
	Slot &x = s.s[o.slot];

	if (!can_append(s, 2))
		return;
	s.bud[B_FAIL]--;
	slot_failed(s, o.slot, o.mask, landed);
	s.op[b] = {};
	if (o.intent) {
		x.st = DEAD;
		x.blk = b;
		x.lsn = append(s, make_rec(UNMAP, o.slot));
		if (dropped(R_failed_free))
			become_free(s, o.slot);
	}
	if (past)
		begin_past(s, b, BYPASS, o.mask, o.ver, o.fua);
	out.step(s, "write %s to s%d fails%s%s", name(value(b, o.ver)), o.slot,
		 landed ? ", but is there" : "", past ? "; it goes to the origin" : "");
}

/* ---- what a write finds ---- */

static void write_new(const State &s, int b, int m, int mask, bool fua, Sink &out)
{
	if (dropped(R_clean_in_place) && m >= 0 && s.s[m].st == LIVE && !slot_busy(s, m, ALL_SECTORS)) {
		State n = s;
		u8 v[NH];

		version_begins(n, b, mask);
		values(n, b, v);
		write_slot(n, m, mask, v);
		n.op[b].kind = EXTEND;
		n.op[b].slot = m;
		n.op[b].mask = mask;
		n.op[b].ver = n.ver[b];
		n.op[b].fua = fua;
		n.s[m].dirty = 1;
		out.step(n, "write %s in place over the clean s%d", name(v[0]), m);
	}
	for (int t = free_slot(s, 0); t < NS; t = cfg.anyslot ? free_slot(s, t + 1) : NS) {
		if (cfg.intent && has_room(s, dropped(R_space_intents) ? 1 : 3))
			new_version(s, b, mask, fua, true, t, out);
		if (cfg.late && has_room(s, 2))
			new_version(s, b, mask, fua, false, t, out);
	}
}

/* Sectors that are valid are changed only in LIVE and COPY; others also in SEALED. */
static bool may_extend(const State &s, int m, int mask)
{
	const Slot &x = s.s[m];

	if (x.rejected && !dropped(R_extend_rejected))
		return false;
	return x.st == LIVE ||
	       (x.st == SEALED && (!(x.mask & mask) || dropped(R_sealed_overlap)));
}

static void write_extend(const State &s, int b, int m, int mask, bool fua, Sink &out)
{
	if (locked(s, b) || !may_extend(s, m, mask))
		return;
	if (cfg.intent && has_room(s, 2))
		extend(s, b, m, mask, fua, true, out);
	if (cfg.late && has_room(s, 1))
		extend(s, b, m, mask, fua, false, out);
}

static void write(const State &s, int b, int mask, bool fua, Sink &out)
{
	int m = current_slot(s, b);

	if (m < 0 || !s.s[m].dirty) {
		if (!locked(s, b))
			write_new(s, b, m, mask, fua, out);
		return;
	}
	if (slot_busy(s, m, mask))
		return;
	if ((s.s[m].mask & mask) != mask)
		write_extend(s, b, m, mask, fua, out);
	else if (s.s[m].st != SEALED || dropped(R_sealed_in_place))
		in_place(s, b, m, mask, fua, out);
}

/* Sectors in a row. */
static bool is_run(int mask)
{
	int low = mask & -mask;

	return !((mask + low) & mask);
}

static void begin_write(const State &s, int b, Sink &out)
{
	State n = s;

	if (!s.bud[B_WRITE] || s.ver[b] + 1 >= NVER || s.ip[b].mask)
		return;
	n.bud[B_WRITE]--;
	for (int mask = 1; mask < 1 << cfg.sectors; mask++) {
		if (!is_run(mask))
			continue;
		if (cfg.plain)
			write(n, b, mask, false, out);
		if (cfg.fua && !s.fw[b].mask)
			write(n, b, mask, true, out);
	}
}

void next_write(const State &s, Sink &out)
{
	for (int b = 0; b < NB; b++) {
		const Op &o = s.op[b];

		begin_write(s, b, out);
		if (s.ip[b].mask) {
			in_place_ends(s, b, out);
			for (int landed = 0; s.bud[B_FAIL] && landed < 2; landed++)
				in_place_fails(s, b, landed, out);
		}
		if (o.kind == EXTEND) {
			extend_ends(s, b, out);
			for (int landed = 0; s.bud[B_FAIL] && landed < 2; landed++)
				extend_fails(s, b, landed, out);
		}
		if (o.kind != NEW)
			continue;
		new_ends(s, b, out);
		for (int i = 0; s.bud[B_FAIL] && i < 4; i++)
			new_fails(s, b, i & 1, i & 2, out);
	}
}
