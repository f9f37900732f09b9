// SPDX-License-Identifier: GPL-2.0-only
/* May a user see what a cut has left? */
#include "cut.hpp"

std::string Cut::describe(const Decision *d) const
{
	const int all = (1 << cfg.sectors) - 1;
	std::string t = soft ? "CRASH, power stays" : "CUT";

	t += ": the journal ends before record " + std::to_string(r.lsn) + ";";
	for (int i = 0; i < NS && d; i++) {
		if (!d->entry[i] && !r.intent[i].on)
			continue;
		t += " s" + std::to_string(i) + " holds " + sectors(slot[i], all);
		if (d->grown >> i & 1)
			t += " (INTENT for more sectors accepted)";
		if ((d->rejected | d->kept) >> i & 1)
			t += " (INTENT rejected)";
		if (d->accepted >> i & 1)
			t += unread >> i & 1 ? " (INTENT, cannot be read, accepted)" : " (INTENT accepted)";
		if (d->entry[i])
			t += std::string(" mapped ") + (char)('A' + entry_block(d->entry[i])) +
			     mask_text(entry_mask(d->entry[i])) + (entry_dirty(d->entry[i]) ? " dirty;" : " clean;");
	}
	for (int b = 0; b < NB && d; b++)
		if (only < 0 || only == b)
			t += std::string(" origin ") + sectors(origin[b], all);
	return t;
}

void Cut::fail(const Decision *d, const char *fmt, int b, int h, const char *x)
{
	if (out.tracing)
		out.text = describe(d);
	out.bad(fmt, 'A' + b, h, x);
}

/* The slot that block @b is mapped to, or -1. */
int Cut::mapped(const Decision &d, int b)
{
	int slot = -1;

	for (int i = 0; i < NS; i++) {
		if (!d.entry[i] || entry_block(d.entry[i]) != b)
			continue;
		if (slot >= 0)
			fail(&d, "two slots hold block %c", b);
		slot = i;
	}
	return slot;
}

/* G1, G2: what it reads as is legal; and if it is clean, the same as without the cache. */
void Cut::check_block(Decision &d, int b)
{
	int i = mapped(d, b);
	u8 e = i < 0 ? 0 : d.entry[i];

	for (int h = 0; h < cfg.sectors; h++) {
		bool hit = entry_mask(e) >> h & 1;
		u8 x = hit ? slot[i][h] : origin[b][h];

		if (!(s.legal[b][h] >> x & 1))
			fail(&d, "after the cut block %c, sector %d reads as %s", b, h, name(x));
		if (hit && !entry_dirty(e) && x != origin[b][h])
			fail(&d, "block %c, sector %d: the clean slot has %s, the origin has not: unstable", b,
			     h, name(x));
		d.answer[b][h] = x;
	}
}

/* Slots that writes on their way have taken. */
static u8 taken_slots(const State &s)
{
	u8 taken = 0;

	for (const Op &o : s.op)
		if (o.kind == NEW || (o.kind == THROUGH && o.phase))
			taken |= 1 << o.slot;
	return taken;
}

/* G3: what is durable comes back as it was, and nothing else does. */
void Cut::check_exact(const Decision &d)
{
	u8 taken = taken_slots(s);

	for (int i = 0; i < NS; i++) {
		const Slot &x = s.s[i];
		bool durable = (x.st == LIVE || x.st == COPY) && !x.lsn;
		bool unknown = x.st == FREE || x.st == FRESH || x.st == GONE;

		if (durable && (only < 0 || only == x.blk) && !((d.accepted | d.ended | d.grown) >> i & 1) &&
		    d.entry[i] != make_entry(x.blk, x.mask, x.dirty))
			fail(&d, "not exact: block %c comes back otherwise than its slot had it", x.blk);
		if (unknown && !(taken >> i & 1) && (r.entry[i] || r.intent[i].on))
			fail(&d, "not exact: block %c comes back in a slot that was free",
			     r.intent[i].on ? r.intent[i].blk : entry_block(r.entry[i]));
	}
}

/* Recovery appends two records for each INTENT that stands. */
void Cut::check_space()
{
	int n = 0;

	for (const Intent &in : r.intent)
		n += 2 * in.on;
	if (n > room(r.used))
		fail(nullptr, "recovery has no room for its records");
}
