// SPDX-License-Identifier: GPL-2.0-only
/*
 * A cut: every outcome of what was not durable, what recovery makes of it, whether a user may
 * see that, and the state from which it goes on.
 */
#pragma once

#include "world.hpp"

/* What recovery has decided; sets of slots, and what each sector reads as then. */
struct Decision {
	u8 entry[NS];
	u8 accepted, rejected, ended;
	u8 grown, kept;			/* what INTENTs for new sectors did to slots that hold others */
	u8 answer[NB][NH];
};

class Cut {
public:
	/* @soft: the kernel dies, the devices keep their power. */
	Cut(const State &s, Sink &out, bool soft) : s(s), out(out), soft(soft) {}
	void run();

private:
	struct Choice {
		u8 *cell;
		u16 can;
	};

	const State &s;
	Sink &out;
	const bool soft;

	/* one outcome, as far as it is chosen */
	Media m;
	u16 can[NS][NH];			/* what slots may hold */
	u8 durable_pages = 0;			/* they were flushed before something that is there */
	Replayed r;
	u8 slot[NS][NH], origin[NB][NH];	/* what they hold */
	u8 unread = 0;				/* slots that cannot be read, only with a rule dropped */

	int only = -1;				/* look at this block; -1: at all, together */
	Choice choice[NS * NH + NB * NH];
	int choices;

	/* cut.cpp, each calls the next one for each of its choices */
	void journal(int k);
	void lost_blocks();
	void super();
	void page(int p);
	void recover();
	void contents(int k);
	void leaf();

	bool stop() const { return !out.violation.empty(); }
	u16 possible(const Cell &c) const;
	void flushed(const Flush &f);
	void add_slot(int i, int mask);
	void add_block(int b);

	/* verdict.cpp */
	int mapped(const Decision &d, int b);
	void check_block(Decision &d, int b);
	void check_exact(const Decision &d);
	void check_space();
	void fail(const Decision *d, const char *fmt, int b = 0, int h = 0, const char *x = "");
	std::string describe(const Decision *d) const;

	/* recovery.cpp */
	bool right(int i) const;
	void decide(Decision &d) const;
	u16 left(const Cell &c, u8 found) const;
	void go_on(const Decision &d);
};
