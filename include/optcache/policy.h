/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Policy: what enters the cache and what leaves it.  Behind these functions so
 * that another one can take its place; hits tell it nothing but the freq bits
 * of the slot word, which pinning raises for free.
 *
 * This one is a clock over the slots with 2-bit counters.  What was read only
 * once goes at the first pass of the hand, so a scan displaces nothing that was
 * used twice; neighbours in the cache leave together, so free room stays contiguous.
 */
#ifndef _OPTCACHE_POLICY_H
#define _OPTCACHE_POLICY_H

#include "slots.h"

struct oc_policy {
	struct oc_slots *slots;
	u32 hand;		/* only the evictor moves it */
};

void oc_policy_init(struct oc_policy *p, struct oc_slots *slots);

/*
 * oc_policy_victims - candidates for eviction: LIVE, clean, unpinned, not used lately
 * @max: room in @victim
 * @scan: look at no more slots than this
 *
 * Only a hint: the caller must still end each with oc_slot_kill().  One caller at a time.
 * Return: how many.
 */
u32 oc_policy_victims(struct oc_policy *p, oc_slot_t *victim, u32 max, u32 scan);

#endif /* _OPTCACHE_POLICY_H */
