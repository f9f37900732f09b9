// SPDX-License-Identifier: GPL-2.0-only
/*
 * All outcomes of a cut.  First what decides about the journal: blocks, pages and superblock that were on
 * their way; then, after replay, the contents of the slots and blocks that matter.
 */
#include "cut.hpp"

/* Without power loss the volatile caches keep what they have. */
u16 Cut::possible(const Cell &c) const
{
	return (soft ? bit(c.cur) : c.can) | (c.fly ? bit(c.fly) : 0);
}

/* Something is there that was sent with PREFLUSH: so that was done. */
void Cut::flushed(const Flush &f)
{
	for (int i = 0; i < NS; i++)
		for (int h = 0; h < NH; h++)
			can[i][h] &= ~f.drop[i][h];
	durable_pages |= f.pages;
}

void Cut::run()
{
	memcpy(m.ring, s.ring, sizeof(m.ring));
	for (int i = 0; i < NS; i++)
		for (int h = 0; h < NH; h++)
			can[i][h] = possible(s.slot[i][h]);
	journal(0);
}

/* A journal block in flight is not there, or torn, or there. */
void Cut::journal(int k)
{
	if (stop())
		return;
	if (k == NFLY) {
		lost_blocks();
		return;
	}
	const JFly &f = s.fly[k];

	journal(k + 1);
	if (!f.used || f.done)
		return;

	JBlock old = m.ring[f.pos];

	if (old.n) {
		m.ring[f.pos] = {};
		journal(k + 1);
	}
	u16 before[NS][NH];
	u8 pages = durable_pages;

	memcpy(before, can, sizeof(can));
	m.ring[f.pos] = f.b;
	if (f.preflush)
		flushed(s.jflush[k]);
	journal(k + 1);
	m.ring[f.pos] = old;
	durable_pages = pages;
	memcpy(can, before, sizeof(can));
}

/* Only with a rule dropped: blocks that were written, and can be lost. */
void Cut::lost_blocks()
{
	JBlock all[NRING];

	memcpy(all, m.ring, sizeof(all));
	for (int kept = s.ring_soft;; kept = (kept - 1) & s.ring_soft) {
		for (int i = 0; i < NRING; i++)
			m.ring[i] = (s.ring_soft & ~kept) >> i & 1 ? JBlock{} : all[i];
		super();
		if (!kept || stop())
			break;
	}
	memcpy(m.ring, all, sizeof(all));
}

/* It has two places: the old one or the new one, never none. */
void Cut::super()
{
	u16 before[NS][NH];
	u8 pages = durable_pages;

	m.sb = s.sb;
	page(0);
	if (!s.sb_fly)
		return;
	m.sb = s.sb_new;
	memcpy(before, can, sizeof(can));
	if (s.sb_fly == 2)
		flushed(s.sbflush);
	page(0);
	durable_pages = pages;
	memcpy(can, before, sizeof(can));
}

/* The same for a page. */
void Cut::page(int p)
{
	if (p == NPAGE) {
		recover();
		return;
	}
	m.page[p] = s.page[p];
	if (s.page_st[p] < PAGE_IN_FLIGHT) {
		page(p + 1);
		return;
	}
	if (!(durable_pages >> p & 1)) {
		page(p + 1);
		if (dropped(R_page_one_place)) {
			m.page[p] = { TORN, {} };
			page(p + 1);
		}
	}
	m.page[p] = s.page_new[p];
	page(p + 1);
}

void Cut::add_slot(int i, int mask)
{
	for (int h = 0; h < NH; h++)
		if (mask >> h & 1)
			choice[choices++] = { &slot[i][h], can[i][h] };
}

/* What can be read of block @b. */
void Cut::add_block(int b)
{
	for (int i = 0; i < NS; i++) {
		int mask = 0;

		if (r.entry[i] && entry_block(r.entry[i]) == b)
			mask |= entry_mask(r.entry[i]);
		if (r.intent[i].on && r.intent[i].blk == b)
			mask |= r.intent[i].mask;
		for (const Intent &in : r.intent)
			if (in.on && in.blk == b && in.with == i + 1)
				mask |= in.mask;
		add_slot(i, mask);
	}
	for (int h = 0; h < cfg.sectors; h++)
		choice[choices++] = { &origin[b][h], possible(s.origin[b][h]) };
}

static Media without_last(Media m, const Replayed &r)
{
	m.ring[(r.pos + cfg.ring - 1) % cfg.ring] = {};
	return m;
}

/* If nothing follows, the blocks need not be looked at together. */
void Cut::recover()
{
	if (stop())
		return;
	r = replay(m);
	if (dropped(R_unread_journal) && r.used)
		r = replay(without_last(m, r));
	if (r.refused) {
		fail(nullptr, r.refused);
		return;
	}
	memset(slot, GARBAGE, sizeof(slot));
	memset(origin, GARBAGE, sizeof(origin));
	choices = 0;
	for (int b = 0; b < NB && !stop(); b++) {
		add_block(b);
		if (s.bud[B_CRASH])
			continue;
		only = b;
		contents(0);
		choices = 0;
	}
	if (!s.bud[B_CRASH])
		return;
	only = -1;
	contents(0);
}

void Cut::contents(int k)
{
	u8 open = 0;

	if (stop())
		return;
	for (int x = 0; k < choices && x < NR_VALUES; x++) {
		if (!(choice[k].can >> x & 1))
			continue;
		*choice[k].cell = x;
		contents(k + 1);
	}
	if (k < choices)
		return;
	leaf();
	/* a slot that cannot be read: refused, and all stays as it is */
	if (!dropped(R_unread_accepted) && !dropped(R_unread_rejected))
		return;
	for (int i = 0; i < NS; i++)
		open |= r.intent[i].on << i;
	for (unread = open; unread; unread = (unread - 1) & open)
		leaf();
}

void Cut::leaf()
{
	Decision d;

	out.outcomes++;
	decide(d);
	for (int b = 0; b < NB && !stop(); b++)
		if (only < 0 || only == b)
			check_block(d, b);
	if (cfg.exact && !stop())
		check_exact(d);
	if (cfg.space && !stop())
		check_space();
	if (s.bud[B_CRASH] && !stop())
		go_on(d);
}

void next_crash(const State &s, Sink &out)
{
	Cut(s, out, false).run();
	if (cfg.soft && s.bud[B_CRASH] && out.violation.empty())
		Cut(s, out, true).run();
}
