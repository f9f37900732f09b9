/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Device-mapper: the only door to the kernel's caches.  dm.c goes through
 * libdevmapper; the tests put a simulation in its place.
 */
#ifndef _OPTCACHECTL_DM_H
#define _OPTCACHECTL_DM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DM_NAME_MAX	128
#define DM_ID_MAX	130

struct dm_cache {
	char name[DM_NAME_MAX];
	char uuid[DM_ID_MAX];	/* "" if none */
	unsigned int major, minor;
	int open_count;
	bool suspended;
	uint64_t sectors;
	char *table;		/* arguments behind the target's name */
	char *status;
};

/*
 * All return 0 or -errno; -ENODEV: the kernel has no device-mapper, -ENXIO: no
 * such device, -EMEDIUMTYPE: a device, but not one of this target.
 */
int dm_open(void);

/* Names of all optcache devices; free each and the array. */
int dm_names(char ***names, size_t *nr);
int dm_get(const char *name, struct dm_cache *c);
void dm_put(struct dm_cache *c);

/* Version of the target; asks the kernel to load its module. */
int dm_target_version(unsigned int version[3]);

int dm_create(const char *name, const char *uuid, uint64_t sectors, const char *table);
int dm_delete(const char *name);
int dm_send(const char *name, const char *message);

/* What libdevmapper said last, or NULL. */
const char *dm_last_words(void);

#endif /* _OPTCACHECTL_DM_H */
