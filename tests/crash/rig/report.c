// SPDX-License-Identifier: GPL-2.0-only
/* One line a seed for the host, and what a person wants to know about a bad one. */
#include <stdio.h>
#include <string.h>

#include "rig.h"

static const char *const bad_name[CUT_NR_BAD] = {
	"lost", "stale", "foreign", "unstable", "errors",
};

static const char *const pass_name[] = { "first look", "second look", "bare origin", "count" };

static const char *const control_name[NR_CONTROLS] = {
	"mode by message", "mode by sysfs", "reload, mode", "suspend, resume",
	"writeback_delay", "seq_cutoff x16", "dirty_high", "flush", "cancel-flush",
	"drop-clean", "stop, start; cut", "detach, attach", "detach, format, attach",
};

/* "S seed cuts=N lost=N ... hash=H", and the first trouble that is no sector's. */
void report_line(__u64 seed, const struct outcome *out)
{
	unsigned int i;

	printf("S %llu cuts=%u", seed, out->cuts);
	for (i = 0; i < CUT_NR_BAD; i++)
		printf(" %s=%llu", bad_name[i], out->bad[i]);
	printf(" inexact_dirty=%u recovery_failed=%u hash=%016llx", out->inexact_dirty,
	       out->recovery_failed, out->hash);
	printf(out->why[0] ? " why: %s\n" : "\n", out->why);
	flush_out();
}

static const char *value_name(__u32 value, char text[32])
{
	static const char *const variant[] = { "", "'", "*", "?" };

	if (value == 0)
		return "zeroes";
	if (value == ~0u)
		return "garbage";
	if (value == ~0u - 1)
		return "anything earlier";
	if (value >> 2 == CUT_BASE_ID)
		return "base";
	snprintf(text, 32, "%u%s", value >> 2, variant[value & 3]);
	return text;
}

static void report_finding(const struct cut_finding *f)
{
	char text[32];
	unsigned int i;

	printf("  %s: sector %u (block %u.%u) has %s", bad_name[f->bad], f->sector,
	       f->sector / 8, f->sector % 8, value_name(f->got, text));
	if (f->got == ~0u && f->got_sector != ~0u)
		printf(" of sector %u", f->got_sector);
	printf(", legal:");
	for (i = 0; i < f->nr; i++)
		printf(" %s", value_name(f->legal[i], text));
	printf("; %s, %.3f ms\n",
	       f->pass == ~0u ? "a read of the load" : pass_name[f->pass], f->at_ns / 1e6);
}

void report_findings(const struct outcome *out)
{
	unsigned int i;

	for (i = 0; i < out->nr_findings; i++)
		report_finding(&out->finding[i]);
}

static void report_device(const char *name, const struct device_plan *d)
{
	printf("  %s: %u KiB, %u-byte sectors, %svolatile%s, read %.0f us, write %.0f us, flush %.0f us, jitter %.0f us, %u channels\n",
	       name, d->kb, d->lbs, d->is_volatile ? "" : "not ", d->discard ? ", discard" : "",
	       d->read_ns / 1e3, d->write_ns / 1e3, d->flush_ns / 1e3, d->jitter_ns / 1e3,
	       d->channels);
}

static void report_op(const struct cut_op *op, const struct cut_trace *t)
{
	static const char *const kind[] = { "read", "write", "flush", "discard", "zeroes" };

	if (op->kind == CUT_CONTROL) {
		printf("  %10.3f ms        control: %s %u\n", op->at_ns / 1e6,
		       control_name[op->control], op->arg);
		return;
	}
	printf("  %10.3f ms %5u  %-7s", t->sent_ns / 1e6, op->id, kind[op->kind]);
	if (op->kind != CUT_FLUSH)
		printf(" %5u +%-4u", op->sector, op->sectors);
	printf("%s%s%s", op->flags & CUT_FUA ? " FUA" : "",
	       op->flags & CUT_PREFLUSH ? " PREFLUSH" : "",
	       op->flags & CUT_SCRIBBLE ? " scribbled" : "");
	if (t->status == 1)
		printf("  not sent\n");
	else if (t->status == 2)
		printf("  not acknowledged\n");
	else
		printf("  %s at %.3f\n", t->status ? "failed" : "done", t->done_ns / 1e6);
}

static void report_cut(const struct cut_plan *c, __u64 cut_ns)
{
	if (cut_ns)
		printf("  %10.3f ms        POWER CUT\n", cut_ns / 1e6);
	else
		printf("  at the end           POWER CUT (planned: write %llu + %llu ns)\n",
		       c->after_ios, c->delay_ns);
}

void report_plan(const struct plan *p, const bool *skip, const struct outcome *out)
{
	static struct cut_trace trace[CUT_MAX_OPS];
	struct cut_traces t = { .buf = (uintptr_t)trace, .max = CUT_MAX_OPS };
	unsigned int i, k;

	labcut(CUT_IOC_TRACES, &t);
	report_device("fast", &p->fast);
	report_device("slow", &p->slow);
	printf("  mode %u, writeback_delay %u, seq_cutoff %u%s\n", p->mode, p->delay, p->cutoff,
	       p->format_cut.after_ios ? ", cut while formatting" : "");
	for (i = 0; i < p->nr_rounds; i++) {
		const struct round_plan *r = &p->round[i];

		printf("  round %u: depth %u, %u cuts in recovery%s\n", i, r->depth, r->nr_recuts,
		       r->look ? "" : ", not looked at");
		for (k = 0; k < r->nr; k++)
			if (!skip || !skip[r->op[k].id])
				report_op(&r->op[k], &trace[r->op[k].id]);
		report_cut(&r->cut, out->cut_ns[i]);
	}
	flush_out();
}
