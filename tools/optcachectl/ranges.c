// SPDX-License-Identifier: GPL-2.0-only
/* Lists of sectors of the origin. */
#include "json.h"
#include "ranges.h"

static struct range *more_room(struct ranges *r)
{
	size_t room = r->room ? 2 * r->room : 64;
	struct range *range = reallocarray(r->range, room, sizeof(*range));

	if (!range) {
		r->full = true;
		return NULL;
	}
	r->range = range;
	r->room = room;
	return range;
}

void ranges_add(struct ranges *r, u64 sector, u64 sectors)
{
	struct range *last = r->nr ? &r->range[r->nr - 1] : NULL;

	r->sectors += sectors;
	if (last && last->sector + last->sectors == sector) {
		last->sectors += sectors;
		return;
	}
	if (r->nr == r->room && !more_room(r))
		return;
	r->range[r->nr++] = (struct range){ .sector = sector, .sectors = sectors };
}

void ranges_add_block(struct ranges *r, const struct oc_geometry *geo, oc_block_t block, u8 mask)
{
	const u64 first = from_oblock(block) * OPTCACHE_SECTORS_PER_BLOCK;
	unsigned int i;

	for (i = 0; i < OPTCACHE_SECTORS_PER_BLOCK; i++)
		if (mask & BIT(i) && first + i < geo->origin_sectors)
			ranges_add(r, first + i, 1);
}

void ranges_print(const struct ranges *r, const char *title)
{
	const struct range *x;

	for (x = r->range; x < r->range + r->nr; x++)
		printf("%s sectors %llu + %llu (bytes %llu + %llu)\n", title,
		       (unsigned long long)x->sector, (unsigned long long)x->sectors,
		       (unsigned long long)x->sector << 9, (unsigned long long)x->sectors << 9);
}

struct json_object *ranges_json(const struct ranges *r)
{
	struct json_object *list = json_object_new_array(), *o;
	const struct range *x;

	for (x = r->range; x < r->range + r->nr; x++) {
		o = json_object_new_object();
		json_number(o, "sector", x->sector);
		json_number(o, "sectors", x->sectors);
		json_number(o, "offset", x->sector << 9);
		json_number(o, "bytes", x->sectors << 9);
		json_object_array_add(list, o);
	}
	return list;
}

void ranges_free(struct ranges *r)
{
	free(r->range);
	*r = (struct ranges){ 0 };
}
