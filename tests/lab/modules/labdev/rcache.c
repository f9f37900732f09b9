// SPDX-License-Identifier: GPL-2.0
/*
 * The read side of a disk's buffer: a few segments, the least recently used
 * one makes room.
 */
#include "rcache.h"

void lab_rcache_keep(struct lab_rcache *c, u64 start, u64 end)
{
	struct lab_segment *s, *oldest = c->segment;

	if (start >= end)
		return;
	for (s = c->segment; s < c->segment + LAB_SEGMENTS; s++)
		if (s->used < oldest->used)
			oldest = s;
	*oldest = (struct lab_segment){
		.start = start, .end = end, .used = ++c->clock,
	};
}

bool lab_rcache_holds(struct lab_rcache *c, u64 start, u64 end)
{
	struct lab_segment *s;

	for (s = c->segment; s < c->segment + LAB_SEGMENTS; s++)
		if (start >= s->start && end <= s->end) {
			s->used = ++c->clock;
			return true;
		}
	return false;
}

void lab_rcache_drop(struct lab_rcache *c, u64 start, u64 end)
{
	struct lab_segment *s;

	for (s = c->segment; s < c->segment + LAB_SEGMENTS; s++)
		if (start < s->end && end > s->start)
			*s = (struct lab_segment){ };
}
