// SPDX-License-Identifier: GPL-2.0-only
/*
 * The same clock for each seed, whatever came before it.
 *
 * The timer wheel looks alike at multiples of PHASE_NS, and after QUIET_NS the timers of the
 * scheduler and of the random numbers have gone off.  But UML's clock shows multiples of
 * 256 ns only; the simulated time behind it has a rest that nobody can see, that goes from
 * timer to timer, and that decides which of two events comes first.  A timer is set to a
 * distance from now, so it goes off late by the rest.  If the clock still shows too
 * little then, it is set again, to no less than HOP_NS.  So how long a sleep seems to take
 * tells something about the rest: enough of them tell all, and a last one makes it zero.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "rig.h"

#define PHASE_NS	640000000ULL	/* of timers up to 40 s */
#define QUIET_NS	2500000000ULL	/* for what goes on for a second or two after work */
#define CLOCK_NS	256
#define HOP_NS		500		/* the least that UML sets a timer to */
#define SLACK_NS	1		/* of a sleep; see main.c */
#define SLEEP_NS	(8 * CLOCK_NS)
#define MAX_TRIES	100

__u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void sleep_until(__u64 ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

void sleep_ns(__u64 ns)
{
	sleep_until(now_ns() + ns);
}

/* What a sleep of @step more than whole units shows, in units, if the rest is @*rest. */
static unsigned int foresee(unsigned int step, unsigned int *rest)
{
	unsigned int t = step + *rest;

	while (t / CLOCK_NS * CLOCK_NS < step)
		t += HOP_NS;
	*rest = t % CLOCK_NS;
	return t / CLOCK_NS;
}

/* Sleep; return: what the clock shows, in units. */
static unsigned int try(unsigned int step)
{
	__u64 start = now_ns();

	sleep_until(start + SLEEP_NS + step - SLACK_NS);
	return (now_ns() - start) / CLOCK_NS;
}

/* The largest group of rests in @may that a sleep of @step does not tell apart. */
static unsigned int left_after(unsigned int step, const bool *may)
{
	unsigned int count[8] = { 0 }, most = 0, i, rest, seen;

	for (i = 0; i < CLOCK_NS; i++) {
		rest = i;
		seen = foresee(step, &rest);
		if (may[i] && ++count[seen] > most)
			most = count[seen];
	}
	return most;
}

static unsigned int best_step(const bool *may)
{
	unsigned int best = 1, step;

	for (step = 2; step < CLOCK_NS; step++)
		if (left_after(step, may) < left_after(best, may))
			best = step;
	return best;
}

/* Keep of @may what goes with a sleep of @step that showed @seen.  Return: how many. */
static unsigned int sift(bool *may, unsigned int step, unsigned int seen)
{
	bool next[CLOCK_NS] = { false };
	unsigned int i, rest, n = 0;

	for (i = 0; i < CLOCK_NS; i++) {
		rest = i;
		if (may[i] && foresee(step, &rest) == seen)
			next[rest] = true;
	}
	memcpy(may, next, sizeof(next));
	for (i = 0; i < CLOCK_NS; i++)
		n += may[i];
	return n;
}

/* Leave one of @may.  Return: false if something has come between. */
static bool find_rest(bool may[CLOCK_NS])
{
	unsigned int whole = try(0), step, n = CLOCK_NS;

	memset(may, true, CLOCK_NS * sizeof(*may));
	while (n > 1) {
		step = best_step(may);
		n = sift(may, step, try(step) - whole);
	}
	return n;
}

static void clear_rest(void)
{
	unsigned int rest = 0, tries = 0;
	bool may[CLOCK_NS];

	while (!find_rest(may))
		if (++tries == MAX_TRIES)
			die("the clock is not as it is foreseen");
	while (!may[rest])
		rest++;
	if (rest)
		try(CLOCK_NS - rest);
}

void align_clock(void)
{
	sleep_until(((now_ns() + QUIET_NS) / PHASE_NS + 1) * PHASE_NS - SLACK_NS);
	clear_rest();
}
