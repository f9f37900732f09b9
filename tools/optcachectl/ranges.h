/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists of sectors of the origin, in ascending order; neighbours become one. */
#ifndef _OPTCACHECTL_RANGES_H
#define _OPTCACHECTL_RANGES_H

#include <optcache/format.h>

struct json_object;

struct range {
	u64 sector, sectors;
};

struct ranges {
	struct range *range;
	size_t nr, room;
	u64 sectors;		/* of all */
	bool full;		/* out of memory: some are missing */
};

void ranges_add(struct ranges *r, u64 sector, u64 sectors);
/* Those of the bits of @mask among the sectors of @block that the origin has. */
void ranges_add_block(struct ranges *r, const struct oc_geometry *geo, oc_block_t block, u8 mask);
/* "TITLE sectors 8 + 16 (bytes 4096 + 8192)", one line each, whatever --quiet says. */
void ranges_print(const struct ranges *r, const char *title);
struct json_object *ranges_json(const struct ranges *r);
void ranges_free(struct ranges *r);

#endif /* _OPTCACHECTL_RANGES_H */
