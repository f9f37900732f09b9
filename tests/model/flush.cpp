// SPDX-License-Identifier: GPL-2.0-only
/* A user's flush: journal up to done_lsn, then the cache device; the origin if it owes one. */
#include "world.hpp"

enum { NONE, JOURNAL, DEVICE, ORIGIN };

static void arrives(State s, Sink &out)
{
	s.bud[B_FLUSH]--;
	s.fl = JOURNAL;
	s.fl_lsn = s.done_lsn;
	s.fl_writes = dropped(R_flush_no_origin) ? 0 : s.user_writes;
	memcpy(s.fl_ver, s.acked, sizeof(s.fl_ver));
	out.quiet(s, "FLUSH arrives");
}

static void sends(State s, Sink &out)
{
	s.fl = DEVICE;
	s.fl_lsn = 0;
	if (!cfg.vol_cache || dropped(R_flush_no_cache)) {
		s.fl = ORIGIN;
		out.quiet(s, "FLUSH: the journal is durable so far");
		return;
	}
	send_flush(s, s.uflush);
	s.fl_covers = head_lsn(s);
	if (!dropped(R_melt_flushed))
		s.closed = s.fl_covers;
	out.quiet(s, "FLUSH: a flush of the cache device is sent");
}

static void device_done(State s, Sink &out)
{
	u8 covers = dropped(R_covered_at_end) ? head_lsn(s) : s.fl_covers;

	if (s.covered < covers)
		s.covered = covers;
	flush_ended(s, s.uflush);
	s.fl = ORIGIN;
	s.fl_covers = 0;
	out.quiet(s, "FLUSH: the flush of the cache device ends");
}

static void done(State s, Sink &out)
{
	for (int b = 0; b < NB; b++)
		for (int h = 0; h < NH; h++)
			version_durable(s, b, h, s.fl_ver[b][h]);
	s.fl = 0;
	memset(s.fl_ver, 0, sizeof(s.fl_ver));
	out.step(s, "FLUSH is done");
}

void next_flush(const State &s, Sink &out)
{
	switch (s.fl) {
	case NONE:
		if (s.bud[B_FLUSH])
			arrives(s, out);
		break;
	case JOURNAL:
		if (s.fl_lsn <= s.durable || dropped(R_flush_no_lsn))
			sends(s, out);
		break;
	case DEVICE:
		device_done(s, out);
		break;
	case ORIGIN:
		if (!s.fl_writes)
			done(s, out);
		break;
	}
}
