// SPDX-License-Identifier: GPL-2.0-only
/*
 * A cut: every outcome of what was not durable, what recovery makes of it, whether a user may see that,
 * and the state from which it goes on.
 */
#include "world.h"

namespace {

/* What recovery has decided. */
struct Decision {
	u8 entry[NS];
	u8 accepted, rejected, ended, lost;
	u8 answer[NB][NH];
};

class Cut {
public:
	Cut(const State &s, Sink &out, bool soft) : s(s), out(out), soft(soft) {}
	void run();

private:
	struct Choice {
		u8 *cell;
		u16 can;
	};

	const State &s;
	Sink &out;
	const bool soft;	/* the kernel dies, the devices keep their power */
	Media m;
	Replayed r;
	u16 can[NS][NH];
	u8 slot[NS][NH], origin[NB][NH];
	u8 unread = 0;
	Choice choice[NS * NH + NB * NH];
	int choices;

	u16 possible(const Cell &c) const;
	u16 left(const Cell &c, u8 found) const;
	void journal(int k);
	void soft_ring();
	void pages(u8 forced, u8 forced_ring);
	void page(int p, u8 forced);
	void recover();
	void add_slot(int i, int mask);
	void add_block(int b);
	void contents(int k);
	void leaf();
	bool right(int i) const;
	void decide(Decision &d) const;
	void check(const Decision &d, int b);
	void check_exact(const Decision &d);
	void go_on(const Decision &d);
	std::string describe(const Decision *d) const;
	void fail(const Decision *d, const char *fmt, int b, int h, const char *x);
	int only = -1;	/* block, or -1: all */
	bool continues = false;
	u8 flushed_pages = 0;
	bool stop() const { return !out.violation.empty(); }
};

/* Without power loss the volatile caches keep what they have. */
u16 Cut::possible(const Cell &c) const
{
	return (soft ? bit(c.cur) : c.can) | (c.fly ? bit(c.fly) : 0);
}

void Cut::run()
{
	continues = s.bud[B_CRASH];
	memcpy(m.ring, s.ring, sizeof(m.ring));
	for (int i = 0; i < NS; i++)
		for (int h = 0; h < NH; h++)
			can[i][h] = possible(s.slot[i][h]);
	journal(0);
}

/* A block in flight: not there, torn, or there; then its PREFLUSH was done before. */
void Cut::journal(int k)
{
	u16 before[NS][NH];
	JBlock old;
	u8 pages_before = flushed_pages;

	if (stop())
		return;
	if (k == NFLY) {
		soft_ring();
		return;
	}
	const JFly &f = s.fly[k];

	if (!f.used || f.done) {
		journal(k + 1);
		return;
	}
	old = m.ring[f.pos];
	journal(k + 1);
	if (old.n) {
		m.ring[f.pos] = {};
		journal(k + 1);
	}
	m.ring[f.pos] = f.b;
	memcpy(before, can, sizeof(can));
	for (int i = 0; f.preflush && i < NS; i++)
		for (int h = 0; h < NH; h++)
			can[i][h] &= ~s.jflush[k].drop[i][h];
	if (f.preflush)
		flushed_pages |= s.jflush[k].pages;
	journal(k + 1);
	memcpy(can, before, sizeof(can));
	flushed_pages = pages_before;
	m.ring[f.pos] = old;
}

/* Only with a rule dropped: blocks that were written, and can be lost. */
void Cut::soft_ring()
{
	JBlock all[NRING];

	memcpy(all, m.ring, sizeof(all));
	for (int set = s.ring_soft;; set = (set - 1) & s.ring_soft) {
		for (int i = 0; i < NRING; i++)
			m.ring[i] = (s.ring_soft & ~set) >> i & 1 ? JBlock{} : all[i];
		pages(flushed_pages, 0);
		if (!set || stop())
			break;
	}
	memcpy(m.ring, all, sizeof(all));
}

void Cut::pages(u8 forced, u8)
{
	u16 before[NS][NH];

	m.sb = s.sb;
	page(0, forced);
	if (!s.sb_fly)
		return;
	m.sb = s.sb_new;
	memcpy(before, can, sizeof(can));
	if (s.sb_fly == 2) {
		for (int i = 0; i < NS; i++)
			for (int h = 0; h < NH; h++)
				can[i][h] &= ~s.sbflush.drop[i][h];
		forced |= s.sbflush.pages;
	}
	page(0, forced);
	memcpy(can, before, sizeof(can));
}

void Cut::page(int p, u8 forced)
{
	if (p == NPAGE) {
		recover();
		return;
	}
	m.page[p] = s.page[p];
	if (s.page_st[p] >= 2 && !(forced >> p & 1)) {
		page(p + 1, forced);
		if (dropped(R_page_one_place)) {
			m.page[p] = { 255, {} };
			page(p + 1, forced);
		}
	}
	if (s.page_st[p] >= 2) {
		m.page[p] = s.page_new[p];
		page(p + 1, forced);
	} else {
		page(p + 1, forced);
	}
}

void Cut::add_slot(int i, int mask)
{
	for (int h = 0; h < NH; h++)
		if (mask >> h & 1)
			choice[choices++] = { &slot[i][h], can[i][h] };
}

void Cut::add_block(int b)
{
	for (int i = 0; i < NS; i++) {
		int mask = 0;

		if (r.entry[i] && entry_block(r.entry[i]) == b)
			mask |= entry_mask(r.entry[i]);
		if (r.intent[i].on && r.intent[i].blk == b)
			mask |= r.intent[i].mask;
		add_slot(i, mask);
	}
	for (int h = 0; h < cfg.sectors; h++) {
		const Cell &c = s.origin[b][h];

		choice[choices++] = { &origin[b][h], possible(c) };
	}
}

void Cut::recover()
{
	if (stop())
		return;
	r = replay(m);
	if (r.refused) {
		fail(nullptr, r.refused, 0, 0, "");
		return;
	}
	memset(slot, 0, sizeof(slot));
	memset(origin, 0, sizeof(origin));
	if (continues) {
		choices = 0;
		for (int b = 0; b < NB; b++)
			add_block(b);
		only = -1;
		contents(0);
		return;
	}
	for (int b = 0; b < NB && !stop(); b++) {
		choices = 0;
		add_block(b);
		only = b;
		contents(0);
	}
}

void Cut::contents(int k)
{
	u8 open = 0;

	if (stop())
		return;
	if (k < choices) {
		for (int x = 0; x < 16; x++) {
			if (!(choice[k].can >> x & 1))
				continue;
			*choice[k].cell = x;
			contents(k + 1);
		}
		return;
	}
	leaf();
	for (int i = 0; i < NS; i++)
		open |= r.intent[i].on << i;
	for (unread = open; s.bud[B_UNREAD] && unread; unread = (unread - 1) & open)
		leaf();
	unread = 0;
}

bool Cut::right(int i) const
{
	const Intent &in = r.intent[i];

	if (unread >> i & 1)
		return !dropped(R_unread_rejected);
	for (int h = 0; h < NH; h++)
		if (in.mask >> h & 1 && slot[i][h] != in.crc[h] && !dropped(R_crc_ignored))
			return false;
	return true;
}

void Cut::decide(Decision &d) const
{
	d = {};
	memcpy(d.entry, r.entry, sizeof(d.entry));
	for (int i = 0; i < NS; i++) {
		const Intent &in = r.intent[i];
		bool mapped = false;

		if (!in.on || (only >= 0 && in.blk != only))
			continue;
		for (int j = 0; j < NS; j++)
			mapped |= r.entry[j] && entry_block(r.entry[j]) == in.blk;
		if (!right(i) || (mapped && dropped(R_intent_loses))) {
			d.rejected |= 1 << i;
			continue;
		}
		d.accepted |= 1 << i;
		for (int j = 0; j < NS; j++) {
			if (!d.entry[j] || entry_block(d.entry[j]) != in.blk)
				continue;
			d.entry[j] = 0;
			d.ended |= 1 << j;
		}
		if (unread >> i & 1 && !dropped(R_unread_forgotten))
			d.lost |= 1 << i;
		d.entry[i] = make_entry(in.blk, in.mask, true, d.lost >> i & 1);
	}
}

std::string Cut::describe(const Decision *d) const
{
	std::string t = (soft ? "CRASH, power stays" : "CUT") + std::string(": journal up to record ") + std::to_string(r.lsn - 1) + ";";

	for (int i = 0; i < NS && d; i++) {
		if (!d->entry[i] && !r.intent[i].on)
			continue;
		t += " s" + std::to_string(i) + " holds " + sectors(slot[i], cfg.sectors == 1 ? 1 : 3);
		if (d->rejected >> i & 1)
			t += " (INTENT rejected)";
		if (d->accepted >> i & 1)
			t += unread >> i & 1 ? " (INTENT, cannot be read)" : " (INTENT accepted)";
		if (d->entry[i])
			t += std::string(" mapped ") + (char)('A' + entry_block(d->entry[i])) +
			     (entry_dirty(d->entry[i]) ? " dirty;" : " clean;");
	}
	for (int b = 0; b < NB; b++)
		if (only < 0 || only == b)
			t += std::string(" origin ") + sectors(origin[b], cfg.sectors == 1 ? 1 : 3);
	return t;
}

void Cut::fail(const Decision *d, const char *fmt, int b, int h, const char *x)
{
	if (out.tracing)
		out.text = describe(d);
	out.bad(fmt, 'A' + b, h, x);
}

/* What reads as what, and is that legal and stable? */
void Cut::check(const Decision &d, int b)
{
	int mapped = -1;

	for (int i = 0; i < NS; i++) {
		if (!d.entry[i] || entry_block(d.entry[i]) != b)
			continue;
		if (mapped >= 0) {
			fail(&d, "two slots hold block %c", b, 0, "");
			return;
		}
		mapped = i;
	}
	u8 e = mapped < 0 ? 0 : d.entry[mapped];

	for (int h = 0; h < cfg.sectors; h++) {
		bool hit = entry_mask(e) >> h & 1;
		u8 x = !hit ? origin[b][h] : entry_lost(e) ? LOST : slot[mapped][h];
		bool ok = s.legal[b][h] >> x & 1;

		/* an error may stand for the INTENT's version, unless a newer one was completed */
		if (x == LOST && d.lost >> mapped & 1)
			ok = s.acked[b][h] <= value_version(r.intent[mapped].crc[h]);

		if (!ok)
			fail(&d, "after the cut block %c, sector %d reads as %s", b, h, name(x));
		if (hit && !entry_dirty(e) && x != origin[b][h])
			fail(&d, "block %c, sector %d: the clean slot has %s, the origin has not: unstable", b,
			     h, name(x));
		const_cast<Decision &>(d).answer[b][h] = x;
	}
}

/* G3: what is durable comes back as it was. */
void Cut::check_exact(const Decision &d)
{
	u8 taken = 0;

	for (const Op &o : s.op)
		if (o.kind == NEW || (o.kind == THROUGH && o.phase))
			taken |= 1 << o.slot;
	for (int i = 0; i < NS; i++) {
		const Slot &x = s.s[i];
		bool superseded = d.ended >> i & 1;

		if ((x.st == LIVE || x.st == COPY) && !x.lsn && !superseded &&
		    (only < 0 || only == x.blk) && !(d.accepted >> i & 1) &&
		    d.entry[i] != make_entry(x.blk, x.mask, x.dirty, x.lost))
			fail(&d, "not exact: block %c comes back otherwise than its slot s%d was", x.blk, i, "");
		if ((x.st == FREE || x.st == FRESH || x.st == GONE) && !(taken >> i & 1) &&
		    (r.entry[i] || r.intent[i].on))
			fail(&d, "not exact: something comes back (block %c) in the free slot s%d",
			     r.intent[i].on ? r.intent[i].blk : entry_block(r.entry[i]), i, "");
	}
}

void Cut::leaf()
{
	Decision d;

	out.outcomes++;
	decide(d);
	for (int b = 0; b < NB && !stop(); b++)
		if (only < 0 || only == b)
			check(d, b);
	if (!stop() && cfg.exact)
		check_exact(d);
	if (continues && !stop())
		go_on(d);
}

/* ---- the next life ---- */

void forget_old_blocks(State &z)
{
	for (int i = 0; i < NRING; i++)
		if (z.ring[i].n && z.ring[i].lsn < z.issued) {
			bool live = false;

			for (int k = 0, p = z.sb.pos; k < z.used; k++, p = (p + 1) % cfg.ring)
				live |= p == i;
			if (!live)
				z.ring[i] = {};
		}
}

/* What was seen stays; an error may turn out to be any legal version later. */
void pin_answers(const State &s, State &z, const Decision &d)
{
	for (int b = 0; b < NB; b++)
		for (int h = 0; h < cfg.sectors; h++) {
			u8 x = d.answer[b][h];

			z.now[b][h] = bit(x);
			z.legal[b][h] = x == LOST ? s.legal[b][h] | bit(LOST) : bit(x);
			z.acked[b][h] = x == LOST ? s.acked[b][h] : value_version(x);
		}
}

void set_slot(Slot &x, u8 entry, SlotState st)
{
	x = {};
	x.st = st;
	x.blk = entry_block(entry);
	x.mask = entry_mask(entry);
	x.dirty = entry_dirty(entry);
	x.lost = entry_lost(entry);
}

void end_slot(State &z, int i, int blk, bool rejected)
{
	Slot &x = z.s[i];

	x = {};
	x.st = DEAD;
	x.blk = blk;
	x.need = rejected;
	x.lsn = append(z, make_rec(UNMAP, i));
	if (rejected && dropped(R_rejected_free))
		x = {};
}

void confirm(State &z, int i)
{
	Slot &x = z.s[i];
	Rec r = make_rec(MAP, i, x.blk, x.mask, true);

	x.lsn = append(z, x.lost ? r | REC_LOST : r);
}

/* Appended in memory, not written. */
void append_decisions(State &z, const Decision &d, const Replayed &r)
{
	for (int i = 0; i < NS; i++) {
		if (d.accepted >> i & 1 && dropped(R_recovery_map_first))
			confirm(z, i);
		for (int j = 0; j < NS; j++)
			if (d.accepted >> i & 1 && d.ended >> j & 1 && r.entry[j] &&
			    entry_block(r.entry[j]) == r.intent[i].blk)
				end_slot(z, j, r.intent[i].blk, false);
		if (d.accepted >> i & 1 && !dropped(R_recovery_map_first))
			confirm(z, i);
		if (d.rejected >> i & 1)
			end_slot(z, i, r.intent[i].blk, true);
	}
}

} /* namespace */

/* What the next cut may leave, if nobody writes: recovery has flushed both devices. */
u16 Cut::left(const Cell &c, u8 found) const
{
	if (soft && dropped(R_recovery_no_flush))
		return c.can | bit(found);
	return bit(found);
}

void Cut::go_on(const Decision &d)
{
	State z = {};

	memcpy(z.ring, m.ring, sizeof(z.ring));
	memcpy(z.page, m.page, sizeof(z.page));
	memcpy(z.ver, s.ver, sizeof(z.ver));
	memcpy(z.bud, s.bud, sizeof(z.bud));
	z.bud[B_CRASH]--;
	if (unread)
		z.bud[B_UNREAD]--;
	z.sb = m.sb;
	z.issued = z.durable = r.lsn;
	z.pos = r.pos;
	z.used = r.used;
	z.epoch = m.sb.epoch + !dropped(R_epoch_same);
	z.dirty_pages = r.behind;
	z.crashed = s.crashed + 1;
	for (int i = 0; i < NS; i++)
		for (int h = 0; h < NH; h++)
			z.slot[i][h] = { left(s.slot[i][h], slot[i][h]), slot[i][h], 0 };
	for (int b = 0; b < NB; b++)
		for (int h = 0; h < NH; h++)
			z.origin[b][h] = { left(s.origin[b][h], origin[b][h]), origin[b][h], 0 };
	for (int i = 0; i < NS; i++) {
		if (d.entry[i])
			set_slot(z.s[i], d.entry[i], d.accepted >> i & 1 ? SEALED : LIVE);
		else
			become_free(z, i);
		/* any wrong content is as good as another; it must only stay wrong */
		if (d.rejected >> i & 1 && cfg.drop < 0)
			become_free(z, i);
	}
	append_decisions(z, d, r);
	pin_answers(s, z, d);
	if (!dropped(R_epoch_falls) && !dropped(R_epoch_same) && !dropped(R_replay_no_lsn))
		forget_old_blocks(z);
	out.step(z, "%s", out.tracing ? describe(&d).c_str() : "");
}

void next_crash(const State &s, Sink &out)
{
	Cut(s, out, false).run();
	if (cfg.soft && s.bud[B_CRASH] && out.violation.empty())
		Cut(s, out, true).run();
}
