// SPDX-License-Identifier: GPL-2.0-only
/*
 * Leave out as many ops as can be, half of them first and one by one in the end.  The cut
 * then comes when it came in the whole plan, by the clock: counted writes would move it
 * with every op that goes.
 */
#include <stdio.h>
#include <string.h>

#include "rig.h"

#define MAX_PLAYS	600

struct shrinking {
	const struct target *t;
	struct plan *p;
	const struct options *o;
	const struct outcome *first;
	struct outcome out;
	bool skip[CUT_MAX_OPS];
	unsigned int plays;
};

/* The same columns are bad; and if it is no sector, the same thing is said. */
static bool alike(const struct outcome *a, const struct outcome *b)
{
	unsigned int i;

	for (i = 0; i < CUT_NR_BAD; i++)
		if (!a->bad[i] != !b->bad[i])
			return false;
	return !a->inexact_dirty == !b->inexact_dirty &&
	       !a->recovery_failed == !b->recovery_failed && !strncmp(a->why, b->why, 10);
}

static bool still_bad(struct shrinking *s)
{
	s->plays++;
	play(s->t, s->p, s->o, s->skip, &s->out);
	return alike(&s->out, s->first);
}

static void cut_by_clock(struct plan *p, const struct outcome *first)
{
	unsigned int i;

	for (i = 0; i < p->nr_rounds; i++)
		if (first->cut_ns[i] && !p->round[i].cut_later)
			p->round[i].cut = (struct cut_plan){ .delay_ns = first->cut_ns[i] };
}

/* Set @skip of up to @n ids from @from on.  Return: how many were not set before. */
static unsigned int leave_out(struct shrinking *s, unsigned int from, unsigned int n, bool *was)
{
	unsigned int i, new = 0;

	memcpy(was, s->skip, sizeof(s->skip));
	for (i = from; i < from + n && i < s->p->next_id; i++) {
		new += !s->skip[i];
		s->skip[i] = true;
	}
	return new;
}

static bool pass(struct shrinking *s, unsigned int n)
{
	static bool was[CUT_MAX_OPS];
	bool smaller = false;
	unsigned int from;

	for (from = CUT_FIRST_ID; from < s->p->next_id && s->plays < MAX_PLAYS; from += n) {
		if (!leave_out(s, from, n, was))
			continue;
		if (still_bad(s))
			smaller = true;
		else
			memcpy(s->skip, was, sizeof(was));
	}
	return smaller;
}

void shrink(const struct target *t, struct plan *p, const struct options *o,
	    const struct outcome *first)
{
	static struct shrinking s;
	static struct plan whole;
	unsigned int n;

	s = (struct shrinking){ .t = t, .p = p, .o = o, .first = first };
	whole = *p;
	cut_by_clock(p, first);
	if (!still_bad(&s))
		*p = whole;
	for (n = (p->next_id + 1) / 2; n && s.plays < MAX_PLAYS; n /= 2)
		pass(&s, n);
	while (s.plays < MAX_PLAYS && pass(&s, 1))
		;
	if (!still_bad(&s)) {
		printf("  it does not fail the same way twice\n");
		return;
	}
	printf("SHRUNK %llu after %u plays\n", p->seed, s.plays);
	report_findings(&s.out);
	if (s.out.why[0])
		printf("  %s\n", s.out.why);
	report_plan(p, s.skip, &s.out);
}
