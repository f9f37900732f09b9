/* SPDX-License-Identifier: GPL-2.0 */
/*
 * labgen: makes block I/O inside the kernel, where a million of them in
 * simulated time cost seconds.
 *
 * A line written to debugfs labgen/run is a job (job.c); the writer's own
 * process submits its bios (load.c) and sleeps until the last one is back.  Any
 * number of processes may do so at once.  What was measured (histogram.c) stays
 * as a result under the job's id (result.c).
 */
#ifndef _LABGEN_H
#define _LABGEN_H

#include <linux/blkdev.h>
#include <linux/semaphore.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct lab_words;

enum gen_op { GEN_READ, GEN_WRITE, GEN_MIX };
enum gen_order { GEN_SEQ, GEN_RAND, GEN_PERM, GEN_ASC };

/* What was asked for. */
struct gen_job {
	char id[32];
	char path[96];
	u64 op, order;			/* enum gen_op, enum gen_order */
	u64 read_percent;		/* of GEN_MIX */
	u64 block, depth;
	u64 ios, ms;			/* whichever ends first; 0: no limit */
	u64 start, span;		/* bytes */
	u64 seed, fua, flush_every, gap_us;
	u64 verify, generation, scribble;
	u64 bin_ms;
};

#define GEN_BUCKETS	(64 * 58)	/* see histogram.c */

struct gen_latency {
	u64 count, sum, max;
	u32 bucket[GEN_BUCKETS];
};

void gen_latency_add(struct gen_latency *l, u64 ns);
u64 gen_latency_at(const struct gen_latency *l, u64 per_100000);
u64 gen_latency_mean(const struct gen_latency *l);

#define GEN_BINS	65536

struct gen_bin {
	u32 ios, sectors;
};

/* What came of it. */
struct gen_result {
	struct list_head node;		/* result.c */
	struct gen_job job;
	struct gen_latency io, flush;
	u64 bytes, ns, errors;
	u64 mismatches, first_mismatch;	/* sectors */
	unsigned int nr_bins;
	struct gen_bin *bins;
};

struct gen_result *gen_result_alloc(const struct gen_job *job);
void gen_result_publish(struct gen_result *r);
void gen_result_free(struct gen_result *r);
void gen_result_show_all(struct seq_file *m);
void gen_result_show_timelines(struct seq_file *m);
void gen_result_forget_all(void);

int gen_job_parse(struct gen_job *job, struct lab_words *w);
int gen_load(struct gen_result *r);

/* target.c */
struct file *gen_target_open(const struct gen_job *job,
			     struct block_device **bdev);

/* pattern.c */
#define GEN_ANY		0		/* any generation, or never written */
#define GEN_SHADOW	BIT(31)		/* a scribble over it, as legal */
void gen_pattern_fill(void *to, sector_t sector, unsigned int sectors,
		      u32 generation);
unsigned int gen_pattern_check(const void *from, sector_t sector,
			       unsigned int sectors, u32 generation,
			       sector_t *first_bad);

/* order.c */
u64 gen_block_of(const struct gen_job *job, u64 nr_blocks, u64 i, u64 *random);

#endif
