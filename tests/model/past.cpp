// SPDX-License-Identifier: GPL-2.0-only
/*
 * What goes past the mapping to the origin: bypass, write-through, discard.  The mapping ends
 * first, durably, also that of a slot that is DEAD already.
 */
#include "world.hpp"

static u8 end_of_mappings(const State &s, int b, OpKind kind, u8 own)
{
	u8 lsn = 0;

	if (dropped(kind == DISCARD ? R_discard_no_unmap : R_bypass_no_unmap))
		return 0;
	if (dropped(R_bypass_evicted))
		return own;
	for (const Slot &x : s.s) {
		if (x.st != DEAD || x.blk != b || (x.rejected && dropped(R_bypass_rejected)))
			continue;
		if (lsn < x.lsn)
			lsn = x.lsn;
	}
	return lsn;
}

void begin_past(State &s, int b, OpKind kind, int mask, int ver, bool fua)
{
	int m = current_slot(s, b);
	Op o = {};

	if (m >= 0)
		end_mapping(s, m);
	o.kind = kind;
	o.mask = mask;
	o.ver = ver;
	o.fua = fua;
	o.lsn = end_of_mappings(s, b, kind, m >= 0 ? s.s[m].lsn : 0);
	s.op[b] = o;
}

static const char *what(OpKind kind)
{
	return kind == THROUGH ? "write-through" : kind == BYPASS ? "bypass" : "discard";
}

static void begin(State s, int b, OpKind kind, int mask, bool fua, Sink &out)
{
	if (kind == DISCARD) {
		for (int h = 0; h < NH; h++) {
			s.legal[b][h] |= s.origin[b][h].can | bit(ZERO);
			s.now[b][h] |= bit(s.origin[b][h].cur) | bit(ZERO);
		}
		if (s.rd && s.rd_blk == b)
			s.rd_legal |= s.now[b][0];
	} else {
		version_begins(s, b, mask);
	}
	begin_past(s, b, kind, mask, s.ver[b], fua);
	out.step(s, "%s %s%s: the mapping ends", what(kind), name(kind == DISCARD ? ZERO : value(b, s.ver[b])),
		 fua ? " FUA" : "");
}

static void discard_ends(State &s, int b)
{
	for (int h = 0; h < NH; h++) {
		u16 racing = s.ip[b].mask >> h & 1 ? bit(value(b, s.ip[b].ver)) : 0;

		s.legal[b][h] = s.origin[b][h].can | racing;
		s.now[b][h] = bit(s.origin[b][h].cur) | racing;
		s.acked[b][h] = 0;
		s.fl_ver[b][h] = 0;
	}
}

/* The UNMAP is durable: on to the devices, at once. */
static const char *send(State &s, int b)
{
	Op &o = s.op[b];
	u8 v[NH];
	int t = free_slot(s, 0);

	for (u8 &x : v)
		x = o.kind == DISCARD ? ZERO : value(b, o.ver);
	o.phase = 1;
	o.lsn = 0;
	if (o.kind == DISCARD && cfg.nodiscard) {
		discard_ends(s, b);
		o = {};
		return "done, the origin knows no discards";
	}
	write_origin(s, b, o.mask, v);
	if (o.kind != THROUGH)
		return "it is sent to the origin";
	if (t == NS) {
		o.kind = BYPASS;
		return "it is sent to the origin, there is no free slot";
	}
	o.slot = t;
	write_slot(s, t, o.mask, v);
	return "it is sent to the origin and a free slot";
}

static bool is_past(const Op &o)
{
	return o.kind == THROUGH || o.kind == BYPASS || o.kind == DISCARD;
}

const char *past_goes_on(State &s)
{
	for (int b = 0; b < NB; b++)
		if (is_past(s.op[b]) && !s.op[b].phase && s.op[b].lsn < s.durable)
			return send(s, b);
	return nullptr;
}

static void count(State &s)
{
	if (!cfg.vol_origin)
		return;
	s.writes++;
	s.user_writes++;
}

/* Both devices, or the one that was asked, have answered. */
static void end(State &s, int b)
{
	Op o = s.op[b];

	count(s);
	s.op[b] = {};
	if (o.kind == THROUGH) {
		Slot &x = s.s[o.slot];

		x = {};
		x.st = FRESH;
		x.blk = b;
		x.mask = o.mask;
		x.need = s.writes;
	}
	if (o.kind == DISCARD) {
		discard_ends(s, b);
		return;
	}
	version_ends(s, b, o.mask, o.ver);
	for (int h = 0; o.fua && h < NH; h++)
		if (o.mask >> h & 1)
			version_durable(s, b, h, o.ver);
}

static void origin_done(State s, int b, Sink &out)
{
	Op o = s.op[b];
	bool more = o.kind == THROUGH && slot_busy(s, o.slot, o.mask);

	origin_written(s, b, o.mask, o.fua);
	if (!more)
		end(s, b);
	out.step(s, "%s: the origin has it%s", what((OpKind)o.kind), more ? "" : "; done");
}

static void slot_done(State s, int b, Sink &out)
{
	Op o = s.op[b];
	bool more = origin_busy(s, b);

	slot_written(s, o.slot, o.mask, false);
	if (!more)
		end(s, b);
	out.step(s, "%s: s%d has it%s", what((OpKind)o.kind), o.slot, more ? "" : "; done");
}

static void begin_any(const State &s, int b, Sink &out)
{
	static const OpKind kind[] = { THROUGH, BYPASS, DISCARD };
	static const Budget budget[] = { B_THROUGH, B_BYPASS, B_DISCARD };
	int m = current_slot(s, b), all = (1 << cfg.sectors) - 1;

	if (locked(s, b) || !has_room(s, 1))
		return;
	for (int i = 0; i < 3; i++) {
		State n = s;

		if (!s.bud[budget[i]])
			continue;
		n.bud[budget[i]]--;
		if (kind[i] == DISCARD) {
			begin(n, b, DISCARD, all, false, out);
			continue;
		}
		if ((m >= 0 && s.s[m].dirty) || s.ver[b] + 1 >= NVER)
			continue;
		for (int fua = 0; fua <= cfg.fua; fua++) {
			begin(n, b, kind[i], all, fua, out);
			if (all > 1)
				begin(n, b, kind[i], 1, fua, out);
		}
	}
}

void next_past(const State &s, Sink &out)
{
	for (int b = 0; b < NB; b++) {
		const Op &o = s.op[b];

		begin_any(s, b, out);
		if (!is_past(o) || !o.phase)
			continue;
		if (origin_busy(s, b))
			origin_done(s, b, out);
		if (o.kind == THROUGH && slot_busy(s, o.slot, o.mask))
			slot_done(s, b, out);
	}
}
