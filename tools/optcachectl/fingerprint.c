// SPDX-License-Identifier: GPL-2.0-only
/* Comparing the disk: the counterpart of the module's file of this name. */
#include <optcache/sample.h>

#include "fingerprint.h"

struct comparing {
	const struct mapping *m;
	const struct dev *cache, *origin;
	char *buf;	/* a sample, or a block of each device */
	char *where;
};

static bool sample_differs(struct comparing *c, const struct oc_sample *s)
{
	const size_t bytes = (size_t)s->sectors << 9;
	struct oc_sample_hash h;

	if (dev_read(c->origin, c->buf, bytes, s->sector << 9))
		return false;
	oc_sample_hash_begin(&h, c->m->sb->uuid);
	oc_sample_hash_add(&h, c->buf, bytes);
	if (oc_sample_hash_end(&h) == s->hash)
		return false;
	snprintf(c->where, FINGERPRINT_WHERE_MAX, "within %u sectors from %llu on", s->sectors,
		 (unsigned long long)s->sector);
	return true;
}

static bool sectors_differ(struct comparing *c, u64 cached, u64 sector, unsigned int sectors)
{
	const size_t bytes = (size_t)sectors << 9;
	char *other = c->buf + OPTCACHE_BLOCK_SIZE;

	if (dev_read(c->origin, c->buf, bytes, sector << 9) ||
	    dev_read(c->cache, other, bytes, cached << 9) || !memcmp(c->buf, other, bytes))
		return false;
	snprintf(c->where, FINGERPRINT_WHERE_MAX, "at sector %llu, which is cached and clean",
		 (unsigned long long)sector);
	return true;
}

/* Of a block what is valid, run by run. */
static bool spot_differs(struct comparing *c, oc_slot_t slot)
{
	const u64 word = oc_slot_read(&c->m->slots, slot);
	const u64 sector = from_oblock(oc_word_block(word)) * OPTCACHE_SECTORS_PER_BLOCK;
	const u64 cached = oc_slot_sector(&c->m->sb->geo, slot);
	const unsigned long valid = oc_word_valid(word);
	const unsigned int max = OPTCACHE_SECTORS_PER_BLOCK;
	unsigned int start, end;

	for (start = find_next_bit(&valid, max, 0); start < max;
	     start = find_next_bit(&valid, max, end)) {
		end = find_next_zero_bit(&valid, max, start);
		if (sectors_differ(c, cached + start, sector + start, end - start))
			return true;
	}
	return false;
}

static bool compare(struct comparing *c)
{
	const struct oc_super *sb = c->m->sb;
	oc_slot_t slot[OC_SPOTS];
	u32 nr, i;

	for (i = 0; i < sb->nr_samples; i++)
		if (sample_differs(c, &sb->sample[i]))
			return true;
	if (sb->nr_samples)
		return false;
	nr = oc_sample_slots(&c->m->slots, false, slot, OC_SPOTS);
	for (i = 0; i < nr; i++)
		if (spot_differs(c, slot[i]))
			return true;
	return false;
}

int fingerprint_differs(const struct mapping *m, const struct dev *cache,
			const struct dev *origin, char where[FINGERPRINT_WHERE_MAX])
{
	struct comparing c = { .m = m, .cache = cache, .origin = origin, .where = where };
	bool differs;

	c.buf = dev_buffer(OPTCACHE_SAMPLE_SECTORS << 9);
	if (!c.buf)
		return -ENOMEM;
	differs = compare(&c);
	free(c.buf);
	return differs;
}
