// SPDX-License-Identifier: GPL-2.0-only
/* Strategies; see explore.h. */
#include "explore.h"

#include <ctype.h>

/* ---- the schedule of the last run ------------------------------------ */

static u8 choice[IL_MAX_STEPS + 2];
static unsigned int nr_choices;

static int chosen(int next)
{
	if (next >= 0)
		choice[nr_choices++] = next;
	return next;
}

const char *explore_schedule(void)
{
	static char text[IL_MAX_STEPS * 4];
	unsigned int i, n;
	char *p = text;

	*p = '\0';
	for (i = 0; i < nr_choices; i += n) {
		for (n = 1; i + n < nr_choices && choice[i + n] == choice[i];)
			n++;
		p += sprintf(p, "%s%u", i ? "," : "", choice[i]);
		if (n > 1)
			p += sprintf(p, "*%u", n);
	}
	return text;
}

static int lowest(unsigned int set)
{
	return __builtin_ctz(set);
}

static bool has(unsigned int set, int thread)
{
	return thread >= 0 && set & 1U << thread;
}

/* ---- states that have been seen -------------------------------------- */

static u64 *seen;		/* a hash table; 0: nothing */
static u64 seen_size, nr_seen;

static void forget_all(void)
{
	free(seen);
	seen_size = 1 << 12;
	nr_seen = 0;
	seen = calloc(seen_size, sizeof(*seen));
}

/* Where @state is, or would be. */
static u64 *find(u64 state)
{
	u64 i = state & (seen_size - 1);

	while (seen[i] && seen[i] != state)
		i = (i + 1) & (seen_size - 1);
	return &seen[i];
}

static void make_room(void)
{
	u64 *old = seen, size = seen_size, i;

	seen_size *= 2;
	seen = calloc(seen_size, sizeof(*seen));
	if (!seen) {
		fprintf(stderr, "interleave: no memory for %llu states\n",
			(unsigned long long)nr_seen);
		exit(2);
	}
	for (i = 0; i < size; i++)
		if (old[i])
			*find(old[i]) = old[i];
	free(old);
}

/* Return: it is new. */
static bool see(u64 state)
{
	u64 *place;

	if (nr_seen * 2 >= seen_size)
		make_room();
	place = find(state ?: 1);
	if (*place)
		return false;
	*place = state ?: 1;
	nr_seen++;
	return true;
}

/* ---- all schedules --------------------------------------------------- */

struct frame {
	u8 todo;		/* threads not tried yet, a set */
	u8 chosen;
	unsigned int preemptions;	/* so far, without this choice */
};

struct search {
	struct il_driver driver;
	unsigned int bound;
	struct frame frame[IL_MAX_STEPS + 2];
	unsigned int nr, depth;
	unsigned int preemptions;
	unsigned int old;	/* frames whose step has been checked in an earlier run */
};

/* The state; with a bound, what is left of that makes a difference, too. */
static u64 state_of(const struct search *s, int last)
{
	u64 state = il_state();

	if (s->bound == IL_NO_BOUND)
		return state;
	return (state ^ (s->preemptions * IL_THREADS + last + 1)) * 0x9e3779b97f4a7c15ULL;
}

static int search_choose(struct il_driver *d, unsigned int enabled, int last, bool *known)
{
	struct search *s = (struct search *)d;
	struct frame *f = &s->frame[s->depth];

	if (s->depth == s->nr) {
		if (!see(state_of(s, last)))
			return -1;
		*f = (struct frame) { .todo = enabled };
		f->preemptions = s->preemptions;
		if (has(enabled, last)) {
			if (s->preemptions >= s->bound)
				f->todo = 1U << last;
			f->chosen = last;
		} else {
			f->chosen = lowest(enabled);
		}
		f->todo &= ~(1U << f->chosen);
		s->nr++;
	}
	*known = s->depth < s->old;
	s->preemptions = f->preemptions + (has(enabled, last) && f->chosen != last);
	s->depth++;
	return chosen(f->chosen);
}

/* On to the next schedule.  Return: there is one. */
static bool search_next(struct search *s)
{
	while (s->nr) {
		struct frame *f = &s->frame[s->nr - 1];

		if (f->todo) {
			f->chosen = lowest(f->todo);
			f->todo &= f->todo - 1;
			s->old = s->nr - 1;
			return true;
		}
		s->nr--;
	}
	return false;
}

struct explored explore_all(unsigned int bound, u64 max)
{
	static struct search s;
	struct explored e = { .failed = false };

	s.driver.choose = search_choose;
	s.bound = bound;
	s.nr = 0;
	s.old = 0;
	forget_all();
	do {
		nr_choices = 0;
		s.depth = 0;
		s.preemptions = 0;
		e.failed = il_run(&s.driver) == IL_FAILED;
		e.runs++;
		e.steps += il_steps();
		if (il_steps() > e.deepest)
			e.deepest = il_steps();
		e.unfinished = nr_seen > max;
	} while (!e.failed && !e.unfinished && search_next(&s));
	e.states = nr_seen;
	return e;
}

/* ---- seeded ---------------------------------------------------------- */

/*
 * Two kinds in turn.  Restless: whoever runs is preempted with a certain probability.  By
 * priority: the highest goes on as long as it can; at a few random steps whoever runs falls
 * behind all others.  The second finds what needs few preemptions, far apart.
 */
struct seeded {
	struct il_driver driver;
	u64 random;
	bool by_priority;
	unsigned int odds;		/* restless: one in so many */
	unsigned int priority[IL_THREADS];
	unsigned int step, fall[3];
	unsigned int lowest_priority;
	bool covers;			/* every state must have been seen */
};

static unsigned int below(struct seeded *s, unsigned int n)
{
	s->random = s->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned int)(s->random >> 33) % n;
}

static int any_of(struct seeded *s, unsigned int set)
{
	unsigned int n = below(s, __builtin_popcount(set));

	while (n--)
		set &= set - 1;
	return lowest(set);
}

static int highest(const struct seeded *s, unsigned int set)
{
	int best = lowest(set), i;

	for (i = best + 1; i < IL_THREADS; i++)
		if (has(set, i) && s->priority[i] > s->priority[best])
			best = i;
	return best;
}

static int seeded_choose(struct il_driver *d, unsigned int enabled, int last, bool *known)
{
	struct seeded *s = (struct seeded *)d;
	unsigned int i;

	(void)known;
	if (s->covers && !*find(il_state() ?: 1))
		return -1;
	if (!s->by_priority) {
		if (has(enabled, last) && below(s, s->odds))
			return chosen(last);
		return chosen(any_of(s, enabled));
	}
	for (i = 0; i < ARRAY_SIZE(s->fall); i++)
		if (s->fall[i] == s->step && last >= 0)
			s->priority[last] = s->lowest_priority--;
	s->step++;
	return chosen(highest(s, enabled));
}

static void seed(struct seeded *s, u64 number)
{
	unsigned int i;

	*s = (struct seeded) { .driver.choose = seeded_choose };
	s->random = number * 0x9e3779b97f4a7c15ULL;
	s->by_priority = below(s, 2);
	s->odds = 1 << below(s, 6);
	s->lowest_priority = IL_THREADS;
	for (i = 0; i < IL_THREADS; i++)
		s->priority[i] = IL_THREADS + 1 + below(s, 1000);
	for (i = 0; i < ARRAY_SIZE(s->fall); i++)
		s->fall[i] = below(s, 1U << (4 + below(s, 8)));
}

struct explored explore_seed(u64 number)
{
	struct seeded s;
	struct explored e = { .runs = 1 };

	seed(&s, number);
	nr_choices = 0;
	e.failed = il_run(&s.driver) == IL_FAILED;
	e.steps = il_steps();
	e.deepest = il_steps();
	return e;
}

bool explore_covered(u64 nr)
{
	struct seeded s;
	u64 number;

	for (number = 1; number <= nr; number++) {
		seed(&s, number);
		s.covers = true;
		nr_choices = 0;
		if (il_run(&s.driver) == IL_CUT)
			return false;
	}
	return true;
}

/* ---- a given one ----------------------------------------------------- */

struct replay {
	struct il_driver driver;
	const char *rest;	/* of the schedule */
	unsigned long thread, times;
	bool wrong;
};

/* The next group of a schedule, "thread[*times]". */
static bool next_group(struct replay *r)
{
	char *end;

	if (!isdigit((unsigned char)*r->rest))
		return false;
	r->thread = strtoul(r->rest, &end, 10);
	r->times = 1;
	if (*end == '*')
		r->times = strtoul(end + 1, &end, 10);
	if (*end == ',')
		end++;
	else if (*end)
		return false;
	r->rest = end;
	return r->thread < IL_THREADS && r->times;
}

static int replay_choose(struct il_driver *d, unsigned int enabled, int last, bool *known)
{
	struct replay *r = (struct replay *)d;

	(void)known;
	if (!r->times && !*r->rest)
		return chosen(has(enabled, last) ? last : lowest(enabled));
	if ((!r->times && !next_group(r)) || !has(enabled, r->thread)) {
		r->wrong = true;
		return -1;
	}
	r->times--;
	return chosen(r->thread);
}

enum il_result explore_replay(const char *schedule)
{
	struct replay r = {
		.driver = { .choose = replay_choose, .trace = true }, .rest = schedule,
	};

	nr_choices = 0;
	return il_run(&r.driver);
}
