// SPDX-License-Identifier: GPL-2.0-only
/* What recovery decides about INTENTs, and the state it leaves in memory; it writes nothing. */
#include "cut.hpp"

bool Cut::right(int i) const
{
	const Intent &in = r.intent[i];

	if (unread >> i & 1)
		return dropped(R_unread_accepted);
	if (dropped(R_crc_ignored))
		return true;
	for (int h = 0; h < NH; h++) {
		if (!(in.mask >> h & 1))
			continue;
		if (slot[i][h] != in.crc[h])
			return false;
		if (in.with && !r.intent[in.with - 1].on && slot[in.with - 1][h] != in.with_crc[h])
			return false;
	}
	return true;
}

void Cut::decide(Decision &d) const
{
	d = {};
	memcpy(d.entry, r.entry, sizeof(d.entry));
	for (int i = 0; i < NS; i++) {
		const Intent &in = r.intent[i];
		u8 others = 0;

		if (!in.on || (only >= 0 && in.blk != only))
			continue;
		if (d.entry[i]) {
			bool grows = right(i);

			(grows ? d.grown : d.kept) |= 1 << i;
			if (grows)
				d.entry[i] |= make_entry(in.blk, in.mask, true);
			continue;
		}
		for (int j = 0; j < NS; j++)
			if (d.entry[j] && entry_block(d.entry[j]) == in.blk)
				others |= 1 << j;
		if (!right(i) || (others && dropped(R_intent_loses))) {
			d.rejected |= 1 << i;
			continue;
		}
		d.accepted |= 1 << i;
		d.ended |= others;
		for (int j = 0; j < NS; j++)
			if (others >> j & 1)
				d.entry[j] = 0;
		d.entry[i] = make_entry(in.blk, in.mask, true);
	}
}

/* What the next cut may leave, if nobody writes: recovery has flushed both devices. */
u16 Cut::left(const Cell &c, u8 found) const
{
	if (soft && dropped(R_recovery_no_flush))
		return c.can | bit(found);
	return bit(found);
}

/* ---- memory ---- */

static void set_slot(Slot &x, u8 entry, SlotState st)
{
	x = {};
	x.st = st;
	x.blk = entry_block(entry);
	x.mask = entry_mask(entry);
	x.dirty = entry_dirty(entry);
}

static void end_slot(State &z, int i, int blk, bool rejected)
{
	Slot &x = z.s[i];

	x = {};
	x.st = DEAD;
	x.blk = blk;
	x.rejected = rejected && dropped(R_bypass_rejected);
	x.lsn = append(z, make_rec(UNMAP, i));
	if (rejected && dropped(R_rejected_free))
		x = {};
}

static void confirm(State &z, int i)
{
	Slot &x = z.s[i];

	x.lsn = append(z, make_rec(MAP, i, x.blk, x.mask, true));
}

/* An accepted one is mapped, and what it replaces ends, in this order. */
static void append_accepted(State &z, const Decision &d, const Replayed &r, int i)
{
	int blk = r.intent[i].blk;

	if (dropped(R_recovery_map_first))
		confirm(z, i);
	for (int j = 0; j < NS; j++)
		if (d.ended >> j & 1 && entry_block(r.entry[j]) == blk)
			end_slot(z, j, blk, false);
	if (!dropped(R_recovery_map_first))
		confirm(z, i);
}

/* What was seen stays. */
static void pin_answers(State &z, const Decision &d)
{
	for (int b = 0; b < NB; b++)
		for (int h = 0; h < cfg.sectors; h++) {
			u8 x = d.answer[b][h];

			z.legal[b][h] = z.now[b][h] = bit(x);
			z.acked[b][h] = value_version(x);
		}
}

/* Behind the end of the journal only what could still be taken for its next blocks matters. */
static void forget_old_blocks(State &z)
{
	u8 live = 0;

	if (dropped(R_epoch_falls) || dropped(R_epoch_same) || dropped(R_replay_no_lsn))
		return;
	for (int k = 0; k < z.used; k++)
		live |= 1 << (z.sb.pos + k) % cfg.ring;
	for (int i = 0; i < NRING; i++)
		if (!(live >> i & 1) && z.ring[i].n && z.ring[i].lsn < z.issued)
			z.ring[i] = {};
}

void Cut::go_on(const Decision &d)
{
	State z;

	memset(&z, 0, sizeof(z));
	memcpy(z.ring, m.ring, sizeof(z.ring));
	memcpy(z.page, m.page, sizeof(z.page));
	memcpy(z.ver, s.ver, sizeof(z.ver));
	memcpy(z.bud, s.bud, sizeof(z.bud));
	z.bud[B_CRASH]--;
	z.sb = m.sb;
	z.issued = z.durable = r.lsn;
	z.pos = r.pos;
	z.used = r.used;
	z.epoch = m.sb.epoch + !dropped(R_epoch_same);
	z.dirty_pages = r.behind;
	for (int b = 0; b < NB; b++)
		for (int h = 0; h < NH; h++)
			z.origin[b][h] = { left(s.origin[b][h], origin[b][h]), origin[b][h], 0 };
	for (int i = 0; i < NS; i++) {
		for (int h = 0; h < NH; h++)
			z.slot[i][h] = { left(s.slot[i][h], slot[i][h]), slot[i][h], 0 };
		/* of a rejected one any content is as good: it must only stay wrong */
		if (d.entry[i])
			set_slot(z.s[i], d.entry[i],
				 (d.accepted | d.grown | d.kept) >> i & 1 ? SEALED : LIVE);
		else
			become_free(z, i);
	}
	for (int i = 0; i < NS; i++) {
		if (d.accepted >> i & 1)
			append_accepted(z, d, r, i);
		if (d.rejected >> i & 1)
			end_slot(z, i, r.intent[i].blk, true);
		if ((d.grown | d.kept) >> i & 1)
			confirm(z, i);
		if (d.kept >> i & 1)
			z.s[i].rejected = 1;
	}
	pin_answers(z, d);
	forget_old_blocks(z);
	out.step(z, "%s", out.tracing ? describe(&d).c_str() : "");
}
