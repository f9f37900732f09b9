// SPDX-License-Identifier: GPL-2.0-only
/* Range locks; see range.h. */
#include "range.h"

#include <linux/hash.h>

static struct oc_range_stripe *stripe_of(struct oc_ranges *rs, u64 first)
{
	return &rs->stripe[hash_64(first >> OC_REGION_SHIFT, ilog2(OC_RANGE_STRIPES))];
}

static bool overlap(const struct oc_range *a, const struct oc_range *b)
{
	return a->first < b->first + b->nr && b->first < a->first + a->nr;
}

/* Is an entry before @range in the queue (all of them if it is not in it) in its way? */
static bool blocked(struct oc_range_stripe *st, const struct oc_range *range)
{
	const struct oc_range *r;

	list_for_each_entry(r, &st->queue, list) {
		if (r == range)
			return false;
		if (overlap(r, range))
			return true;
	}
	return false;
}

/*
 * Grants what has become free, one at a time: grant() may take other locks, so it
 * is called without the stripe's.
 */
static void grant_waiters(struct oc_range_stripe *st)
{
	struct oc_range *r, *next;
	unsigned long flags;

	do {
		next = NULL;
		spin_lock_irqsave(&st->lock, flags);
		list_for_each_entry(r, &st->queue, list) {
			if (!r->granted && !blocked(st, r)) {
				r->granted = true;
				next = r;
				break;
			}
		}
		spin_unlock_irqrestore(&st->lock, flags);
		if (next)
			next->grant(next);
	} while (next);
}

void oc_ranges_init(struct oc_ranges *rs)
{
	unsigned int i;

	for (i = 0; i < OC_RANGE_STRIPES; i++) {
		spin_lock_init(&rs->stripe[i].lock);
		INIT_LIST_HEAD(&rs->stripe[i].queue);
	}
}

bool oc_range_lock(struct oc_ranges *rs, struct oc_range *range)
{
	struct oc_range_stripe *st = stripe_of(rs, range->first);
	unsigned long flags;
	bool granted;

	spin_lock_irqsave(&st->lock, flags);
	granted = !blocked(st, range);
	range->granted = granted;
	list_add_tail(&range->list, &st->queue);
	spin_unlock_irqrestore(&st->lock, flags);
	return granted;
}

bool oc_range_trylock(struct oc_ranges *rs, struct oc_range *range)
{
	struct oc_range_stripe *st = stripe_of(rs, range->first);
	unsigned long flags;
	bool granted;

	spin_lock_irqsave(&st->lock, flags);
	granted = !blocked(st, range);
	if (granted) {
		range->granted = true;
		list_add_tail(&range->list, &st->queue);
	}
	spin_unlock_irqrestore(&st->lock, flags);
	return granted;
}

void oc_range_shrink(struct oc_ranges *rs, struct oc_range *range, u32 nr)
{
	struct oc_range_stripe *st = stripe_of(rs, range->first);
	unsigned long flags;

	if (nr == range->nr)
		return;
	spin_lock_irqsave(&st->lock, flags);
	range->nr = nr;
	spin_unlock_irqrestore(&st->lock, flags);
	grant_waiters(st);
}

void oc_range_unlock(struct oc_ranges *rs, struct oc_range *range)
{
	struct oc_range_stripe *st = stripe_of(rs, range->first);
	unsigned long flags;
	bool waiters;

	spin_lock_irqsave(&st->lock, flags);
	waiters = !list_is_last(&range->list, &st->queue);
	list_del(&range->list);
	spin_unlock_irqrestore(&st->lock, flags);
	if (waiters)
		grant_waiters(st);
}

void oc_range_move(struct oc_ranges *rs, struct oc_range *from, struct oc_range *to)
{
	struct oc_range_stripe *st = stripe_of(rs, from->first);
	unsigned long flags;

	to->first = from->first;
	to->nr = from->nr;
	to->granted = true;
	spin_lock_irqsave(&st->lock, flags);
	list_replace(&from->list, &to->list);
	spin_unlock_irqrestore(&st->lock, flags);
}
