/* SPDX-License-Identifier: GPL-2.0 */
/*
 * labcut: a load with an oracle of what may be read after a power cut.
 *
 *	load.c		sends the ops of a run, one after the other, many in flight
 *	oracle.c	which versions of each sector are legal
 *	sector.c	what a version looks like on a device
 *	verify.c	reads everything
 *	main.c		ioctls
 *
 * cut.lock protects the oracle and the counters; it is taken in completions.  Time in the
 * oracle is a tick, one for each sending and each completion.
 */
#ifndef _LABCUT_H
#define _LABCUT_H

#include <linux/blk_types.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "api.h"

struct file;

/*
 * A value: what a sector holds.  id * 4 + variant; a scribbled write has two variants, a
 * and b, and may be CUT_EITHER in the list of versions.
 */
#define CUT_ZERO	0u
#define CUT_GARBAGE	~0u		/* also: another sector's, another seed's */
#define CUT_ANY		(~0u - 1)	/* version only: a discard */
#define CUT_VARIANTS	2
#define CUT_EITHER	2u

static inline u32 cut_value(u32 id, u32 variant)
{
	return id << CUT_VARIANTS | variant;
}

static inline u32 cut_value_id(u32 value)
{
	return value >> CUT_VARIANTS;
}

enum cut_state { CUT_UNSENT, CUT_SENT, CUT_ENDED, CUT_FAILED };

/* An op of this seed, by id. */
struct cut_record {
	u32 sent, ended;	/* ticks */
	u32 sector;
	u16 sectors;
	u8 kind, flags;
	u8 state;
	bool durable;
	struct cut_trace trace;
};

struct cut_globals {
	spinlock_t lock;	/* everything below */
	u64 seed;
	u32 sectors;
	u32 tick;
	u16 oldest;		/* id of the first record that may not be durable */
	u16 newest;
	u16 reading;		/* id of the first record that may be a read in flight */
	bool cached;		/* the device has a volatile cache */
	u64 cuts, start_ns;	/* at the start of the run */
	u32 runs;
	struct cut_record *record;
	struct cut_result result;
	struct cut_finding finding[16];
	u32 nr_findings;
};

extern struct cut_globals cut;

/* oracle.c; cut.lock held */
int cut_oracle_init(void);
void cut_oracle_exit(void);
void cut_oracle_new(u64 seed, u32 sectors);
bool cut_oracle_room(const struct cut_op *op);
void cut_oracle_sent(const struct cut_op *op);
void cut_oracle_ended(u16 id);
void cut_oracle_crashed(void);
void cut_oracle_read(u32 sector, u32 value, u32 got_sector, u32 since, u32 pass);
bool cut_oracle_is(u32 sector, u32 value);

/* sector.c */
void cut_sector_fill(void *to, u64 seed, u32 sector, u32 value);
u32 cut_sector_value(const void *from, u64 seed, u32 sector, u32 *got_sector);

/* load.c */
int cut_load_init(void);
void cut_load_exit(void);
int cut_load_start(const struct cut_run *run);
int cut_load_wait(struct cut_wait *wait);
void cut_load_go(void);
bool cut_load_busy(void);
u8 *cut_scratch(void);
void cut_note(u64 what);
struct bio *cut_bio(struct block_device *bdev, blk_opf_t opf, u8 *data, u32 sectors);
struct file *cut_open(const char *path, bool write, struct block_device **bdev);

/* verify.c */
int cut_verify(struct cut_verify *v);
int cut_base(const char *path);

#endif
