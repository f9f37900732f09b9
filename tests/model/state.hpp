// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state of the world: what is on both devices, what is on its way to them, what the
 * module knows, and what a user may expect to read.
 *
 * A value is what one sector of one block holds: version v of block b, zeroes (a discard), garbage (whatever
 * a slot held before).  A set of values is a mask.
 */
#pragma once

#include <cstdint>
#include <cstring>

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;

constexpr int NB = 2;		/* blocks of the origin */
constexpr int NS = 3;		/* slots */
constexpr int NH = 3;		/* sectors a block */
constexpr int NRING = 6;	/* journal blocks in the ring */
constexpr int NREC = 4;		/* records in a journal block */
constexpr int NFLY = 3;		/* journal blocks in flight */
constexpr int NPEND = 8;	/* records not yet issued */
constexpr int NPAGE = 2;	/* table pages, two slots each */
constexpr int NVER = 6;		/* versions of a block, with the first */

constexpr u8 GARBAGE = 0, ZERO = 1 + NB * NVER, NR_VALUES = ZERO + 1;

extern bool twins;		/* both blocks are written with the same bytes */
extern bool echo;		/* each write of a block has the same bytes */

inline u8 value(int b, int v) { return 1 + (twins ? 0 : b) * NVER + (echo ? v > 0 : v); }
inline int value_version(u8 x) { return x && x < ZERO ? (x - 1) % NVER : 0; }
inline u16 bit(int x) { return 1u << x; }

constexpr int ALL_SECTORS = (1 << NH) - 1;

/* One sector of a device: what it reads as, what is being written, what a cut may leave. */
struct Cell {
	u16 can;
	u8 cur, fly;
};

/* ---- records ---- */

enum RecType { MAP, UNMAP, CLEAN, INTENT };

/* type 2, slot 2, block 1, mask 3, dirty 1, flags 2; checksums of an INTENT, 4 bits a sector. */
using Rec = u32;

constexpr Rec JOINED = 1 << 9;		/* one record with the one before: a run */
constexpr Rec WANTS_FLUSH = 1 << 10;	/* speaks of data that may be in the volatile cache */

inline Rec make_rec(int type, int slot, int blk = 0, int mask = 0, bool dirty = false)
{
	return type | slot << 2 | blk << 4 | mask << 5 | dirty << 8;
}
inline int rec_type(Rec r) { return r & 3; }
inline int rec_slot(Rec r) { return r >> 2 & 3; }
inline int rec_block(Rec r) { return r >> 4 & 1; }
inline int rec_mask(Rec r) { return r >> 5 & 7; }
inline bool rec_dirty(Rec r) { return r >> 8 & 1; }
inline Rec crc_bits(int h, u8 crc) { return (Rec)crc << (12 + 4 * h); }
inline u8 rec_crc(Rec r, int h) { return r >> (12 + 4 * h) & 15; }
inline bool rec_joined(Rec r) { return r & JOINED; }
inline bool rec_wants_flush(Rec r) { return r & WANTS_FLUSH; }

struct JBlock {
	u8 epoch, lsn, nr, n;	/* nr: records (lsn), n: entries of rec[]; 0 = not valid */
	Rec rec[NREC];
};

/* ---- the cache device's other structures ---- */

/* An entry of the table: 0, or mapped, block, dirty, mask. */
inline u8 make_entry(int blk, int mask, bool dirty)
{
	return 1 | blk << 1 | dirty << 2 | mask << 3;
}
inline int entry_block(u8 e) { return e >> 1 & 1; }
inline bool entry_dirty(u8 e) { return e >> 2 & 1; }
inline int entry_mask(u8 e) { return e >> 3 & 7; }

struct Page {
	u8 lsn, entry[2];
};
constexpr u8 TORN = 255;	/* as lsn */
inline int page_of(int slot) { return slot / 2; }

struct Super {
	u8 epoch, tail, pos, tail_epoch;
};

enum PageState { PAGE_CLEAN, PAGE_ENCODED, PAGE_IN_FLIGHT, PAGE_IN_CACHE };

/* What a flush of the cache device makes durable when it ends: noted when it is sent. */
struct Flush {
	u16 drop[NS][NH];	/* values that cannot come back then */
	u8 pages, ring;		/* pages and journal blocks that are durable then */
};

/* ---- what the module knows ---- */

enum SlotState { FREE, FRESH, SEALED, LIVE, COPY, DEAD, GONE };

struct Slot {
	u8 st : 3, blk : 1, mask : 3, dirty : 1;
	u8 lsn;			/* of its last record, while that is not durable */
	u8 need;		/* FRESH: origin writes that a flush must cover before it is recorded */
	u8 rejected;		/* DEAD, SEALED: recovery has rejected its INTENT, which still stands */
};

enum OpKind { IDLE, NEW, EXTEND, THROUGH, BYPASS, DISCARD, WRITEBACK };

/* Who holds a block's range lock. */
struct Op {
	u8 kind : 3, phase : 3, fua : 1, intent : 1;
	u8 slot : 2, mask : 3, ver : 3;
	u8 lsn;			/* NEW, EXTEND: of its INTENT; else: the record it waits for */
	u8 need;		/* as of a slot */
};

struct InPlace {
	u8 mask : 3, slot : 2, ver : 3;
	u8 fua;
};

struct FuaWait {
	u8 mask : 3, ver : 3;
	u8 lsn;
};

struct Fill {
	u8 on : 1, blk : 1, slot : 2;
	u8 need;
};

struct JFly {
	JBlock b;
	u8 pos : 5, used : 1, done : 1, preflush : 1;
	u8 covers;		/* head when it was sent, if it flushes */
};

enum Budget { B_WRITE, B_THROUGH, B_BYPASS, B_FILL, B_WB, B_EVICT, B_CKPT, B_FLUSH, B_DISCARD,
	      B_FAIL, B_READ, B_CRASH, NR_BUDGETS };

struct State {
	/* cache device */
	Cell slot[NS][NH];
	JBlock ring[NRING];
	u8 ring_soft;			/* journal blocks written but not durable (only if a rule is dropped) */
	Page page[NPAGE], page_new[NPAGE];
	u8 page_st[NPAGE];		/* PageState, of page_new */
	Super sb, sb_new;
	u8 sb_fly;
	Flush jflush[NFLY], uflush, sbflush;
	/* origin */
	Cell origin[NB][NH];
	u16 odrop[NB][NH];
	u8 oflush, oflush_all, oflush_user;	/* one flush at a time; counts when it was sent */
	/* memory */
	Slot s[NS];
	Op op[NB];
	InPlace ip[NB];
	FuaWait fw[NB];
	Fill fill;
	Rec pend[NPEND];
	u8 npend;
	JFly fly[NFLY];
	u8 issued, durable, covered, done_lsn, closed;
	u8 epoch, pos, used;
	u8 ck, ck_tail, ck_pos, ck_used, ck_todo, ck_sync, dirty_pages;
	u8 writes, user_writes;		/* above what is flushed */
	u8 fl, fl_lsn, fl_covers, fl_writes, fl_ver[NB][NH];
	u8 rd, rd_slot, rd_blk;		/* a read in flight */
	u16 rd_legal;
	/* the user */
	u16 legal[NB][NH];		/* after a cut */
	u16 now[NB][NH];		/* while it runs */
	u8 acked[NB][NH];		/* last completed version, 0: none since a discard */
	u8 ver[NB];
	u8 bud[NR_BUDGETS];
};

inline u8 head_lsn(const State &s)
{
	u8 n = s.issued;

	for (int i = 0; i < s.npend; i++)
		n += !rec_joined(s.pend[i]);
	return n;
}

inline bool is_current(const Slot &x) { return x.st >= FRESH && x.st <= COPY; }

/* The slot that a block is mapped to, or -1. */
inline int current_slot(const State &s, int b)
{
	for (int i = 0; i < NS; i++)
		if (is_current(s.s[i]) && s.s[i].blk == b)
			return i;
	return -1;
}
