/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LABDEV_WCACHE_H
#define _LABDEV_WCACHE_H

#include <linux/list.h>
#include <linux/types.h>

#include "geometry.h"

struct lab_params;

/* Some sectors that wait to be written to the medium. */
struct lab_extent {
	u64 start, end;
	u64 ticket;			/* of its oldest write */
	struct lab_place place;		/* of @start */
	bool used, writing;
	struct list_head waiters;	/* lab_io: acknowledged when it is written */
};

struct lab_wcache {
	const struct lab_geometry *geometry;
	unsigned int slots, nr_used;
	u64 capacity, held;		/* sectors */
	u64 tickets;
	struct lab_extent *extent;
};

int lab_wcache_init(struct lab_wcache *c, const struct lab_geometry *g,
		    const struct lab_params *par);
void lab_wcache_destroy(struct lab_wcache *c);
void lab_wcache_empty(struct lab_wcache *c);
struct lab_extent *lab_wcache_admit(struct lab_wcache *c, u64 start, u64 end);
bool lab_wcache_holds(const struct lab_wcache *c, u64 start, u64 end);
bool lab_wcache_pressed(const struct lab_wcache *c);
bool lab_wcache_older(const struct lab_wcache *c, u64 ticket);
struct lab_extent *lab_wcache_nearest(struct lab_wcache *c, u64 last,
				      const struct lab_place *head, u64 now,
				      u64 *reach);
void lab_wcache_written(struct lab_wcache *c, struct lab_extent *e);

#endif
