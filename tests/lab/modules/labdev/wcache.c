// SPDX-License-Identifier: GPL-2.0
/*
 * A disk's write cache as far as it concerns time: which extents are still to
 * be written, and which of them the head gets to first.  Adjacent writes join.
 */
#include <linux/slab.h>

#include "labdev.h"
#include "wcache.h"

#define LAB_EXTENT_SECTORS	2048	/* the longest that joining makes */

/* The next one in use after @e (NULL: the first); NULL at the end. */
static struct lab_extent *lab_extent_next(const struct lab_wcache *c,
					  struct lab_extent *e)
{
	for (e = e ? e + 1 : c->extent; e < c->extent + c->slots; e++)
		if (e->used)
			return e;
	return NULL;
}

int lab_wcache_init(struct lab_wcache *c, const struct lab_geometry *g,
		    const struct lab_params *par)
{
	c->geometry = g;
	c->slots = par->cache_slots;
	c->capacity = par->cache_kb << 1;
	c->extent = kcalloc(c->slots, sizeof(*c->extent), GFP_KERNEL);
	return c->extent ? 0 : -ENOMEM;
}

void lab_wcache_destroy(struct lab_wcache *c)
{
	kfree(c->extent);
}

void lab_wcache_empty(struct lab_wcache *c)
{
	memset(c->extent, 0, c->slots * sizeof(*c->extent));
	c->nr_used = 0;
	c->held = 0;
}

static struct lab_extent *lab_wcache_covering(struct lab_wcache *c, u64 start,
					      u64 end)
{
	struct lab_extent *e = NULL;

	while ((e = lab_extent_next(c, e)))
		if (!e->writing && start >= e->start && end <= e->end)
			return e;
	return NULL;
}

static struct lab_extent *lab_wcache_join(struct lab_wcache *c, u64 start,
					  u64 end)
{
	struct lab_extent *e = NULL;

	while ((e = lab_extent_next(c, e))) {
		if (e->writing || e->end - e->start + end - start >
				  LAB_EXTENT_SECTORS)
			continue;
		if (e->end == start) {
			e->end = end;
			return e;
		}
		if (e->start == end) {
			e->start = start;
			e->place = lab_place_of(c->geometry, start);
			return e;
		}
	}
	return NULL;
}

static struct lab_extent *lab_wcache_new(struct lab_wcache *c, u64 start,
					 u64 end)
{
	struct lab_extent *e = c->extent;

	if (c->nr_used == c->slots)
		return NULL;
	while (e->used)
		e++;
	*e = (struct lab_extent){
		.start = start, .end = end, .used = true,
		.ticket = ++c->tickets,
		.place = lab_place_of(c->geometry, start),
	};
	INIT_LIST_HEAD(&e->waiters);
	c->nr_used++;
	return e;
}

/* Where the write of @start..@end is now waiting; NULL: no room for it yet. */
struct lab_extent *lab_wcache_admit(struct lab_wcache *c, u64 start, u64 end)
{
	struct lab_extent *e = lab_wcache_covering(c, start, end);

	if (e)
		return e;
	/* a write of more than all there is has to be let in alone */
	if (c->held && c->held + end - start > c->capacity)
		return NULL;
	e = lab_wcache_join(c, start, end) ?: lab_wcache_new(c, start, end);
	if (e)
		c->held += end - start;
	return e;
}

bool lab_wcache_holds(const struct lab_wcache *c, u64 start, u64 end)
{
	struct lab_extent *e = NULL;

	while ((e = lab_extent_next(c, e)))
		if (start >= e->start && end <= e->end)
			return true;
	return false;
}

/* Nearly full, or somebody waits: write even while there is reading to do. */
bool lab_wcache_pressed(const struct lab_wcache *c)
{
	struct lab_extent *e = NULL;

	if (c->held * 4 >= c->capacity * 3 || c->nr_used * 4 >= c->slots * 3)
		return true;
	while ((e = lab_extent_next(c, e)))
		if (!list_empty(&e->waiters))
			return true;
	return false;
}

/* Is something left of what came in up to @ticket? */
bool lab_wcache_older(const struct lab_wcache *c, u64 ticket)
{
	struct lab_extent *e = NULL;

	while ((e = lab_extent_next(c, e)))
		if (e->ticket <= ticket)
			return true;
	return false;
}

/*
 * The extent that the head reaches first, those with waiters before others.
 * Extents later than ticket @last are left alone: a flush does not wait for
 * writes that came after it.
 */
struct lab_extent *lab_wcache_nearest(struct lab_wcache *c, u64 last,
				      const struct lab_place *head, u64 now,
				      u64 *reach)
{
	struct lab_extent *e = NULL, *best = NULL;
	bool urgent = false;
	u64 ns;

	while ((e = lab_extent_next(c, e))) {
		bool waited_for = !list_empty(&e->waiters);

		if (e->ticket > last || (urgent && !waited_for))
			continue;
		ns = lab_reach_ns(c->geometry, head, &e->place, now);
		if (best && ns >= *reach && urgent == waited_for)
			continue;
		best = e;
		*reach = ns;
		urgent = waited_for;
	}
	return best;
}

/* The caller has taken the waiters. */
void lab_wcache_written(struct lab_wcache *c, struct lab_extent *e)
{
	c->held -= e->end - e->start;
	c->nr_used--;
	e->used = false;
}
