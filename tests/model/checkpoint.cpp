// SPDX-License-Identifier: GPL-2.0-only
/* A sweep over the dirty pages of the table, then the new tail. */
#include "world.hpp"

enum { NONE, WAIT_INTENTS, PAGES, SUPER };

static void begin(State s, Sink &out)
{
	s.bud[B_CKPT]--;
	s.ck = WAIT_INTENTS;
	s.ck_tail = s.issued;
	s.ck_pos = s.pos;
	s.ck_used = s.used;
	if (dropped(R_tail_no_sync))
		s.ck_todo = s.dirty_pages;
	out.quiet(s, "a sweep begins; the tail will be record %d", s.ck_tail);
}

static bool unresolved(const State &s, u8 below)
{
	for (const Op &o : s.op)
		if ((o.kind == NEW || o.kind == EXTEND) && o.intent && o.lsn < below)
			return true;
	return false;
}

static u8 encode_slot(const Slot &x)
{
	if (x.st < SEALED || x.st > COPY)
		return 0;
	return make_entry(x.blk, x.mask, x.dirty);
}

static void encode(State s, int p, Sink &out)
{
	for (int i = 0; i < 2; i++)
		s.page_new[p].entry[i] = 2 * p + i < NS ? encode_slot(s.s[2 * p + i]) : 0;
	s.page_new[p].lsn = head_lsn(s);
	s.page_st[p] = PAGE_ENCODED;
	s.dirty_pages &= ~(1 << p);
	if (!dropped(R_melt_paged))
		s.closed = head_lsn(s);
	out.quiet(s, "page %d is encoded, lsn %d", p, s.page_new[p].lsn);
}

static void page_written(State s, int p, Sink &out)
{
	s.page_st[p] = PAGE_IN_CACHE;
	s.ck_todo &= ~(1 << p);
	if (!cfg.vol_cache) {
		s.page[p] = s.page_new[p];
		s.page_new[p] = {};
		s.page_st[p] = PAGE_CLEAN;
	}
	out.quiet(s, "page %d is written", p);
}

static void write_super(State &s)
{
	if (dropped(R_tail_at_end)) {
		s.ck_tail = s.issued;
		s.ck_pos = s.pos;
		s.ck_used = s.used;
	}
	s.ck = SUPER;
	s.sb_fly = 1;
	s.sb_new = { s.epoch, s.ck_tail, s.ck_pos, s.epoch };
	if (cfg.vol_cache && !dropped(R_tail_before_pages)) {
		send_flush(s, s.sbflush);
		s.sb_fly = 2;
	}
	if (dropped(R_ring_overrun))
		s.used -= s.ck_used;
}

static void super_written(State s, Sink &out)
{
	if (s.sb_fly == 2)
		flush_ended(s, s.sbflush);
	s.sb = s.sb_new;
	s.sb_new = {};
	s.sb_fly = 0;
	if (!dropped(R_ring_overrun))
		s.used -= s.ck_used;
	s.ck = s.ck_tail = s.ck_pos = s.ck_used = s.ck_todo = s.ck_sync = 0;
	out.step(s, "the superblock is written");
}

/* ---- what it does as soon as it may ---- */

static const char *pages_go_on(State &s)
{
	bool busy = false;

	for (int p = 0; p < NPAGE; p++) {
		if (s.page_st[p] == PAGE_ENCODED &&
		    (s.page_new[p].lsn <= s.durable || dropped(R_page_early))) {
			s.page_st[p] = PAGE_IN_FLIGHT;
			return "a page is sent";
		}
		busy |= s.ck_todo >> p & 1 &&
			!(dropped(R_tail_before_pages) && s.page_st[p] == PAGE_IN_FLIGHT);
	}
	/* what resolved the INTENTs must be durable, also when there was no page */
	if (busy || (s.ck_sync > s.durable && !dropped(R_tail_no_sync)))
		return nullptr;
	write_super(s);
	return "the superblock is sent";
}

const char *checkpoint_goes_on(State &s)
{
	if (s.ck == PAGES)
		return pages_go_on(s);
	if (s.ck != WAIT_INTENTS || (unresolved(s, s.ck_tail) && !dropped(R_tail_past_intent)))
		return nullptr;
	s.ck = PAGES;
	s.ck_sync = head_lsn(s);
	if (!dropped(R_tail_no_sync))
		s.ck_todo = s.dirty_pages;
	return "no INTENT below the tail is open";
}

/* ---- the rest ---- */

static void next_page(const State &s, Sink &out)
{
	for (int p = 0; p < NPAGE; p++) {
		if (!(s.ck_todo >> p & 1))
			continue;
		if (s.page_st[p] == PAGE_CLEAN)
			encode(s, p, out);
		else if (s.page_st[p] == PAGE_IN_FLIGHT)
			page_written(s, p, out);
		break;
	}
}

void next_checkpoint(const State &s, Sink &out)
{
	if (s.ck == NONE && s.bud[B_CKPT])
		begin(s, out);
	if (s.ck == PAGES)
		next_page(s, out);
	if (s.ck == SUPER)
		super_written(s, out);
}
