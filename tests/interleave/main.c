// SPDX-License-Identifier: GPL-2.0-only
/*
 * interleave				all scenarios
 * interleave --full			..., without bounds, and 50 times as many seeds
 * interleave SCENARIO			all its schedules, or 2,000 seeded ones
 * interleave SCENARIO --bound N	those with at most N preemptions
 * interleave SCENARIO --seed N		one
 * interleave SCENARIO --schedule S	one, step by step
 * interleave --seeds N			so many, instead of 2,000
 */
#include "explore.h"
#include "scenarios.h"
#include "world.h"

#define MAX_STATES	40000000
#define COVERING_SEEDS	1000
#define MAX_BOUND	8	/* of what is tried to make a failure shorter */

static u64 nr_seeds = 2000;
static bool full;
static u32 passed, failed;

static u64 number(const char *text)
{
	unsigned long long n;

	if (!text || kstrtoull(text, 10, &n)) {
		fprintf(stderr, "interleave: %s: a number is wanted\n", text ?: "nothing");
		exit(2);
	}
	return n;
}

static const struct scenario *find(const char *name)
{
	const struct scenario *s;

	for (s = scenarios; s->name; s++)
		if (!strcmp(s->name, name))
			return s;
	fprintf(stderr, "interleave: there is no scenario '%s'; they are", name);
	for (s = scenarios; s->name; s++)
		fprintf(stderr, " %s", s->name);
	fprintf(stderr, "\n");
	exit(2);
}

/* ---- failures -------------------------------------------------------- */

/* The same fault, or another one, with as few preemptions as it takes. */
static void shorten(u64 max)
{
	u32 bound;

	for (bound = 0; bound <= MAX_BOUND; bound++)
		if (explore_all(bound, max).failed)
			return;
}

static void show_failure(const struct scenario *s, u64 seed, u64 runs)
{
	char *schedule;

	printf("# %s\n", il_failure());
	if (!s->seeded)
		shorten(4 * runs + 100000);
	schedule = strdup(explore_schedule());
	if (s->seeded)
		printf("# again: build/interleave/interleave %s --seed %llu\n", s->name,
		       (unsigned long long)seed);
	else
		printf("# again: build/interleave/interleave %s --schedule %s\n", s->name,
		       schedule);
	explore_replay(schedule);
	printf("#   %s\n", il_failure());
	free(schedule);
}

/* ---- scenarios ------------------------------------------------------- */

static struct explored run_seeds(const struct scenario *s, u64 first, u64 nr, u64 *seed)
{
	struct explored sum = { .failed = false }, e;

	for (*seed = first; *seed < first + nr && !sum.failed; ++*seed) {
		scenario_seed = *seed;
		s->setup();
		e = explore_seed(*seed);
		sum.failed = e.failed;
		sum.runs++;
		sum.steps += e.steps;
		sum.deepest = max(sum.deepest, e.deepest);
	}
	--*seed;
	return sum;
}

static void run(const struct scenario *s, u32 bound)
{
	struct explored e;
	bool ok, vacuous, covered = true;
	u64 seed = 0;

	if (s->seeded) {
		e = run_seeds(s, 1, full ? 50 * nr_seeds : nr_seeds, &seed);
	} else {
		s->setup();
		if (s->bound && !full)
			bound = min(bound, s->bound);
		e = explore_all(bound, MAX_STATES);
		if (bound == IL_NO_BOUND && !e.failed && !e.unfinished)
			covered = explore_covered(COVERING_SEEDS);
	}
	vacuous = !e.failed && !s->idle && !world_hits;
	ok = !e.failed && !e.unfinished && !vacuous && covered;
	++*(ok ? &passed : &failed);
	printf("%sok %u - %s: %s: %llu runs, %llu states, up to %u steps\n", ok ? "" : "not ",
	       passed + failed, s->name, s->what, (unsigned long long)e.runs,
	       (unsigned long long)e.states, e.deepest);
	if (e.unfinished)
		printf("# more states than it may have\n");
	else if (vacuous)
		printf("# nobody ever hit anything\n");
	else if (!covered)
		printf("# seeded runs come to states that were not seen\n");
	if (e.failed)
		show_failure(s, seed, e.states);
	fflush(stdout);
}

static int replay(const struct scenario *s, const char *schedule)
{
	enum il_result result;

	s->setup();
	result = explore_replay(schedule);
	if (result == IL_CUT) {
		fprintf(stderr, "interleave: that is no schedule of %s\n", s->name);
		return 2;
	}
	printf("# %s\n", result == IL_FAILED ? il_failure() : "passed");
	return result == IL_FAILED;
}

static int replay_seed(const struct scenario *s, u64 seed)
{
	char *schedule;
	int r;

	scenario_seed = seed;
	s->setup();
	explore_seed(seed);
	schedule = strdup(explore_schedule());
	r = replay(s, schedule);
	free(schedule);
	return r;
}

int main(int argc, char **argv)
{
	const struct scenario *only = NULL, *s;
	u32 bound = IL_NO_BOUND;
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--seed") && only)
			return replay_seed(only, number(argv[++i]));
		if (!strcmp(argv[i], "--schedule") && only)
			return replay(only, argv[++i] ?: "");
		if (!strcmp(argv[i], "--full"))
			full = true;
		else if (!strcmp(argv[i], "--bound"))
			bound = number(argv[++i]);
		else if (!strcmp(argv[i], "--seeds"))
			nr_seeds = number(argv[++i]);
		else
			only = find(argv[i]);
	}
	for (s = only ?: scenarios; s->name; s++) {
		run(s, bound);
		if (only)
			break;
	}
	printf("%u passed, %u failed, 0 skipped\n", passed, failed);
	return !!failed;
}
