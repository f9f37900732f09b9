// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a seed to a plan.  All that a seed does is decided here, before anything runs, so
 * that parts of it can be left out later.  Each kind of decision has a generator of its
 * own: what one option leaves out does not change the rest.
 */
#include <stdio.h>
#include <string.h>

#include "rig.h"

#define US		1000ULL
#define MS		1000000ULL
#define BLOCK		8u		/* sectors */

struct rng {
	__u64 state;
};

__u64 mix(__u64 x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static struct rng rng_of(__u64 seed, __u64 stream)
{
	return (struct rng){ mix(seed ^ mix(stream)) };
}

static __u64 below(struct rng *r, __u64 n)
{
	return mix(r->state++) % n;
}

static bool percent(struct rng *r, unsigned int p)
{
	return below(r, 100) < p;
}

#define PICK(r, ...) ({							\
	static const __u64 of_[] = { __VA_ARGS__ };			\
	of_[below(r, sizeof(of_) / sizeof(of_[0]))];			\
})

/* ---- features -------------------------------------------------------- */

static const struct {
	const char *name;
	unsigned int bit;
} features[] = {
	{ "controls", F_CONTROLS }, { "discard", F_DISCARD }, { "zeroes", F_ZEROES },
	{ "scribble", F_SCRIBBLE }, { "overlap", F_OVERLAP }, { "large", F_LARGE },
	{ "partial", F_PARTIAL }, { "recut", F_RECUT }, { "modes", F_MODES },
	{ "alone", F_ALONE }, { "fua", F_FUA }, { "flush", F_FLUSH }, { "format", F_FORMAT },
	{ "lbs", F_LBS }, { "reload", F_RELOAD }, { "writeback", F_WRITEBACK },
};

#define NR_FEATURES (sizeof(features) / sizeof(features[0]))

const char *feature_list(void)
{
	static char text[256];
	size_t i, n = 0;

	for (i = 0; i < NR_FEATURES; i++)
		n += snprintf(text + n, sizeof(text) - n, "%s%s", i ? "," : "",
			      features[i].name);
	return text;
}

/* Words with commas between them.  Return: 0, or -1 for one that is not known. */
int feature_parse(const char *words, unsigned int *mask)
{
	size_t i, len;

	while (*words) {
		len = strcspn(words, ",");
		for (i = 0; i < NR_FEATURES; i++)
			if (strlen(features[i].name) == len &&
			    !memcmp(features[i].name, words, len))
				break;
		if (i == NR_FEATURES)
			return -1;
		*mask |= features[i].bit;
		words += len + (words[len] == ',');
	}
	return 0;
}

/* ---- devices --------------------------------------------------------- */

static void plan_devices(struct plan *p, struct rng *r, const struct target *t,
			 const struct options *o)
{
	struct device_plan *f = &p->fast, *s = &p->slow;
	static const struct {
		unsigned int fast, slow;
	} lbs[] = { { 512, 512 }, { 512, 512 }, { 512, 4096 }, { 4096, 4096 } };
	unsigned int l = below(r, 4);

	if (o->without & F_LBS || (t->lbs && lbs[l].fast != lbs[l].slow))
		l = 0;
	f->lbs = lbs[l].fast;
	s->lbs = lbs[l].slow;
	f->is_volatile = o->fast_volatile < 0 ? below(r, 2) : (unsigned int)o->fast_volatile;
	s->is_volatile = o->slow_volatile < 0 ? percent(r, 70) : (unsigned int)o->slow_volatile;
	s->discard = percent(r, 50);

	/* mostly as small as it can be */
	f->kb = t->fast_kb + 4 * below(r, percent(r, 80) ? 24 : 1 + t->fast_more_kb / 4);
	/* a last block that is not whole, if sectors are small */
	s->kb = 1100 + below(r, 1000);
	if (s->lbs == 4096 || t->lbs == 4096 || percent(r, 50))
		s->kb &= ~3u;

	f->read_ns = PICK(r, 8 * US, 10 * US, 15 * US);
	f->write_ns = PICK(r, 5 * US, 10 * US, 20 * US, 60 * US);
	f->flush_ns = PICK(r, 1 * US, 10 * US, 200 * US);
	f->jitter_ns = PICK(r, 0, 0, 3 * US, 30 * US, 300 * US);
	f->channels = PICK(r, 1, 4, 8, 32);
	s->read_ns = PICK(r, 100 * US, 1 * MS, 4 * MS);
	s->write_ns = PICK(r, 30 * US, 500 * US, 3 * MS);
	s->flush_ns = PICK(r, 20 * US, 1 * MS, 8 * MS);
	s->jitter_ns = PICK(r, 0, 100 * US, 2 * MS, 10 * MS);
	s->channels = PICK(r, 1, 4, 16);
}

/* ---- ops ------------------------------------------------------------- */

/* How the load of one round is made up; per cent of the ops. */
struct taste {
	unsigned int write, flush, fua, preflush, discard, zeroes, scribble;
	unsigned int large, partial, hot, control;
	__u64 gap_ns;
	unsigned int hot_start, hot_span;
	bool overlap;
};

static struct taste taste_of(struct rng *r, const struct plan *p, const struct options *o)
{
	unsigned int span = p->sectors;
	struct taste t = {
		.write = PICK(r, 40, 60, 75, 90),
		.flush = PICK(r, 0, 1, 4, 10),
		.fua = PICK(r, 0, 5, 30, 80),
		.preflush = PICK(r, 0, 5, 20),
		.discard = PICK(r, 0, 2, 6),
		.zeroes = PICK(r, 0, 2, 6),
		.scribble = PICK(r, 0, 10, 50),
		.large = PICK(r, 0, 2, 6),
		.partial = PICK(r, 0, 20, 50),
		.hot = PICK(r, 0, 50, 90),
		.control = PICK(r, 0, 0, 2, 4),
		.gap_ns = PICK(r, 1 * US, 10 * US, 50 * US, 500 * US),
		.overlap = true,
	};

	t.hot_span = span / PICK(r, 4, 8, 32);
	t.hot_start = below(r, span - t.hot_span);
	if (o->without & F_FLUSH) {
		t.flush = 0;
		t.preflush = 0;
	}
	if (o->without & F_FUA)
		t.fua = 0;
	if (o->without & F_DISCARD)
		t.discard = 0;
	if (o->without & F_ZEROES)
		t.zeroes = 0;
	if (o->without & F_SCRIBBLE)
		t.scribble = 0;
	if (o->without & F_LARGE)
		t.large = 0;
	if (o->without & F_PARTIAL)
		t.partial = 0;
	if (o->without & F_CONTROLS)
		t.control = 0;
	return t;
}

static void choose_place(struct cut_op *op, struct rng *r, const struct plan *p,
			 const struct taste *t)
{
	unsigned int span = p->sectors, lbs = p->lbs / 512;
	bool hot = percent(r, t->hot);
	unsigned int at = hot ? t->hot_start + below(r, t->hot_span) : below(r, span);
	unsigned int n = BLOCK;

	if (percent(r, t->large)) {
		n = 1 + below(r, percent(r, 30) ? CUT_IO_SECTORS : 256);
	} else if (percent(r, t->partial)) {
		n = 1 + below(r, percent(r, 70) ? BLOCK : 4 * BLOCK);
	} else {
		at -= at % BLOCK;
		n = BLOCK * (1 + (percent(r, 25) ? below(r, 16) : 0));
	}
	at -= at % lbs;
	n = (n + lbs - 1) / lbs * lbs;
	if (at + n > span)
		n = span - at;
	op->sector = at;
	op->sectors = n;
}

static unsigned int mode_of(struct rng *r)
{
	return PICK(r, 0, 0, 0, 1, 1, 2, 3);
}

static void choose_control(struct cut_op *op, struct rng *r, const struct options *o)
{
	op->kind = CUT_CONTROL;
	op->control = below(r, NR_CONTROLS);
	switch (op->control) {
	case C_MODE_MESSAGE:
	case C_MODE_SYSFS:
	case C_RELOAD:
		op->arg = mode_of(r);
		break;
	case C_DELAY:
		op->arg = PICK(r, 0, 0, 1, 5);
		break;
	case C_CUTOFF:
		op->arg = PICK(r, 0, 1, 4, 64);
		break;
	case C_HIGH:
		op->arg = PICK(r, 1, 10, 50, 95);
		break;
	case C_RESTART:
	case C_DETACH:
	case C_REFORMAT:
		op->flags = CUT_ALONE;
		break;
	}
	if ((o->without & F_MODES && (op->control == C_MODE_MESSAGE ||
				      op->control == C_MODE_SYSFS)) ||
	    (o->without & F_MODES && op->control == C_RELOAD && op->arg) ||
	    (o->without & F_RELOAD && (op->control == C_RELOAD || op->control == C_SUSPEND)) ||
	    (o->without & F_ALONE && op->flags & CUT_ALONE) ||
	    (o->without & F_WRITEBACK && (op->control == C_FLUSH || op->control == C_HIGH ||
					  op->control == C_DELAY))) {
		op->control = C_DROP;
		op->flags = 0;
	}
	/* the rare ones take long */
	if (op->control == C_REFORMAT && !percent(r, 40)) {
		op->control = C_RESTART;
		op->arg = 0;
	}
}

static void choose_op(struct cut_op *op, struct rng *r, const struct plan *p,
		      const struct taste *t, const struct options *o)
{
	if (percent(r, t->control)) {
		choose_control(op, r, o);
		return;
	}
	if (percent(r, t->flush)) {
		op->kind = CUT_FLUSH;
		return;
	}
	choose_place(op, r, p, t);
	if (percent(r, t->discard)) {
		op->kind = CUT_DISCARD;
		return;
	}
	if (!percent(r, t->write)) {
		op->kind = CUT_READ;
		return;
	}
	op->kind = percent(r, t->zeroes) ? CUT_ZEROES : CUT_WRITE;
	if (percent(r, t->fua))
		op->flags |= CUT_FUA;
	if (percent(r, t->preflush))
		op->flags |= CUT_PREFLUSH;
	if (op->kind == CUT_WRITE && percent(r, t->scribble))
		op->flags |= CUT_SCRIBBLE;
}

static __u64 gap(struct rng *r, const struct taste *t)
{
	if (percent(r, 2))
		return (1 + below(r, 30)) * MS;
	if (percent(r, 1))
		return PICK(r, 100 * MS, 300 * MS, 1300 * MS);
	return below(r, 2 * t->gap_ns);
}

/* ---- rounds ---------------------------------------------------------- */

static struct cut_plan cut_within(struct rng *r, unsigned int ios)
{
	struct cut_plan c = { .after_ios = 1 + below(r, ios) };

	if (percent(r, 60))
		c.delay_ns = below(r, PICK(r, 10 * US, 100 * US, 3 * MS));
	return c;
}

static struct cut_plan cut_soon(struct rng *r)
{
	return (struct cut_plan){
		.delay_ns = 1 + below(r, PICK(r, 50 * US, 1 * MS, 20 * MS)),
	};
}

static void plan_round(struct plan *p, struct round_plan *round, struct rng *r,
		       const struct options *o)
{
	struct taste taste = taste_of(r, p, o);
	__u64 at = 0;
	unsigned int i;

	round->nr = 20 + below(r, PICK(r, 40, 120, 280));
	round->depth = o->without & F_OVERLAP ? 1 : PICK(r, 1, 4, 16, 32);
	round->chunk = PICK(r, 8, 64, 256, 2048);
	for (i = 0; i < round->nr; i++) {
		struct cut_op *op = &round->op[i];

		at += gap(r, &taste);
		op->at_ns = at;
		op->id = p->next_id++;
		choose_op(op, r, p, &taste, o);
	}
	round->cut = cut_within(r, round->nr * 2);
	/* in the stop or the start at the end; or in order, when all is done */
	if (percent(r, 15) && !(o->without & F_ALONE)) {
		round->cut_later = true;
		round->op[round->nr - 1] = (struct cut_op){
			.at_ns = at, .id = p->next_id - 1, .kind = CUT_CONTROL,
			.control = C_RESTART, .flags = CUT_ALONE, .arg = 1 + below(r, 40),
		};
	} else if (percent(r, 12)) {
		round->cut = (struct cut_plan){ 0 };
	}
	if (!(o->without & F_RECUT) && percent(r, 25))
		round->nr_recuts = 1 + below(r, MAX_RECUTS);
	for (i = 0; i < round->nr_recuts; i++)
		round->recut[i] = cut_soon(r);
	round->look = percent(r, 80);
}

void plan_make(struct plan *p, __u64 seed, const struct target *t, const struct options *o)
{
	struct rng r = rng_of(seed, 1);
	unsigned int i;

	memset(p, 0, sizeof(*p));
	p->seed = seed;
	p->next_id = CUT_FIRST_ID;
	plan_devices(p, &r, t, o);
	p->sectors = p->slow.kb * 2 - t->offset;
	p->lbs = t->lbs > p->slow.lbs ? t->lbs : p->slow.lbs;
	/* a last block that is not whole cannot be reached then */
	p->sectors -= p->sectors % (p->lbs / 512);
	r = rng_of(seed, 2);
	p->mode = o->without & F_MODES ? 0 : mode_of(&r);
	p->delay = o->without & F_WRITEBACK ? 3600 : PICK(&r, 0, 0, 1, 5);
	p->cutoff = PICK(&r, 0, 16, 64, 1024);
	if (!(o->without & F_FORMAT) && percent(&r, 10))
		p->format_cut = cut_within(&r, 6);
	p->nr_rounds = PICK(&r, 1, 1, 2, 3);
	for (i = 0; i < p->nr_rounds; i++) {
		r = rng_of(seed, 100 + i);
		plan_round(p, &p->round[i], &r, o);
	}
}
