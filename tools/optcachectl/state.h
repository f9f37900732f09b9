/* SPDX-License-Identifier: GPL-2.0-only */
/* What the state of a cache means and what a person can do about it. */
#ifndef _OPTCACHECTL_STATE_H
#define _OPTCACHECTL_STATE_H

#include "cache.h"

struct state {
	const char *name;
	const char *meaning;
	const char *advice;	/* NULL: nothing to do */
};

/* Never NULL. */
const struct state *state_of(const struct cache *c);

#endif /* _OPTCACHECTL_STATE_H */
