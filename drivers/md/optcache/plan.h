/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What to do with a bio that is no plain hit: what its first sectors have in common,
 * and for how long.  Deciding changes nothing.
 */
#ifndef _OC_PLAN_H
#define _OC_PLAN_H

#include "io.h"

struct oc_plan {
	enum oc_io_kind kind;
	unsigned int sectors;	/* the first of the bio that this plan is for */
	oc_slot_t slot;		/* hit, extend: of the first block */
	oc_slot_t stale;	/* miss: clean, partly valid, to be replaced by the fill */
	enum optcache_mode mode;/* read once: it may change at any time */
	bool ending;		/* new or bypass: a mapping has to end, or is ending */
};

/* The range of @io is locked.  Any context. */
void oc_plan_make(struct oc_io *io, struct oc_plan *plan);

/* How many sectors of @io are really taken is known now: count them to their stream. */
void oc_plan_count(struct oc_io *io);

#endif /* _OC_PLAN_H */
