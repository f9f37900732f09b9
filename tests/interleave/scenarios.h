/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INTERLEAVE_SCENARIOS_H
#define _INTERLEAVE_SCENARIOS_H

#include <optcache/types.h>

struct scenario {
	const char *name;
	const char *what;
	void (*setup)(void);
	unsigned int bound;	/* on preemptions, where there are too many schedules; 0: none */
	bool seeded;		/* too long for all schedules; setup depends on the seed */
	bool idle;		/* nobody hits anything in it */
};

extern const struct scenario scenarios[];	/* the last one has no name */
extern u64 scenario_seed;

#endif /* _INTERLEAVE_SCENARIOS_H */
