/* SPDX-License-Identifier: GPL-2.0-only */
/* The two superblock copies of a cache device. */
#ifndef _OPTCACHECTL_SUPERS_H
#define _OPTCACHECTL_SUPERS_H

#include <optcache/format.h>

#include "dev.h"

struct supers {
	struct optcache_super disk[OPTCACHE_SUPER_COPIES];
	bool readable[OPTCACHE_SUPER_COPIES];
	/* of each copy: result of oc_super_decode, and why it is not 0 */
	int err[OPTCACHE_SUPER_COPIES];
	const char *why[OPTCACHE_SUPER_COPIES];
	/* of both together */
	struct oc_super sb;
	unsigned int which;
	int best;
	const char *best_why;
};

/* Return: 0, also when no copy is good, or -errno when nothing could be read. */
int supers_read(const struct dev *d, struct supers *s);

/* One of the copies says that this is a cache device, however damaged. */
bool supers_any(const struct supers *s);

/* Return: 0 or -errno. */
int supers_write(const struct dev *d, const struct oc_super *sb);
int supers_erase(const struct dev *d);

/*
 * Reads, and insists on a cache device of a known format (_probe), or also on a good
 * copy (_need).  Return: 0 or an exit code after fail().
 */
int supers_probe(const struct dev *d, struct supers *s);
int supers_need(const struct dev *d, struct supers *s);

/*
 * The device still has its size, and the cache did not fail while it ran.
 * Return: 0 or an exit code after fail().
 */
int supers_check(const struct dev *d, const struct oc_super *sb);

#define UUID_TEXT	37
void uuid_text(const u8 uuid[OPTCACHE_UUID_SIZE], char text[UUID_TEXT]);

/* The UUID of the dm device of this cache.  @id: UUID_TEXT + 16 */
#define DM_UUID_TEXT	(UUID_TEXT + 16)
void supers_dm_uuid(const struct oc_super *sb, char id[DM_UUID_TEXT]);

#endif /* _OPTCACHECTL_SUPERS_H */
