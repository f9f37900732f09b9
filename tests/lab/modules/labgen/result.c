// SPDX-License-Identifier: GPL-2.0
/*
 * Results: the last one of each id, until it is run again or "result" is
 * written to.  One line of key=value each, times in ns.
 */
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "labgen.h"

static DEFINE_MUTEX(gen_results_lock);
static LIST_HEAD(gen_results);

struct gen_result *gen_result_alloc(const struct gen_job *job)
{
	struct gen_result *r = vzalloc(sizeof(*r));

	if (!r)
		return NULL;
	r->job = *job;
	if (job->bin_ms) {
		r->bins = vcalloc(GEN_BINS, sizeof(*r->bins));
		if (!r->bins) {
			vfree(r);
			return NULL;
		}
	}
	return r;
}

void gen_result_free(struct gen_result *r)
{
	vfree(r->bins);
	vfree(r);
}

void gen_result_publish(struct gen_result *r)
{
	struct gen_result *old, *next;

	mutex_lock(&gen_results_lock);
	list_for_each_entry_safe(old, next, &gen_results, node)
		if (!strcmp(old->job.id, r->job.id)) {
			list_del(&old->node);
			gen_result_free(old);
		}
	list_add_tail(&r->node, &gen_results);
	mutex_unlock(&gen_results_lock);
}

void gen_result_forget_all(void)
{
	struct gen_result *r, *next;

	mutex_lock(&gen_results_lock);
	list_for_each_entry_safe(r, next, &gen_results, node) {
		list_del(&r->node);
		gen_result_free(r);
	}
	mutex_unlock(&gen_results_lock);
}

static u64 gen_per_second(u64 count, u64 ns)
{
	return ns ? mul_u64_u64_div_u64(count, NSEC_PER_SEC, ns) : 0;
}

/* The last bin is cut short by the end of the run: it only counts alone. */
static struct gen_bin gen_worst_bin(const struct gen_result *r)
{
	struct gen_bin worst = r->bins[0];
	unsigned int i;

	for (i = 1; i + 1 < r->nr_bins; i++) {
		worst.ios = min(worst.ios, r->bins[i].ios);
		worst.sectors = min(worst.sectors, r->bins[i].sectors);
	}
	return worst;
}

static void gen_result_show(struct seq_file *m, const struct gen_result *r)
{
	const struct gen_latency *l = &r->io;
	struct gen_bin worst;

	seq_printf(m, "id=%s ios=%llu bytes=%llu ns=%llu iops=%llu kbps=%llu",
		   r->job.id, l->count, r->bytes, r->ns,
		   gen_per_second(l->count, r->ns),
		   gen_per_second(r->bytes, r->ns) / 1000);
	seq_printf(m, " mean=%llu p50=%llu p99=%llu p999=%llu p9999=%llu p99999=%llu max=%llu",
		   gen_latency_mean(l), gen_latency_at(l, 50000),
		   gen_latency_at(l, 99000), gen_latency_at(l, 99900),
		   gen_latency_at(l, 99990), gen_latency_at(l, 99999), l->max);
	seq_printf(m, " errors=%llu flushes=%llu flush_mean=%llu flush_max=%llu",
		   r->errors, r->flush.count, gen_latency_mean(&r->flush),
		   r->flush.max);
	if (r->job.verify)
		seq_printf(m, " mismatches=%llu first_mismatch=%lld",
			   r->mismatches,
			   r->mismatches ? (s64)r->first_mismatch : -1LL);
	if (r->bins) {
		worst = gen_worst_bin(r);
		seq_printf(m, " worst_window_ios=%u worst_window_kbps=%llu",
			   worst.ios,
			   div64_u64((u64)worst.sectors * SECTOR_SIZE,
				     r->job.bin_ms));
	}
	seq_putc(m, '\n');
}

void gen_result_show_all(struct seq_file *m)
{
	struct gen_result *r;

	mutex_lock(&gen_results_lock);
	list_for_each_entry(r, &gen_results, node)
		gen_result_show(m, r);
	mutex_unlock(&gen_results_lock);
}

/* I/Os completed in each bin. */
void gen_result_show_timelines(struct seq_file *m)
{
	struct gen_result *r;
	unsigned int i;

	mutex_lock(&gen_results_lock);
	list_for_each_entry(r, &gen_results, node) {
		if (!r->bins)
			continue;
		seq_printf(m, "id=%s bin_ms=%llu", r->job.id, r->job.bin_ms);
		for (i = 0; i < r->nr_bins; i++)
			seq_printf(m, " %u", r->bins[i].ios);
		seq_putc(m, '\n');
	}
	mutex_unlock(&gen_results_lock);
}
