// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write-back order: a scan of the dirty groups feeds a max-heap with the lowest
 * blocks at or above the cursor, then the heap is sorted in place.
 */
#include <optcache/order.h>

int oc_order_init(struct oc_order *o, u32 max)
{
	memset(o, 0, sizeof(*o));
	o->item = oc_zalloc((size_t)max * sizeof(*o->item));
	if (!o->item)
		return -ENOMEM;
	o->max = max;
	return 0;
}

void oc_order_exit(struct oc_order *o)
{
	oc_free(o->item);
	memset(o, 0, sizeof(*o));
}

static u64 item_block(const struct oc_order *o, u32 i)
{
	return from_oblock(o->item[i].block);
}

/* ---- max-heap over item[0..nr) --------------------------------------- */

static void heap_up(struct oc_order *o, u32 i)
{
	while (i && item_block(o, (i - 1) / 2) < item_block(o, i)) {
		swap(o->item[(i - 1) / 2], o->item[i]);
		i = (i - 1) / 2;
	}
}

static void heap_down(struct oc_order *o, u32 i, u32 nr)
{
	u32 child;

	while ((child = 2 * i + 1) < nr) {
		if (child + 1 < nr && item_block(o, child) < item_block(o, child + 1))
			child++;
		if (item_block(o, i) >= item_block(o, child))
			return;
		swap(o->item[i], o->item[child]);
		i = child;
	}
}

static void heap_add(struct oc_order *o, const struct oc_dirty *d)
{
	if (o->nr < o->max) {
		o->item[o->nr] = *d;
		heap_up(o, o->nr++);
	} else if (from_oblock(d->block) < item_block(o, 0)) {
		o->item[0] = *d;
		heap_down(o, 0, o->nr);
	}
}

static void heap_sort(struct oc_order *o)
{
	u32 n;

	for (n = o->nr; n > 1; n--) {
		swap(o->item[0], o->item[n - 1]);
		heap_down(o, 0, n - 1);
	}
}

/* ---- collecting ------------------------------------------------------ */

static void collect_group(struct oc_order *o, struct oc_slots *s, u32 group, bool force)
{
	u32 i = group * OC_GROUP_SLOTS, end = min_t(u32, i + OC_GROUP_SLOTS, s->nr);

	for (; i < end; i++) {
		const u64 w = oc_slot_read(s, to_slot(i));
		const struct oc_dirty d = { oc_word_block(w), to_slot(i) };

		if (!(w & OC_WORD_DIRTY))
			continue;
		o->sealed += oc_word_state(w) == OC_SEALED;
		/* A slot in COPY is on its way already. */
		if (oc_word_state(w) != OC_LIVE)
			continue;
		if (!force && (w & OC_WORD_HOT))
			continue;
		if (from_oblock(d.block) >= from_oblock(o->cursor))
			heap_add(o, &d);
	}
}

u32 oc_order_collect(struct oc_order *o, struct oc_slots *s, bool force)
{
	u32 group;

	o->nr = 0;
	o->sealed = 0;
	for (group = 0; group < s->nr_groups; group++) {
		if (atomic_read(&s->group_dirty[group]))
			collect_group(o, s, group, force);
		cond_resched();
	}
	heap_sort(o);
	o->cursor = o->nr ? oblock_add(o->item[o->nr - 1].block, 1) : to_oblock(0);
	return o->nr;
}

u32 oc_order_run(const struct oc_order *o, u32 i, u32 max)
{
	u32 n;

	if (i >= o->nr || !max)
		return 0;
	for (n = 1; n < max && i + n < o->nr; n++)
		if (item_block(o, i + n) != item_block(o, i) + n)
			break;
	return n;
}
