// SPDX-License-Identifier: GPL-2.0-only
/* Everything that can happen, breadth first; a state that was seen is a 64-bit hash. */
#include "explore.hpp"

#include <cstdio>
#include <cstdlib>
#include <ctime>

void Sink::say(const char *fmt, va_list ap)
{
	char buf[400];

	if (!tracing)
		return;
	vsnprintf(buf, sizeof(buf), fmt, ap);
	text = buf;
}

/*
 * What the module sends as soon as it may: later is no different from sent, and not arrived.
 * Return: there was something.
 */
bool Sink::settle(State &s)
{
	const char *what;
	bool any = false;

	while ((what = past_goes_on(s)) || (what = checkpoint_goes_on(s))) {
		any = true;
		if (tracing)
			text += std::string("; ") + what;
	}
	canonical(s);
	return any;
}

void Sink::step(State &s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	settle(s);
	put(s, false);
}

void Sink::quiet(State &s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	put(s, !settle(s));
}

void Sink::bad(const char *fmt, ...)
{
	char buf[400];
	va_list ap;

	if (!violation.empty() || mute)
		return;
	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	violation = buf;
	last = text;
}

const char *name(u8 x)
{
	static const char *const names[] = { "garbage", "A0", "A1", "A2", "A3", "A4", "A5", "B0", "B1",
					     "B2", "B3", "B4", "B5", "zeroes" };

	return x < NR_VALUES ? names[x] : "?";
}

std::string sectors(const u8 *value, int mask)
{
	std::string t;

	for (int h = 0; h < NH; h++)
		if (mask >> h & 1)
			t += (t.empty() ? "" : "/") + std::string(name(value[h]));
	return t;
}

/* Nothing when it is all of the block. */
std::string mask_text(int mask)
{
	std::string t = ".";

	if (mask == (1 << cfg.sectors) - 1)
		return "";
	for (int h = 0; h < NH; h++)
		if (mask >> h & 1)
			t += std::to_string(h);
	return t;
}

static u8 at_least(u8 x, u8 floor) { return x < floor ? floor : x; }

/* What makes no difference any more is made the same. */
void canonical(State &s)
{
	s.covered = at_least(s.covered, s.issued);
	s.closed = at_least(s.closed, s.issued);
	if (s.done_lsn <= s.durable)
		s.done_lsn = 0;
	if (s.fl_lsn <= s.durable)
		s.fl_lsn = 0;
	for (JFly &f : s.fly)
		if (f.preflush)
			f.covers = at_least(f.covers, s.issued);
	if (s.fl_covers)
		s.fl_covers = at_least(s.fl_covers, s.issued);
}

static void origin_holds(State &s, int b, int v)
{
	for (int h = 0; h < cfg.sectors; h++) {
		s.origin[b][h] = { bit(value(b, v)), value(b, v), 0 };
		s.legal[b][h] = s.now[b][h] = bit(value(b, v));
	}
}

static void slot_holds(State &s, int i, int b, int v, bool dirty)
{
	int all = (1 << cfg.sectors) - 1;

	for (int h = 0; h < cfg.sectors; h++) {
		s.slot[i][h] = { bit(value(b, v)), value(b, v), 0 };
		s.legal[b][h] = s.now[b][h] = bit(value(b, v));
		s.acked[b][h] = v;
	}
	s.ver[b] = v;
	s.s[i].st = LIVE;
	s.s[i].blk = b;
	s.s[i].mask = all;
	s.s[i].dirty = dirty;
	s.page[page_of(i)].entry[i % 2] = make_entry(b, all, dirty);
}

/* The others are as on the origin. */
static void only_first_sector(State &s, int i)
{
	Slot &x = s.s[i];

	x.mask = 1;
	s.page[page_of(i)].entry[i % 2] = make_entry(x.blk, 1, x.dirty);
	for (int h = 1; h < cfg.sectors; h++) {
		s.slot[i][h] = { bit(GARBAGE), GARBAGE, 0 };
		s.legal[x.blk][h] = s.now[x.blk][h] = bit(value(x.blk, 0));
		s.acked[x.blk][h] = 0;
	}
}

State initial()
{
	State s;

	memset(&s, 0, sizeof(s));
	for (auto &slot : s.slot)
		for (Cell &c : slot)
			c.can = bit(GARBAGE);
	for (int b = 0; b < NB; b++) {
		for (Cell &c : s.origin[b])
			c.can = bit(GARBAGE);
		origin_holds(s, b, 0);
	}
	s.issued = s.durable = s.covered = s.closed = 1;
	s.sb = { 1, 1, 0, 1 };
	s.epoch = 2;
	for (Page &p : s.page)
		p.lsn = 1;
	switch (cfg.init) {
	case 3:
		slot_holds(s, 1, 1, 0, false);
		/* fall through */
	case 1:
		slot_holds(s, 0, 0, 0, false);
		break;
	case 4:
		slot_holds(s, 1, 1, 0, false);
		/* fall through */
	case 2:
		slot_holds(s, 0, 0, 1, true);
		break;
	case 5:
		slot_holds(s, 0, 0, 1, true);
		only_first_sector(s, 0);
		break;
	}
	memcpy(s.bud, cfg.bud, sizeof(s.bud));
	canonical(s);
	return s;
}

void next_all(const State &s, Sink &out, bool crashes)
{
	check_running(s, out);
	if (crashes && out.violation.empty())
		next_crash(s, out);
	if (!out.violation.empty())
		return;
	next_write(s, out);
	next_past(s, out);
	next_background(s, out);
	next_flush(s, out);
	next_journal(s, out);
	next_checkpoint(s, out);
}

/* ---- states that were seen ---- */

static u64 mix(u64 h)
{
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ULL;
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ULL;
	return h ^ h >> 32;
}

static u64 hash(const State &s)
{
	constexpr size_t words = sizeof(State) / 8;
	const u8 *p = reinterpret_cast<const u8 *>(&s);
	u64 a = 0x9e3779b97f4a7c15ULL, b = 0x2545f4914f6cdd1dULL, w = 0;

	for (size_t i = 0; i < words; i++) {
		memcpy(&w, p + 8 * i, 8);
		a = (a ^ w) * 0xff51afd7ed558ccdULL;
		b = (b + a) ^ (a >> 29);
		a = a << 31 | a >> 33;
	}
	w = 0;
	memcpy(&w, p + 8 * words, sizeof(State) % 8);
	a = mix(a ^ w) + b;
	a = mix(a);
	return a ? a : 1;
}

Seen::Seen(u64 slots) : table(slots, 0) {}

bool Seen::insert(u64 h)
{
	if (10 * count >= 8 * table.size())
		grow();
	u64 i = h & (table.size() - 1);

	for (; table[i]; i = (i + 1) & (table.size() - 1))
		if (table[i] == h)
			return false;
	table[i] = h;
	count++;
	return true;
}

void Seen::grow()
{
	std::vector<u64> old(2 * table.size(), 0);

	old.swap(table);
	for (u64 h : old) {
		u64 i = h & (table.size() - 1);

		if (!h)
			continue;
		while (table[i])
			i = (i + 1) & (table.size() - 1);
		table[i] = h;
	}
}

/* ---- breadth first ---- */

void Explorer::put(const State &s, bool quiet)
{
	u64 h = hash(s);

	if (looking_for) {
		if (h == looking_for && found.empty()) {
			found = text;
			found_state = s;
		}
		return;
	}
	if (!seen.insert(h))
		return;
	if (cfg.trace) {
		parent.push_back(current);
		hashes.push_back(h);
	}
	queue.push_back({ s, (u32)hashes.size() - 1, quiet && cfg.drop < 0 });
}

Result Explorer::run()
{
	time_t begin = time(nullptr);
	Result res;
	u64 left;	/* of this depth */

	put(initial(), false);
	for (left = queue.size(); left && violation.empty() && !res.bounded; left--) {
		Entry e = queue.front();

		queue.pop_front();
		current = e.id;
		next_all(e.s, *this, !e.quiet);
		res.bounded = cfg.max_states && seen.count > cfg.max_states;
		if (left > 1)
			continue;
		left = queue.size() + 1;
		res.depth++;
	}
	res.states = seen.count;
	res.outcomes = outcomes;
	res.seconds = time(nullptr) - begin;
	res.violation = violation;
	if (!violation.empty() && cfg.trace)
		res.steps = trace(current);
	return res;
}

/* Walk the way to state @id once more, with texts. */
std::vector<std::string> Explorer::trace(u32 id)
{
	std::vector<u32> way;
	std::vector<std::string> steps;
	State s = initial();

	for (u32 i = id; i; i = parent[i])
		way.push_back(i);
	tracing = mute = true;
	violation.clear();
	for (size_t k = way.size(); k--;) {
		found.clear();
		looking_for = hashes[way[k]];
		next_all(s, *this, true);
		steps.push_back(found);
		s = found_state;
	}
	mute = false;
	violation.clear();
	text.clear();
	looking_for = 1;
	next_all(s, *this, true);
	if (!last.empty())
		steps.push_back(last);
	return steps;
}
