/* SPDX-License-Identifier: GPL-2.0-only */
/* A cache device and the disk that it belongs to. */
#ifndef _OPTCACHECTL_PAIR_H
#define _OPTCACHECTL_PAIR_H

#include <optcache/format.h>

#include "dev.h"
#include "verb.h"

struct pair {
	struct dev cache, origin;
};

/*
 * Opens args->arg[0] and [1], which must not be, or lie on, each other.
 * @cache_how, @origin_how: enum dev_how.  Return: 0 or an exit code after fail().
 */
int pair_open(struct pair *p, const struct verb_args *args, unsigned int cache_how,
	      unsigned int origin_how);
void pair_close(struct pair *p);

/* The disk is the one of this cache, as far as its size tells. */
int pair_check_origin(const struct pair *p, const struct oc_super *sb);
/* And the cache can be used at all, see supers_check(). */
int pair_check(const struct pair *p, const struct oc_super *sb);

#endif /* _OPTCACHECTL_PAIR_H */
