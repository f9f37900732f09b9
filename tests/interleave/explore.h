/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who goes on?  All schedules of a scenario, or seeded ones, or a given one.
 *
 * All of them: depth first, and every run begins anew.  A run is cut when it comes to a
 * state from which everything has been seen before, so each state is left once in every way.
 * With a bound, schedules with more preemptions are left out: a thread is preempted when
 * it could go on and another one does.
 */
#ifndef _INTERLEAVE_EXPLORE_H
#define _INTERLEAVE_EXPLORE_H

#include "lockstep.h"

#define IL_NO_BOUND	(~0U)

struct explored {
	bool failed, unfinished;
	u64 runs, steps, states;
	unsigned int deepest;
};

/* Unfinished when there are more than @max states. */
struct explored explore_all(unsigned int bound, u64 max);

/* One run, whose schedule is a function of @seed. */
struct explored explore_seed(u64 seed);

/*
 * After explore_all() without a bound: do @nr seeded runs come to states only that it has
 * seen?  If not, it takes different states for the same.
 */
bool explore_covered(u64 nr);

/* The schedule of the last run, as "0*3,1,0*2": thread 0 three steps, ...; static memory. */
const char *explore_schedule(void);

/*
 * Run @schedule, and what is left of the threads after it one after the other.  Prints the
 * steps.  Return: IL_CUT if it is no schedule of this scenario.
 */
enum il_result explore_replay(const char *schedule);

#endif /* _INTERLEAVE_EXPLORE_H */
