// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write-back: when dirty blocks go to the origin, in LBA order, in large writes.
 * copier.c does one batch.
 *
 * Always until nothing is dirty if the mode is not write-back or a flush was asked for;
 * above dirty_high whatever the disk is doing; above dirty_low what was not written for
 * writeback_delay seconds.  The hot marks of all slots are taken off once a delay, behind a
 * pass, so a block waits one to two delays; so does what was found dirty at the start, and
 * has no mark.  Nothing dirty: no timer, no wake-up.
 *
 * Everything here belongs to the one worker, except the request bits.
 */
#include "copier.h"
#include "io.h"

#include <linux/device-mapper.h>

#define OC_WB_PASSES	8		/* of one flush, over blocks that were busy */
#define OC_WB_PAUSE	(HZ / 10)	/* between batches while others use the origin */
#define OC_WB_ERROR_PAUSE	HZ	/* after errors; twice as long each time nothing moves */
#define OC_WB_ERROR_PAUSE_MAX	(60 * HZ)

/* oc_writeback.request */
#define OC_WB_FLUSH	0
#define OC_WB_CANCEL	1
#define OC_WB_URGENT	2		/* the worker is called to come at once */
#define OC_WB_RULES	3		/* the options have changed */

struct oc_writeback {
	struct oc_core *core;
	struct delayed_work work;
	unsigned long request;
	bool flushing;
	bool errors;			/* of this flush */
	bool stopped;
	u64 left;			/* what the last flush could not bring to the origin */
	unsigned int passes;
	unsigned long error_pause;	/* jiffies */
	unsigned long cooled;		/* jiffies of the last ager round */
	u64 foreground;			/* origin I/O of others at the last batch */
	struct oc_copier copier;
};

static u64 percent_of(const struct oc_core *core, unsigned int opt)
{
	return div_u64((u64)core->slots.nr * core->options.value[opt], 100);
}

static u64 nr_dirty(const struct oc_core *core)
{
	return atomic64_read(&core->slots.nr_dirty);
}

static bool draining(const struct oc_core *core)
{
	return core->writeback->flushing || core->mode != OPTCACHE_MODE_WRITEBACK;
}

static void cool(struct oc_writeback *wb, unsigned long delay)
{
	struct oc_slots *s = &wb->core->slots;
	u32 g;

	if (time_before(jiffies, wb->cooled + delay))
		return;
	wb->cooled = jiffies;
	for (g = 0; g < s->nr_groups; g++) {
		if (atomic_read(&s->group_dirty[g]))
			oc_slots_cool(s, g);
		cond_resched();
	}
}

static void end_flush(struct oc_writeback *wb, bool complete)
{
	/* a failed cache cannot call blocks clean; what was copied is on the origin all the same */
	wb->left = complete && !wb->errors ? 0 : nr_dirty(wb->core);
	wb->flushing = false;
	oc_core_event(wb->core);
}

/* The end of a pass over all dirty blocks.  Return: jiffies until the next. */
static unsigned long end_pass(struct oc_writeback *wb, bool force, unsigned long delay)
{
	struct oc_copier *cp = &wb->copier;
	bool busy = cp->skipped, moved = cp->cleaned;

	cp->skipped = 0;
	cp->cleaned = 0;
	/* busy blocks are tried again, but not on a device that fails */
	if (wb->flushing && !(busy && !wb->errors && ++wb->passes < OC_WB_PASSES))
		end_flush(wb, !busy);
	if (!force)
		return delay;
	return moved ? 0 : HZ / 10;
}

static void take_requests(struct oc_writeback *wb)
{
	if (test_and_clear_bit(OC_WB_CANCEL, &wb->request) && wb->flushing)
		end_flush(wb, false);
	if (test_and_clear_bit(OC_WB_FLUSH, &wb->request)) {
		wb->flushing = true;
		wb->errors = false;
		wb->passes = 0;
		oc_copier_rewind(&wb->copier);
	}
}

/* Bad blocks are read again by a drain, but not for ever every second. */
static unsigned long after_error(struct oc_writeback *wb, bool moved)
{
	wb->error_pause = moved ? OC_WB_ERROR_PAUSE :
			  clamp_t(unsigned long, 2 * wb->error_pause, OC_WB_ERROR_PAUSE,
				  OC_WB_ERROR_PAUSE_MAX);
	return wb->error_pause;
}

/* Do others use the origin?  Then leave it to them for a while. */
static bool others_active(struct oc_writeback *wb)
{
	struct oc_core *core = wb->core;
	u64 now = oc_stat_sum(core, OC_STAT_read_misses) +
		  oc_stat_sum(core, OC_STAT_write_bypass) +
		  oc_stat_sum(core, OC_STAT_write_through);
	bool active = now != wb->foreground;

	wb->foreground = now;
	return active;
}

static void again(struct oc_writeback *wb, unsigned long delay)
{
	if (READ_ONCE(wb->stopped))
		return;
	/* a later time must not replace a call that came meanwhile */
	if (delay)
		queue_delayed_work(wb->core->wb_wq, &wb->work, delay);
	else
		mod_delayed_work(wb->core->wb_wq, &wb->work, 0);
}

static void writeback_work(struct work_struct *work)
{
	struct oc_writeback *wb = container_of(to_delayed_work(work), struct oc_writeback, work);
	struct oc_core *core = wb->core;
	unsigned long delay = max_t(unsigned long, 1,
		core->options.value[OPTCACHE_OPT_WRITEBACK_DELAY] * HZ);
	bool full, force, rules;
	u64 cleaned;
	int r;

	clear_bit(OC_WB_URGENT, &wb->request);
	rules = test_and_clear_bit(OC_WB_RULES, &wb->request);
	if (READ_ONCE(wb->stopped) || !READ_ONCE(core->armed))
		return;
	take_requests(wb);
	full = nr_dirty(core) > percent_of(core, OPTCACHE_OPT_DIRTY_HIGH);
	force = draining(core) || full;
	if (!force && nr_dirty(core) <= percent_of(core, OPTCACHE_OPT_DIRTY_LOW))
		return;
	if (!nr_dirty(core)) {
		if (wb->flushing)
			end_flush(wb, true);
		return;
	}
	if (oc_failed(core) && !wb->flushing)
		return;		/* it could not call them clean: on request only */
	if (rules && !force) {
		again(wb, delay);
		return;
	}
	cleaned = wb->copier.cleaned;
	r = oc_copier_batch(&wb->copier, force, draining(core));
	switch (r) {
	case -EAGAIN:
		/* behind the pass: what has just lost its mark waits for the next */
		cool(wb, delay);
		again(wb, end_pass(wb, force, delay));
		break;
	case -ENOSPC:
		oc_checkpoint_kick(core);
		again(wb, 1);
		break;
	default:
		wb->errors |= r < 0;
		if (r > 0)
			wb->error_pause = 0;
		if (r >= 0)
			again(wb, !force && others_active(wb) ? OC_WB_PAUSE : 0);
		else	/* the bad blocks are behind the cursor now; a flush ends with the pass */
			again(wb, wb->flushing ? 1 :
				  after_error(wb, wb->copier.cleaned != cleaned));
	}
}

void oc_writeback_kick(struct oc_core *core)
{
	struct oc_writeback *wb = core->writeback;

	if (READ_ONCE(wb->stopped))
		return;
	if (core->mode != OPTCACHE_MODE_WRITEBACK ||
	    nr_dirty(core) > percent_of(core, OPTCACHE_OPT_DIRTY_HIGH)) {
		if (!test_and_set_bit(OC_WB_URGENT, &wb->request))
			mod_delayed_work(core->wb_wq, &wb->work, 0);
	} else if (!delayed_work_pending(&wb->work)) {
		queue_delayed_work(core->wb_wq, &wb->work,
				   core->options.value[OPTCACHE_OPT_WRITEBACK_DELAY] * HZ);
	}
}

void oc_writeback_hurry(struct oc_core *core)
{
	again(core->writeback, 0);
}

void oc_writeback_rules(struct oc_core *core)
{
	set_bit(OC_WB_RULES, &core->writeback->request);
	again(core->writeback, 0);
}

void oc_writeback_flush(struct oc_core *core)
{
	set_bit(OC_WB_FLUSH, &core->writeback->request);
	again(core->writeback, 0);
}

void oc_writeback_cancel(struct oc_core *core)
{
	set_bit(OC_WB_CANCEL, &core->writeback->request);
	again(core->writeback, 0);
}

bool oc_writeback_flushing(struct oc_core *core, u64 *left)
{
	struct oc_writeback *wb = core->writeback;

	bool flushing = READ_ONCE(wb->flushing) || test_bit(OC_WB_FLUSH, &wb->request);

	*left = flushing ? nr_dirty(core) : wb->left;
	return flushing;
}

/* ---- life cycle ------------------------------------------------------ */

void oc_writeback_start(struct oc_core *core)
{
	struct oc_writeback *wb = core->writeback;

	/* the run that this bit called for was cancelled by the stop */
	clear_bit(OC_WB_URGENT, &wb->request);
	wb->stopped = false;
	again(wb, 0);
}

void oc_writeback_stop(struct oc_core *core)
{
	WRITE_ONCE(core->writeback->stopped, true);
	cancel_delayed_work_sync(&core->writeback->work);
}

int oc_writeback_init(struct oc_core *core)
{
	struct oc_writeback *wb;

	wb = kvzalloc(sizeof(*wb), GFP_KERNEL);
	if (!wb)
		return -ENOMEM;
	core->writeback = wb;
	wb->core = core;
	wb->stopped = true;
	wb->cooled = jiffies;
	INIT_DELAYED_WORK(&wb->work, writeback_work);
	return oc_copier_init(&wb->copier, core);
}

void oc_writeback_exit(struct oc_core *core)
{
	struct oc_writeback *wb = core->writeback;

	if (!wb)
		return;
	cancel_delayed_work_sync(&wb->work);
	oc_copier_exit(&wb->copier);
	kvfree(wb);
	core->writeback = NULL;
}

size_t oc_writeback_bytes(const struct oc_core *core)
{
	const struct oc_writeback *wb = core->writeback;

	return wb ? sizeof(*wb) + oc_copier_bytes(&wb->copier) : 0;
}
