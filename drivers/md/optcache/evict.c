// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eviction: keep a pool of free slots ready, so that a write never waits for one.
 * A slot is free only when the record that ends its old mapping is durable; the journal
 * frees it then.
 */
#include "core.h"
#include "trace.h"

#include <linux/device-mapper.h>

#define OC_EVICT_SCAN	65536	/* slots looked at in one go */
#define RUNS_ROOM	4	/* times free_high, in the hope of slots in a row */

/* End up to @nr of the mappings in @victim, for which credits are held. */
static u32 evict(struct oc_core *core, const oc_slot_t *victim, u32 nr)
{
	struct oc_journal *j = &core->journal;
	unsigned long flags;
	u32 i, done = 0;
	u64 was, word;

	oc_journal_lock(j, flags);
	for (i = 0; i < nr; i++) {
		word = oc_slot_read(&core->slots, victim[i]);
		if (!oc_word_current(word) || oc_word_state(word) == OC_FRESH ||
		    word & OC_WORD_DIRTY ||
		    !oc_slot_kill(&core->slots, victim[i], 0, &was))
			continue;
		oc_journal_unmap(j, victim[i], OC_WANTED);
		trace_optcache_evict(core, victim[i], was);
		done++;
	}
	oc_journal_unlock(j, flags);
	oc_journal_unreserve(j, nr - done);
	oc_count_add(core, evictions, done);
	return done;
}

/* A cache full of dirty blocks is not searched again and again. */
static bool any_clean(struct oc_core *core)
{
	return atomic64_read(&core->slots.nr_mapped) > atomic64_read(&core->slots.nr_dirty);
}

void oc_evict_work(struct work_struct *work)
{
	struct oc_core *core = container_of(work, struct oc_core, evict_work);
	struct oc_journal *j = &core->journal;
	oc_slot_t *victim = core->victim;
	u32 more = oc_slots_nr_free(&core->slots) + xchg(&core->run_wanted, 0);
	u32 target = clamp(more, core->free_high, RUNS_ROOM * core->free_high);
	u64 scanned = 0;
	u32 nr, got, ended = 0;

	while (oc_slots_nr_free(&core->slots) + ended < target &&
	       scanned < 4ULL * core->slots.nr && any_clean(core)) {
		got = oc_journal_reserve(j, 1, OC_EVICT_BATCH);
		if (!got) {
			oc_checkpoint_kick(core);
			return;
		}
		nr = oc_policy_victims(&core->policy, victim, got, OC_EVICT_SCAN);
		scanned += min(core->slots.nr, OC_EVICT_SCAN);
		oc_journal_unreserve(j, got - nr);
		ended += evict(core, victim, nr);
		cond_resched();
	}
	/* nothing clean left: only write-back makes room */
	if (!ended && atomic64_read(&core->slots.nr_dirty))
		oc_writeback_hurry(core);
	/* ... or what is known to memory only gets its record, and may go then */
	if (!ended && oc_fresh_waiting(core))
		oc_fresh_hurry(core);
}

/* Drop the clean ones of the next slots.  Return: false when the journal is full. */
static bool drop_some(struct oc_core *core)
{
	struct oc_journal *j = &core->journal;
	oc_slot_t slot[64];
	u32 nr, i;

	nr = min_t(u32, core->slots.nr - core->drop_next, ARRAY_SIZE(slot));
	nr = oc_journal_reserve(j, 1, nr);
	for (i = 0; i < nr; i++)
		slot[i] = to_slot(core->drop_next++);
	evict(core, slot, nr);
	cond_resched();
	return nr;
}

static bool drop_more(const struct oc_core *core)
{
	return core->drop_next < core->slots.nr && !oc_failed(core);
}

/*
 * Message drop-clean: every clean mapping goes.  Gives up the worker when the
 * journal is full and goes on after the checkpoint has made room.
 */
void oc_evict_all(struct oc_core *core)
{
	oc_core_arm(core);
	WRITE_ONCE(core->drop_next, 0);
	queue_delayed_work(core->bg_wq, &core->drop_work, 0);
}

void oc_drop_work(struct work_struct *work)
{
	struct oc_core *core = container_of(to_delayed_work(work), struct oc_core, drop_work);

	while (drop_more(core)) {
		if (drop_some(core))
			continue;
		oc_checkpoint_kick(core);
		queue_delayed_work(core->bg_wq, &core->drop_work, 1);
		return;
	}
}

int oc_evict_stale(struct oc_core *core)
{
	oc_core_arm(core);	/* and the superblock says what is going on */
	core->drop_next = 0;
	while (drop_more(core))
		if (!drop_some(core) && oc_checkpoint_run(core, false))
			break;
	oc_journal_sync(&core->journal);
	if (oc_failed(core))
		return -EIO;
	core->clean_stale = false;
	return oc_super_write(core);
}
