// SPDX-License-Identifier: GPL-2.0-only
/* The parts of the model. */
#pragma once

#include "config.hpp"

#include <cstdarg>

/* Takes what can happen next.  A quiet step leaves a cut no outcome that it did not have before. */
class Sink {
public:
	virtual ~Sink() = default;
	void step(State &s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
	void quiet(State &s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
	void bad(const char *fmt, ...) __attribute__((format(printf, 2, 3)));

	bool tracing = false;
	bool mute = false;	/* nothing is wrong now: only the way is looked for */
	std::string text;	/* of the step, while tracing */
	std::string violation, last;	/* what is wrong, and the cut that shows it */
	u64 outcomes = 0;	/* of cuts */

protected:
	virtual void put(const State &s, bool quiet) = 0;

private:
	bool settle(State &s);
	void say(const char *fmt, va_list ap);
};

const char *name(u8 value);
std::string sectors(const u8 *value, int mask);
std::string mask_text(int mask);

/* device.cpp */
void write_slot(State &s, int slot, int mask, const u8 *value);
void slot_written(State &s, int slot, int mask, bool fua);
void slot_failed(State &s, int slot, int mask, bool landed);
bool slot_busy(const State &s, int slot, int mask);
void write_origin(State &s, int b, int mask, const u8 *value);
void origin_written(State &s, int b, int mask, bool fua);
void origin_failed(State &s, int b, int mask, bool landed);
bool origin_busy(const State &s, int b);
void send_flush(State &s, Flush &f);
void flush_ended(State &s, Flush &f);
void send_origin_flush(State &s);
void origin_flush_ended(State &s);

/* legal.cpp: what a user may read */
void version_begins(State &s, int b, int mask);
void version_ends(State &s, int b, int mask, int v, bool mapped = true);
void version_durable(State &s, int b, int h, int v);
void check_running(const State &s, Sink &out);

/* journal.cpp */
bool has_room(const State &s, int n);
bool can_append(const State &s, int n);
int room(int used);
u8 append(State &s, Rec r);
void end_mapping(State &s, int slot);
void release(State &s, int slot);
void pins_changed(State &s, int slot);
void become_free(State &s, int slot);
void next_journal(const State &s, Sink &out);

/* checkpoint.cpp */
void next_checkpoint(const State &s, Sink &out);
const char *checkpoint_goes_on(State &s);	/* Return: what it has done, or nullptr */

/* user.cpp, past.cpp, background.cpp */
bool locked(const State &s, int b);
int free_slot(const State &s, int from);
void next_write(const State &s, Sink &out);
void next_past(const State &s, Sink &out);
const char *past_goes_on(State &s);
void begin_past(State &s, int b, OpKind kind, int mask, int ver, bool fua);
void next_background(const State &s, Sink &out);
void next_flush(const State &s, Sink &out);

/* replay.cpp, cut.cpp */
struct Media {
	JBlock ring[NRING];
	Page page[NPAGE];
	Super sb;
};

struct Intent {
	bool on;
	u8 blk, mask, crc[NH];
	u8 with, with_crc[NH];	/* slot + 1, only with a rule dropped */
};

struct Replayed {
	u8 entry[NS];
	Intent intent[NS];
	u8 lsn, pos, used, behind;
	const char *refused;
};

Replayed replay(const Media &m);
void next_crash(const State &s, Sink &out);

/* explore.cpp */
State initial();
void canonical(State &s);
void next_all(const State &s, Sink &out, bool crashes);
