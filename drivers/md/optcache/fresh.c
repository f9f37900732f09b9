// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fresh slots: clean data whose mapping is known to memory only.
 *
 * A clean mapping may become durable only when the origin durably holds the same bytes.
 * After a fill or a write-through that is so once the origin has been flushed after
 * its last write; until then the slot is FRESH and an entry of this ring, with the
 * count of origin writes the flush has to cover, waits for it.  Each FRESH slot has
 * exactly one entry.  A slot that is ended meanwhile (DEAD) stays allocated until its entry
 * comes up, which then frees it without any record: so an entry never speaks of a later
 * tenant of its slot.
 *
 * When the ring is half full the origin is flushed for this alone.
 * fresh.lock protects the ring; it is taken inside the journal's lock.
 */
#include "core.h"

#include <linux/device-mapper.h>

static u32 ring_used(const struct oc_fresh *f)
{
	return f->head - f->tail;
}

/* The oldest entries wait for a flush, or could be recorded. */
void oc_fresh_hurry(struct oc_core *core)
{
	struct oc_fresh *f = &core->fresh;
	unsigned long flags;
	bool waits;

	spin_lock_irqsave(&f->lock, flags);
	waits = ring_used(f) && f->ring[f->tail % OC_FRESH_MAX].gen >
				READ_ONCE(core->origin_state.flushed);
	spin_unlock_irqrestore(&f->lock, flags);
	if (waits)
		oc_origin_flush_kick(core);
	else
		oc_fresh_settle(core);
}

bool oc_fresh_reserve(struct oc_core *core)
{
	struct oc_fresh *f = &core->fresh;
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&f->lock, flags);
	ok = ring_used(f) + f->reserved < OC_FRESH_MAX;
	if (ok)
		f->reserved++;
	spin_unlock_irqrestore(&f->lock, flags);
	if (!ok)
		oc_fresh_hurry(core);
	return ok;
}

void oc_fresh_unreserve(struct oc_core *core)
{
	struct oc_fresh *f = &core->fresh;
	unsigned long flags;

	spin_lock_irqsave(&f->lock, flags);
	f->reserved--;
	spin_unlock_irqrestore(&f->lock, flags);
}

void oc_fresh_add(struct oc_core *core, oc_slot_t first, u32 nr, u64 gen)
{
	struct oc_fresh *f = &core->fresh;
	unsigned long flags;
	bool crowded;

	spin_lock_irqsave(&f->lock, flags);
	f->reserved--;
	f->ring[f->head++ % OC_FRESH_MAX] = (struct oc_fresh_entry) {
		.first = first, .nr = nr, .gen = gen,
	};
	crowded = ring_used(f) > OC_FRESH_MAX / 2;
	spin_unlock_irqrestore(&f->lock, flags);

	/* either we see the flush, or the flush sees the entry (oc_origin_flush) */
	smp_mb();
	if (gen <= READ_ONCE(core->origin_state.flushed))
		oc_fresh_settle(core);
	else if (crowded)
		oc_origin_flush_kick(core);
}

void oc_fresh_settle(struct oc_core *core)
{
	queue_work(core->bg_wq, &core->fresh.work);
}

bool oc_fresh_waiting(struct oc_core *core)
{
	return READ_ONCE(core->fresh.head) != READ_ONCE(core->fresh.tail);
}

/* The next entry whose time has come.  It leaves the ring when all of it is done. */
static struct oc_fresh_entry *next_entry(struct oc_core *core)
{
	struct oc_fresh *f = &core->fresh;
	struct oc_fresh_entry *e = NULL;

	spin_lock_irq(&f->lock);
	if (ring_used(f))
		e = &f->ring[f->tail % OC_FRESH_MAX];
	if (e && e->gen > READ_ONCE(core->origin_state.flushed))
		e = NULL;
	spin_unlock_irq(&f->lock);
	return e;
}

/* Ended before it was ever recorded: nothing durable knows it. */
static void free_ended(struct oc_core *core, oc_slot_t slot)
{
	if (oc_slot_gone(&core->slots, slot))
		oc_index_release(&core->index, slot);
}

/* Return: false when the journal has no room now. */
static bool try_record(struct oc_core *core, oc_slot_t slot)
{
	struct oc_journal *j = &core->journal;
	unsigned long flags;
	u64 word;

	if (!oc_journal_reserve(j, 1, 1))
		return false;
	oc_journal_lock(j, flags);
	word = oc_slot_record(&core->slots, slot);
	if (word)
		oc_journal_map(j, slot, word, OC_UNFLUSHED);
	oc_journal_unlock(j, flags);
	if (!word) {
		oc_journal_unreserve(j, 1);
		free_ended(core, slot);
	}
	return true;
}

/* The origin may have lost what the slot holds, and a later flush would not say so. */
static void drop_slot(struct oc_core *core, oc_slot_t slot)
{
	unsigned long flags;
	u64 was;

	oc_journal_lock(&core->journal, flags);
	if (oc_word_state(oc_slot_read(&core->slots, slot)) == OC_FRESH)
		oc_slot_kill(&core->slots, slot, ~0U, &was);
	oc_journal_unlock(&core->journal, flags);
	free_ended(core, slot);
}

void oc_fresh_lost(struct oc_core *core, u64 gen)
{
	struct oc_fresh *f = &core->fresh;

	spin_lock_irq(&f->lock);
	f->lost = max(f->lost, gen + 1);
	spin_unlock_irq(&f->lock);
}

/* What is pending may take all the room, and nobody want it. */
static bool record_slot(struct oc_core *core, oc_slot_t slot, u64 gen)
{
	if (gen < READ_ONCE(core->fresh.lost)) {
		drop_slot(core, slot);
		return true;
	}
	return try_record(core, slot) ||
	       (!oc_journal_sync(&core->journal) && try_record(core, slot));
}

static void fresh_work(struct work_struct *work)
{
	struct oc_core *core = container_of(work, struct oc_core, fresh.work);
	struct oc_fresh *f = &core->fresh;
	struct oc_fresh_entry *e;

	while ((e = next_entry(core))) {
		for (; e->nr; e->nr--, e->first = slot_add(e->first, 1))
			if (!record_slot(core, e->first, e->gen)) {
				oc_checkpoint_kick(core);
				return;	/* the next flush or fill brings us back */
			}
		spin_lock_irq(&f->lock);
		f->tail++;
		spin_unlock_irq(&f->lock);
		cond_resched();
	}
}

void oc_fresh_init(struct oc_core *core)
{
	spin_lock_init(&core->fresh.lock);
	INIT_WORK(&core->fresh.work, fresh_work);
}
