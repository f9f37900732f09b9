// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a user may read.  While the cache runs: the last completed version, or one that is being written.
 * After a cut: anything not older than the last durable version; and what was seen once
 * after a cut stays (G1, G2).
 */
#include "world.hpp"

void version_begins(State &s, int b, int mask)
{
	u8 v = ++s.ver[b];

	for (int h = 0; h < NH; h++) {
		if (!(mask >> h & 1))
			continue;
		s.legal[b][h] |= bit(value(b, v));
		s.now[b][h] |= bit(value(b, v));
	}
	if (s.rd && s.rd_blk == b && mask & 1)
		s.rd_legal |= bit(value(b, v));
}

/* @mapped: it was not discarded while it was in flight. */
void version_ends(State &s, int b, int mask, int v, bool mapped)
{
	for (int h = 0; h < NH; h++) {
		if (!(mask >> h & 1) || !mapped)
			continue;
		s.now[b][h] = bit(value(b, v));
		s.acked[b][h] = v;
	}
}

/* A discard that is under way may bring older versions back. */
void version_durable(State &s, int b, int h, int v)
{
	if (!v || s.acked[b][h] < v || s.op[b].kind == DISCARD)
		return;
	for (int older = 0; older < v; older++)
		if (value(b, older) != value(b, v))
			s.legal[b][h] &= ~bit(value(b, older));
	s.legal[b][h] &= ~bit(ZERO);
}

static u8 answer(const State &s, int b, int h)
{
	int m = current_slot(s, b);

	if (m < 0 || !(s.s[m].mask >> h & 1))
		return s.origin[b][h].cur;
	return s.slot[m][h].cur;
}

/* G4: when nothing of the block is dirty, the origin alone is right. */
static void check_origin(const State &s, int b, Sink &out)
{
	int m = current_slot(s, b);

	if ((m >= 0 && s.s[m].dirty) || s.op[b].kind || s.ip[b].mask)
		return;
	for (int h = 0; h < cfg.sectors; h++) {
		const Cell &c = s.origin[b][h];

		if (!(s.now[b][h] >> c.cur & 1))
			out.bad("block %c is not dirty, but sector %d of the origin is %s", 'A' + b, h,
				name(c.cur));
		if (c.can & ~s.legal[b][h])
			out.bad("block %c is not dirty, but a cut may leave an old sector %d on the origin",
				'A' + b, h);
	}
}

void check_running(const State &s, Sink &out)
{
	for (int b = 0; b < NB; b++) {
		for (int h = 0; h < cfg.sectors; h++) {
			u8 x = answer(s, b, h);

			if (!(s.now[b][h] >> x & 1))
				out.bad("while it runs, sector %d of block %c reads as %s", h, 'A' + b,
					name(x));
		}
		check_origin(s, b, out);
	}
}
