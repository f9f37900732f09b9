/* SPDX-License-Identifier: GPL-2.0-only */
/* An active cache: its dm device, its table line and its status, as of now. */
#ifndef _OPTCACHECTL_CACHE_H
#define _OPTCACHECTL_CACHE_H

#include <limits.h>
#include <sys/types.h>

#include "dm.h"
#include "status.h"

struct cache {
	struct dm_cache dm;
	struct status st;
	char cache_dev[PATH_MAX];	/* as in the table line */
	char origin_dev[PATH_MAX];
};

/* Device-mapper is there and we may use it.  Return: 0 or an exit code. */
int cache_need_dm(void);

/*
 * @name: of the dm device, or a path: of the dm device, of its cache device or of
 * its origin.  Return: 0 or an exit code after fail().
 */
int cache_find(const char *name, struct cache *c);
/* Read it again. */
int cache_refresh(struct cache *c);
void cache_put(struct cache *c);

/* All of them, in order of name.  Return: 0 or an exit code. */
int cache_all(struct cache **list, size_t *nr);
void cache_put_all(struct cache *list, size_t nr);

/* The active cache that uses @dev as cache device or as origin. */
bool cache_using(dev_t dev, struct cache *c);

/* Sends a message; on failure tells why, in the kernel's words if it left some. */
int cache_send(const struct cache *c, const char *message, const char *next);

bool cache_name_valid(const char *name);

#endif /* _OPTCACHECTL_CACHE_H */
