// SPDX-License-Identifier: GPL-2.0-only
/* Replacement: a clock over the slots with the 2-bit use counters of their words. */
#include <optcache/policy.h>

void oc_policy_init(struct oc_policy *p, struct oc_slots *slots)
{
	p->slots = slots;
	p->hand = 0;
}

/* One tick of the hand over @slot.  Return: it may go. */
static bool policy_visit(struct oc_slots *s, oc_slot_t slot)
{
	u64 w = oc_slot_read(s, slot);

	if (oc_word_state(w) != OC_LIVE || (w & (OC_WORD_DIRTY | OC_WORD_PINS)))
		return false;
	if (!(w & OC_WORD_FREQ))
		return true;
	/* Losing against a reader means that the slot is in use: leave its counter. */
	oc_slot_cmpxchg(s, slot, &w, w - (1ULL << OC_WORD_FREQ_SHIFT));
	return false;
}

u32 oc_policy_victims(struct oc_policy *p, oc_slot_t *victim, u32 max, u32 scan)
{
	struct oc_slots *s = p->slots;
	u32 found = 0;

	while (found < max && scan--) {
		const oc_slot_t slot = to_slot(p->hand);

		if (++p->hand >= s->nr)
			p->hand = 0;
		if (policy_visit(s, slot))
			victim[found++] = slot;
	}
	return found;
}
