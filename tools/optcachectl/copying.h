/* SPDX-License-Identifier: GPL-2.0-only */
/* Dirty blocks, from the cache device to the origin, in the order of the disk. */
#ifndef _OPTCACHECTL_COPYING_H
#define _OPTCACHECTL_COPYING_H

#include "mapping.h"
#include "ranges.h"

struct copying {
	const struct dev *cache, *origin;
	struct mapping *m;
	unsigned long *done;	/* bit a slot: the origin got all of it */
	u64 blocks;		/* how many these are */
	u64 bytes;		/* written to the origin */
	struct ranges unreadable, unwritable;
};

/*
 * Stops early when interrupted().  What cannot be read or written is noted, and the rest
 * goes on.  Nothing is flushed.  Return: 0 or -errno when there was not even a start;
 * copying_free() in any case.
 */
int copying_run(struct copying *c, const struct dev *cache, const struct dev *origin,
		struct mapping *m);
void copying_free(struct copying *c);

#endif /* _OPTCACHECTL_COPYING_H */
