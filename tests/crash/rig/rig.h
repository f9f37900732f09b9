/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rig: plays seeds in a guest of the lab.
 *
 *	plan.c		what a seed does: devices, ops, when the power is cut
 *	play.c		does it
 *	target.c	the caches, and what else can be under test
 *	shrink.c	the least part of a plan that still fails
 *	report.c	lines for the host, and for people
 *	clock.c		the same clock for each seed
 *	dm.c sys.c	device-mapper; files, modules
 *
 * The load and the oracle are in the kernel: tests/lab/modules/labcut.
 */
#ifndef RIG_H
#define RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../lab/modules/labcut/api.h"

#define MAX_ROUNDS	3
#define MAX_RECUTS	2
#define ROUND_OPS	320

/* What a control op does; its argument in parentheses. */
enum control {
	C_MODE_MESSAGE,		/* (mode) */
	C_MODE_SYSFS,		/* (mode) */
	C_RELOAD,		/* (mode) a new table, loaded and resumed */
	C_SUSPEND,		/* suspend and resume */
	C_DELAY,		/* (s) writeback_delay */
	C_CUTOFF,		/* (16 KiB) seq_cutoff */
	C_HIGH,			/* (%) dirty_high */
	C_FLUSH,		/* start to write everything back */
	C_CANCEL,
	C_DROP,			/* drop-clean */
	C_RESTART,		/* (when to cut) stop, start; alone */
	C_DETACH,		/* write back, stop, look at the bare origin, start; alone */
	C_REFORMAT,		/* write back, stop, write the bare origin, format anew; alone */
	NR_CONTROLS
};

struct device_plan {
	unsigned int kb, lbs, is_volatile, discard, channels;
	__u64 read_ns, write_ns, flush_ns, jitter_ns;
};

/* When the power goes, from the moment it is armed. */
struct cut_plan {
	__u64 after_ios, delay_ns;
};

struct round_plan {
	struct cut_op op[ROUND_OPS];
	unsigned int nr, depth, chunk;
	struct cut_plan cut;
	bool cut_later;		/* a control arms it */
	struct cut_plan recut[MAX_RECUTS];
	unsigned int nr_recuts;
	bool look;		/* read everything after the recovery */
};

struct plan {
	__u64 seed;
	struct device_plan fast, slow;
	unsigned int sectors, lbs;	/* of the device under test */
	struct cut_plan format_cut;	/* 0, 0: none */
	unsigned int mode, delay, cutoff;
	struct round_plan round[MAX_ROUNDS];
	unsigned int nr_rounds;
	__u16 next_id;
};

/* What is left out of every plan, and what is put in. */
struct options {
	unsigned int without;		/* of enum feature */
	const char *lie;		/* "fast:fua", ... or NULL */
	int fast_volatile, slow_volatile;	/* -1: by seed */
	bool verbose;
};

enum feature {
	F_CONTROLS = 1, F_DISCARD = 2, F_ZEROES = 4, F_SCRIBBLE = 8, F_OVERLAP = 16,
	F_LARGE = 32, F_PARTIAL = 64, F_RECUT = 128, F_MODES = 256, F_ALONE = 512,
	F_FUA = 1024, F_FLUSH = 2048, F_FORMAT = 4096, F_LBS = 8192, F_RELOAD = 16384,
	F_WRITEBACK = 32768,
};

/* What a seed came to. */
struct outcome {
	__u64 bad[CUT_NR_BAD];
	unsigned int cuts, inexact_dirty, recovery_failed;
	__u64 hash;
	char why[160];			/* of the first that is not in the oracle's findings */
	__u64 cut_ns[MAX_ROUNDS];	/* when it came, from the start of the run; 0: after */
	struct cut_finding finding[16];
	unsigned int nr_findings;
};

/* ---- plan.c ---- */
struct target;
void plan_make(struct plan *p, __u64 seed, const struct target *t, const struct options *o);
const char *feature_list(void);
int feature_parse(const char *words, unsigned int *mask);
__u64 mix(__u64 x);

/* ---- target.c ---- */
struct status {
	__u64 dirty, mapped, fresh, commits;
};

struct target {
	const char *name;
	const char *module;		/* it remembers which caches failed until it is unloaded */
	unsigned int fast_kb, fast_more_kb;
	bool controls;			/* takes all of enum control */
	unsigned int lbs;		/* it makes sectors of, or 0 */
	unsigned int offset;		/* sectors at the head of the origin that are its own */
	int (*create)(const struct plan *p, bool format);	/* sets device_path */
	int (*destroy)(void);
	int (*writeback)(void);		/* the origin alone has everything; or NULL */
	int (*status)(struct status *st);	/* or NULL */
	int (*wipe)(void);		/* what format wants, or NULL */
};

extern char device_path[CUT_PATH];
const struct target *target_find(const char *name);
void target_names(void);
int target_control(const struct target *t, const struct plan *p, const struct cut_op *op);

/* ---- play.c ---- */
/* @skip: by id, ops to leave out, or NULL; @timed: cut when the last one did.  */
void play(const struct target *t, struct plan *p, const struct options *o, const bool *skip,
	  struct outcome *out);
bool outcome_bad(const struct outcome *out);

/* ---- shrink.c, report.c ---- */
void shrink(const struct target *t, struct plan *p, const struct options *o,
	    const struct outcome *first);
void report_line(__u64 seed, const struct outcome *out);
void report_findings(const struct outcome *out);
void report_plan(const struct plan *p, const bool *skip, const struct outcome *out);

/* ---- sys.c ---- */
int put(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int lab(const char *fmt, ...) __attribute__((format(printf, 1, 2)));	/* labdev's control */
int module_in(const char *name);
int module_out(const char *name);
void flush_out(void);
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
int labcut(unsigned long cmd, void *arg);
int zero_start(const char *path, unsigned int kb);
int flush_device(const char *path);

/* ---- clock.c ---- */
__u64 now_ns(void);
void sleep_ns(__u64 ns);
void align_clock(void);

/* ---- dm.c: 0 or -errno ---- */
int dm_create(const char *name, char path[CUT_PATH], __u64 sectors, const char *type,
	      const char *args);
int dm_load(const char *name, __u64 sectors, const char *type, const char *args);
int dm_suspend(const char *name);
int dm_resume(const char *name);
int dm_remove(const char *name);
int dm_message(const char *name, const char *text);
const char *dm_status(const char *name);	/* NULL: there is none */
bool dm_suspended(const char *name);

#endif
