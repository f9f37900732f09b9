// SPDX-License-Identifier: GPL-2.0-only
/* Counters: summing, resetting, their names. */
#include "core.h"

#include <linux/percpu.h>

static const char *const counter_name[OC_NR_COUNTERS] = {
#define OC_COUNTER_NAME(name) \
	[OC_STAT_##name] = #name,
	OC_COUNTERS(OC_COUNTER_NAME)
#undef OC_COUNTER_NAME
};

u64 oc_stat_sum(struct oc_core *core, enum oc_counter c)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct oc_stats *st = per_cpu_ptr(core->stats, cpu);
		const u64 base = READ_ONCE(st->base[c]);

		/* base first: whatever it is, count has been there */
		smp_rmb();
		sum += READ_ONCE(st->count[c]) - base;
	}
	return sum;
}

void oc_stats_reset(struct oc_core *core)
{
	int cpu, c;

	for_each_possible_cpu(cpu) {
		struct oc_stats *st = per_cpu_ptr(core->stats, cpu);

		for (c = 0; c < OC_NR_COUNTERS; c++) {
			const u64 count = READ_ONCE(st->count[c]);

			smp_wmb(); /* pairs with oc_stat_sum() */
			WRITE_ONCE(st->base[c], count);
		}
	}
}

const char *oc_counter_name(enum oc_counter c)
{
	return counter_name[c];
}
