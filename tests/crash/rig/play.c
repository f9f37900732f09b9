// SPDX-License-Identifier: GPL-2.0-only
/*
 * A seed, played: make the devices, run each round into its cut, recover (and be cut in
 * that), look at everything, and in the end take the cache away and look at the origin.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rig.h"

#define MS		1000000ULL
#define SETTLE_TRIES	20

struct play {
	const struct target *t;
	struct plan *p;
	const struct options *o;
	const bool *skip;
	struct outcome *out;
	__u64 cuts;			/* before this round's */
	bool up;			/* the device under test is there */
	bool formatting;		/* there may be no superblock */
	bool over;			/* no use to go on */
};

static void fail(struct play *y, unsigned int *count, const char *fmt, ...)
{
	va_list ap;

	++*count;
	y->over = true;
	if (y->out->why[0])
		return;
	va_start(ap, fmt);
	vsnprintf(y->out->why, sizeof(y->out->why), fmt, ap);
	va_end(ap);
}

static __u64 cuts_now(void)
{
	struct cut_result r;

	labcut(CUT_IOC_RESULT, &r);
	return r.cuts;
}

/* Without power nothing has to go well. */
static bool power_gone(const struct play *y)
{
	return cuts_now() != y->cuts;
}

/* ---- devices --------------------------------------------------------- */

static void add_device(const char *name, const struct device_plan *d, __u64 seed)
{
	int ret = lab("add name=%s model=optane size_kb=%u lbs=%u volatile=%u discard=%u channels=%u read_ns=%llu write_ns=%llu flush_ns=%llu jitter_ns=%llu read_mbps=1000 write_mbps=1000 read_4k_ns=0 write_4k_ns=0 seed=%llu",
		      name, d->kb, d->lbs, d->is_volatile, d->discard, d->channels,
		      d->read_ns, d->write_ns,
		      d->flush_ns, d->jitter_ns,
		      seed);

	if (ret)
		die("labdev does not add %s: %s", name, strerror(-ret));
}

static void tell_lie(const char *lie)
{
	const char *colon = strchr(lie, ':');

	if (!colon || lab("lie %.*s about=%s", (int)(colon - lie), lie, colon + 1))
		die("labdev does not tell the lie %s", lie);
}

static void make_devices(struct play *y)
{
	struct plan *p = y->p;
	struct cut_new new = { .seed = p->seed, .sectors = p->sectors };
	char slow[CUT_PATH] = "/dev/slow";

	add_device("fast", &p->fast, mix(p->seed));
	add_device("slow", &p->slow, mix(p->seed + 1));
	if (labcut(CUT_IOC_NEW, &new))
		die("labcut does not begin");
	if (!y->t->offset && labcut(CUT_IOC_BASE, slow))
		die("the origin cannot be written");
	if (y->o->lie)
		tell_lie(y->o->lie);
	y->cuts = cuts_now();
}

static void drop_devices(void)
{
	lab("disarm");
	if (lab("del fast") || lab("del slow"))
		die("the devices are still in use");
}

/* ---- power ----------------------------------------------------------- */

static void arm(const struct play *y, const struct cut_plan *c, __u64 salt)
{
	lab("cut fast slow seed=%llu after_ios=%llu delay_ns=%llu",
	    mix(y->p->seed ^ salt << 32),
	    c->after_ios, c->delay_ns);
}

/* Now, unless it has come by itself. */
static void cut_now(struct play *y, __u64 salt)
{
	lab("disarm");
	if (!power_gone(y))
		lab("cut fast slow seed=%llu", mix(y->p->seed ^ salt << 32));
	y->out->cuts++;
}

static void power_on(struct play *y)
{
	int i, ret = -EBUSY;

	/* the last I/O of whoever was there fails within a millisecond */
	for (i = 0; i < 100 && ret; i++) {
		if (i)
			sleep_ns(1 * MS);
		ret = lab("restore fast slow");
	}
	if (ret)
		die("the devices do not come back");
	if (labcut(CUT_IOC_CRASHED, NULL))
		die("labcut is busy at a cut");
	y->cuts = cuts_now();
}

/* ---- the device under test ------------------------------------------- */

/* As a boot would: what the module remembers of caches that failed is forgotten. */
static void reload_module(struct play *y)
{
	int i, ret = -EAGAIN;

	/* somebody may just be on his way out of it */
	for (i = 0; i < 10 && ret == -EAGAIN; i++) {
		if (i)
			sleep_ns(10 * MS);
		ret = module_out(y->t->module);
	}
	if (ret || module_in(y->t->module))
		die("seed %llu: %s cannot be loaded again", y->p->seed, y->t->module);
}

/* Loading a module takes as long as the rest of a seed: only where it makes a difference. */
static int start(struct play *y, bool format)
{
	int ret = y->t->create(y->p, format);

	if (ret == -ESTALE && y->t->module) {
		reload_module(y);
		ret = y->t->create(y->p, format);
	}
	y->up = !ret;
	return ret;
}

static void stop(struct play *y)
{
	int ret = y->up ? y->t->destroy() : 0;

	if (ret)
		die("seed %llu: the device does not go: %s", y->p->seed, strerror(-ret));
	y->up = false;
}

static void start_or_fail(struct play *y, bool format, const char *when)
{
	int ret = start(y, format);

	if (ret)
		fail(y, &y->out->recovery_failed, "start %s: %s", when, strerror(-ret));
}

/* ---- looking --------------------------------------------------------- */

static unsigned int look(struct play *y, const char *path, enum cut_pass pass,
			 unsigned int chunk)
{
	struct cut_verify v = { .pass = pass, .chunk = chunk };
	int ret;

	snprintf(v.path, sizeof(v.path), "%s", path);
	ret = labcut(CUT_IOC_VERIFY, &v);
	if (ret && !power_gone(y))
		fail(y, &y->out->recovery_failed, "reading %s: %s", path, strerror(-ret));
	return v.differ;
}

/* What differs from the origin must be dirty. */
static void look_dirty(struct play *y)
{
	struct status st;
	unsigned int differ;

	if (!y->t->status || y->over)
		return;
	if (y->t->status(&st)) {
		fail(y, &y->out->recovery_failed, "no status after the recovery");
		return;
	}
	differ = look(y, "/dev/slow", CUT_PASS_COUNT, CUT_IO_SECTORS);
	if (differ > st.dirty)
		fail(y, &y->out->inexact_dirty, "%u blocks differ from the origin, %llu are dirty",
		     differ, st.dirty);
}

/* Return: the origin alone has everything. */
static bool write_back(struct play *y)
{
	int i, ret = -EAGAIN;

	if (!y->t->writeback)
		return false;
	for (i = 0; i < SETTLE_TRIES && ret == -EAGAIN; i++)
		ret = y->t->writeback();
	if (ret && !power_gone(y))
		fail(y, &y->out->recovery_failed, "write-back: %s", strerror(-ret));
	return !ret;
}

/* ---- controls -------------------------------------------------------- */

static void detach(struct play *y, const struct cut_op *op)
{
	bool format = op->control == C_REFORMAT, bare = false;
	int ret;

	if (op->control != C_RESTART) {
		bare = write_back(y);
		if (!bare && y->t->writeback)
			return;
	}
	stop(y);
	if (bare)
		look(y, "/dev/slow", CUT_PASS_BARE, CUT_IO_SECTORS);
	if (power_gone(y))
		return;
	y->formatting = format && y->t->wipe;
	if (y->formatting && y->t->wipe() && !power_gone(y))
		die("the cache device cannot be wiped");
	ret = start(y, y->formatting);
	if (!ret)
		y->formatting = false;
	else if (!power_gone(y))
		fail(y, &y->out->recovery_failed, "it does not come back after a stop");
}

/* By writes, or by half milliseconds. */
static void arm_restart(struct play *y, unsigned int arg, unsigned int round)
{
	struct cut_plan c = { .after_ios = arg };

	if (arg >= 30)
		c = (struct cut_plan){ .delay_ns = (arg - 29) * MS / 2 };
	arm(y, &c, round);
}

static void control(struct play *y, const struct cut_op *op, unsigned int round)
{
	int ret;

	if (op->flags & CUT_ALONE) {
		if (op->control == C_RESTART && op->arg)
			arm_restart(y, op->arg, round);
		detach(y, op);
		return;
	}
	ret = target_control(y->t, y->p, op);
	if (ret && ret != -EINVAL && !power_gone(y))
		fail(y, &y->out->recovery_failed, "control %u (%u): %s", op->control, op->arg,
		     strerror(-ret));
}

/* ---- rounds ---------------------------------------------------------- */

/* The ops of @round without those to be left out.  Return: how many. */
static unsigned int ops_of(const struct play *y, const struct round_plan *round,
			   struct cut_op *to)
{
	unsigned int i, n = 0;

	for (i = 0; i < round->nr; i++)
		if (!y->skip || !y->skip[round->op[i].id])
			to[n++] = round->op[i];
	return n;
}

static void load(struct play *y, const struct round_plan *round, unsigned int nr)
{
	static struct cut_op op[ROUND_OPS];
	struct cut_run run = { .ops = (uintptr_t)op, .depth = round->depth };
	struct cut_wait w;

	run.nr = ops_of(y, round, op);
	if (!run.nr)
		return;
	snprintf(run.path, sizeof(run.path), "%s", device_path);
	if (labcut(CUT_IOC_START, &run))
		die("labcut does not start");
	for (;;) {
		if (labcut(CUT_IOC_WAIT, &w))
			die("labcut does not wait");
		if (w.event == CUT_DONE)
			break;
		control(y, &op[w.index], nr);
		labcut(CUT_IOC_GO, NULL);
	}
	if (w.stuck)
		die("seed %llu: I/O does not come back", y->p->seed);
}

/* Once nothing is pending any more, the counts have to survive the cut. */
static bool settle(struct play *y, struct status *st)
{
	struct status next;
	int i;

	lab("disarm");
	if (!y->t->status || !y->up || y->over || power_gone(y))
		return false;
	for (i = 0; i < SETTLE_TRIES; i++) {
		if (flush_device(device_path) || y->t->status(st))
			return false;
		sleep_ns(100 * MS);
		if (y->t->status(&next))
			return false;
		if (!memcmp(st, &next, sizeof(next)) && !next.fresh)
			return true;
	}
	return false;
}

static void compare(struct play *y, const struct status *was)
{
	struct status now;

	if (y->t->status(&now)) {
		fail(y, &y->out->recovery_failed, "no status after the recovery");
		return;
	}
	if (now.dirty != was->dirty || now.mapped != was->mapped)
		fail(y, &y->out->inexact_dirty,
		     "%llu blocks dirty, %llu mapped before the cut; after it %llu, %llu",
		     was->dirty, was->mapped,
		     now.dirty, now.mapped);
}

static void recut(struct play *y, const struct cut_plan *c, unsigned int salt)
{
	arm(y, c, salt);
	start(y, false);
	if (!power_gone(y))
		sleep_ns(c->delay_ns);
	cut_now(y, salt);
	stop(y);
	power_on(y);
}

/* Play @round into its cut.  Return: @settled was filled in. */
static bool run_into_cut(struct play *y, unsigned int nr, struct status *settled)
{
	struct round_plan *round = &y->p->round[nr];
	struct cut_result r;
	bool exact = false;

	if (!round->cut_later && (round->cut.after_ios || round->cut.delay_ns))
		arm(y, &round->cut, nr);
	load(y, round, nr);
	/* one that goes by the clock comes in any case */
	if (!power_gone(y) && !round->cut_later && !round->cut.after_ios)
		sleep_ns(round->cut.delay_ns);
	labcut(CUT_IOC_RESULT, &r);
	if (!power_gone(y))
		exact = settle(y, settled);
	else
		y->out->cut_ns[nr] = r.cut_ns;
	cut_now(y, nr);
	stop(y);
	power_on(y);
	return exact;
}

static void after_cut(struct play *y, const struct round_plan *round)
{
	if (!round->look || y->over)
		return;
	look(y, device_path, CUT_PASS_FIRST, round->chunk);
	look_dirty(y);
	look(y, device_path, CUT_PASS_AGAIN, round->chunk);
}

/* If the power went while a cache was made there may be none, and the origin has everything. */
static void recover(struct play *y)
{
	bool format = y->formatting;

	y->formatting = false;
	if (format) {
		look(y, "/dev/slow", CUT_PASS_FIRST, CUT_IO_SECTORS);
		if (!start(y, false))
			return;
		if (y->t->wipe())
			die("the cache device cannot be wiped");
	}
	start_or_fail(y, format, format ? "after a cut in the format" : "after a cut");
}

static void play_round(struct play *y, unsigned int nr)
{
	const struct round_plan *round = &y->p->round[nr];
	struct status was;
	bool exact = run_into_cut(y, nr, &was);
	unsigned int i;

	if (y->over)
		return;
	for (i = 0; i < round->nr_recuts; i++)
		recut(y, &round->recut[i], 100 + nr * 10 + i);
	recover(y);
	if (y->over)
		return;
	if (exact)
		compare(y, &was);
	after_cut(y, round);
}

/* A first start that may be cut: then nothing is on the cache device yet. */
static void begin(struct play *y)
{
	struct plan *p = y->p;

	if (!p->format_cut.after_ios || !y->t->wipe) {
		start_or_fail(y, true, "for the first time");
		if (!y->over && y->t->offset && labcut(CUT_IOC_BASE, device_path))
			die("the device cannot be written");
		return;
	}
	y->formatting = true;
	arm(y, &p->format_cut, 99);
	start(y, true);
	cut_now(y, 99);
	stop(y);
	power_on(y);
	recover(y);
}

/* Everything again: with nothing clean in the cache, and without the cache. */
static void finish(struct play *y)
{
	struct cut_op drop = { .kind = CUT_CONTROL, .control = C_DROP };

	if (y->over)
		return;
	look(y, device_path, CUT_PASS_FIRST, 256);
	if (y->t->controls) {
		target_control(y->t, y->p, &drop);
		sleep_ns(20 * MS);
		look(y, device_path, CUT_PASS_AGAIN, 64);
	}
	if (y->over || !write_back(y))
		return;
	look(y, device_path, CUT_PASS_AGAIN, 256);
	stop(y);
	look(y, "/dev/slow", CUT_PASS_BARE, CUT_IO_SECTORS);
}

static void collect(struct play *y)
{
	struct cut_findings f = {
		.buf = (uintptr_t)y->out->finding, .max = 16,
	};
	struct cut_result r;

	labcut(CUT_IOC_RESULT, &r);
	memcpy(y->out->bad, r.bad, sizeof(r.bad));
	y->out->hash = r.hash;
	labcut(CUT_IOC_FINDINGS, &f);
	y->out->nr_findings = f.nr;
}

bool outcome_bad(const struct outcome *out)
{
	unsigned int i;

	for (i = 0; i < CUT_NR_BAD; i++)
		if (out->bad[i])
			return true;
	return out->inexact_dirty || out->recovery_failed;
}

void play(const struct target *t, struct plan *p, const struct options *o, const bool *skip,
	  struct outcome *out)
{
	struct play y = { .t = t, .p = p, .o = o, .skip = skip, .out = out };
	unsigned int i;

	memset(out, 0, sizeof(*out));
	align_clock();
	make_devices(&y);
	begin(&y);
	for (i = 0; i < p->nr_rounds && !y.over; i++)
		play_round(&y, i);
	finish(&y);
	stop(&y);
	collect(&y);
	drop_devices();
}
