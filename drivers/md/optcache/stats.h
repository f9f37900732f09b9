/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters: one set a CPU, 64 bit, summed when somebody asks.  The names are the
 * keys of the status line and of sysfs, in this order.
 */
#ifndef _OC_STATS_H
#define _OC_STATS_H

#include <linux/types.h>

#define OC_COUNTERS(X)							\
	X(reads)		/* bios */				\
	X(read_hits)							\
	X(read_misses)		/* to be filled */			\
	X(read_bypass)		/* misses not to be filled */		\
	X(writes)							\
	X(write_hits)		/* in place, on dirty blocks */		\
	X(write_new)		/* to fresh slots */			\
	X(write_through)						\
	X(write_bypass)		/* past the cache, to the origin */	\
	X(flushes)							\
	X(origin_flushes)						\
	X(discards)							\
	X(deferred)		/* had to wait for another operation */	\
	X(fills)		/* blocks */				\
	X(fills_skipped)						\
	X(evictions)							\
	X(writeback_blocks)						\
	X(writeback_ios)						\
	X(journal_commits)						\
	X(journal_records)						\
	X(checkpoints)							\
	X(checkpoint_pages)						\
	X(cache_errors)							\
	X(origin_errors)

enum oc_counter {
#define OC_COUNTER_ENUM(name) OC_STAT_##name,
	OC_COUNTERS(OC_COUNTER_ENUM)
#undef OC_COUNTER_ENUM
	OC_NR_COUNTERS
};

/* A reset does not touch count, which only its own CPU writes: it moves the base. */
struct oc_stats {
	u64 count[OC_NR_COUNTERS];
	u64 base[OC_NR_COUNTERS];
};

#define oc_count(core, name)		this_cpu_inc((core)->stats->count[OC_STAT_##name])
#define oc_count_add(core, name, n)	this_cpu_add((core)->stats->count[OC_STAT_##name], n)

struct oc_core;

/* Since the last reset.  Any context. */
u64 oc_stat_sum(struct oc_core *core, enum oc_counter c);
/* One caller at a time. */
void oc_stats_reset(struct oc_core *core);
const char *oc_counter_name(enum oc_counter c);

#endif /* _OC_STATS_H */
