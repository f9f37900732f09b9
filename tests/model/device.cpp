// SPDX-License-Identifier: GPL-2.0-only
/*
 * The two devices.  A completed write to a volatile cache can be lost, sector by sector, until a flush
 * that was sent after it has ended; a write in flight can have happened or not.
 */
#include "world.hpp"

static void forget(Flush &f, int slot, int h, u8 value)
{
	f.drop[slot][h] &= ~bit(value);
}

static void written(Cell &c, bool durable)
{
	c.cur = c.fly;
	c.can = durable ? bit(c.cur) : c.can | bit(c.cur);
	c.fly = 0;
}

/* An error says nothing about what is there now. */
static void failed(Cell &c, bool landed)
{
	c.can |= bit(c.fly);
	if (landed)
		c.cur = c.fly;
	c.fly = 0;
}

void write_slot(State &s, int slot, int mask, const u8 *value)
{
	for (int h = 0; h < NH; h++) {
		if (!(mask >> h & 1))
			continue;
		s.slot[slot][h].fly = value[h];
		forget(s.uflush, slot, h, value[h]);
		forget(s.sbflush, slot, h, value[h]);
		for (Flush &f : s.jflush)
			forget(f, slot, h, value[h]);
	}
}

void slot_written(State &s, int slot, int mask, bool fua)
{
	for (int h = 0; h < NH; h++)
		if (mask >> h & 1)
			written(s.slot[slot][h], !cfg.vol_cache || fua);
}

void slot_failed(State &s, int slot, int mask, bool landed)
{
	for (int h = 0; h < NH; h++)
		if (mask >> h & 1)
			failed(s.slot[slot][h], landed);
}

bool slot_busy(const State &s, int slot, int mask)
{
	for (int h = 0; h < NH; h++)
		if (mask >> h & 1 && s.slot[slot][h].fly)
			return true;
	return false;
}

void write_origin(State &s, int b, int mask, const u8 *value)
{
	for (int h = 0; h < NH; h++) {
		if (!(mask >> h & 1))
			continue;
		s.origin[b][h].fly = value[h];
		s.odrop[b][h] &= ~bit(value[h]);
	}
}

void origin_written(State &s, int b, int mask, bool fua)
{
	for (int h = 0; h < NH; h++)
		if (mask >> h & 1)
			written(s.origin[b][h], !cfg.vol_origin || fua);
}

void origin_failed(State &s, int b, int mask, bool landed)
{
	for (int h = 0; h < NH; h++)
		if (mask >> h & 1)
			failed(s.origin[b][h], landed);
}

bool origin_busy(const State &s, int b)
{
	for (int h = 0; h < NH; h++)
		if (s.origin[b][h].fly)
			return true;
	return false;
}

void send_flush(State &s, Flush &f)
{
	for (int i = 0; i < NS; i++)
		for (int h = 0; h < NH; h++)
			f.drop[i][h] = s.slot[i][h].can & ~bit(s.slot[i][h].cur);
	for (int p = 0; p < NPAGE; p++)
		if (s.page_st[p] == PAGE_IN_CACHE)
			f.pages |= 1 << p;
	f.ring = s.ring_soft;
}

void flush_ended(State &s, Flush &f)
{
	for (int i = 0; i < NS; i++)
		for (int h = 0; h < NH; h++)
			s.slot[i][h].can &= ~f.drop[i][h];
	for (int p = 0; p < NPAGE; p++) {
		if (!(f.pages >> p & 1) || s.page_st[p] != PAGE_IN_CACHE)
			continue;
		s.page[p] = s.page_new[p];
		s.page_new[p] = {};
		s.page_st[p] = 0;
	}
	s.ring_soft &= ~f.ring;
	f = {};
}

void send_origin_flush(State &s)
{
	s.oflush = 1;
	s.oflush_all = s.writes;
	s.oflush_user = s.user_writes;
	for (int b = 0; b < NB; b++)
		for (int h = 0; h < NH; h++)
			s.odrop[b][h] = s.origin[b][h].can & ~bit(s.origin[b][h].cur);
}

static u8 less(u8 n, u8 by) { return n > by ? n - by : 0; }

void origin_flush_ended(State &s)
{
	u8 all = s.oflush_all, user = s.oflush_user;

	if (dropped(R_flush_gen_end)) {
		all = s.writes;
		user = s.user_writes;
	}
	for (int b = 0; b < NB; b++)
		for (int h = 0; h < NH; h++) {
			s.origin[b][h].can &= ~s.odrop[b][h];
			s.odrop[b][h] = 0;
		}
	s.writes -= all;
	s.user_writes -= user;
	s.fl_writes = less(s.fl_writes, user);
	for (Slot &x : s.s)
		if (x.st == FRESH)
			x.need = less(x.need, all);
	for (Op &o : s.op)
		o.need = less(o.need, all);
	s.fill.need = less(s.fill.need, all);
	s.oflush = s.oflush_all = s.oflush_user = 0;
}
