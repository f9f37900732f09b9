// SPDX-License-Identifier: GPL-2.0-only
/* Superblock copies. */
#include <uuid/uuid.h>

#include "exits.h"
#include "human.h"
#include "say.h"
#include "supers.h"

static bool has_magic(const struct optcache_super *disk)
{
	return !memcmp(disk->magic, OPTCACHE_SUPER_MAGIC, sizeof(disk->magic));
}

int supers_read(const struct dev *d, struct supers *s)
{
	struct oc_super sb;
	unsigned int i, bad = 0;
	void *buf;
	int err = 0;

	*s = (struct supers){ .best = -ENODATA };
	buf = dev_buffer(OPTCACHE_PAGE_SIZE);
	if (!buf)
		return -ENOMEM;
	for (i = 0; i < OPTCACHE_SUPER_COPIES; i++) {
		s->err[i] = dev_read(d, buf, OPTCACHE_PAGE_SIZE, i * OPTCACHE_PAGE_SIZE);
		s->readable[i] = !s->err[i];
		if (s->err[i]) {
			err = s->err[i];
			s->why[i] = strerror(-err);
			bad++;
			continue;
		}
		memcpy(&s->disk[i], buf, OPTCACHE_PAGE_SIZE);
		s->err[i] = oc_super_decode(&sb, &s->disk[i], &s->why[i]);
	}
	free(buf);
	if (bad == OPTCACHE_SUPER_COPIES)
		return err;
	s->best = oc_super_choose(&s->sb, s->disk, &s->which, &s->best_why);
	return 0;
}

bool supers_any(const struct supers *s)
{
	return !s->best || has_magic(&s->disk[0]) || has_magic(&s->disk[1]);
}

int supers_write(const struct dev *d, const struct oc_super *sb)
{
	struct optcache_super *disk = dev_buffer(OPTCACHE_SUPER_COPIES * sizeof(*disk));
	int err;

	if (!disk)
		return -ENOMEM;
	oc_super_encode(sb, &disk[0]);
	disk[1] = disk[0];
	err = dev_write(d, disk, OPTCACHE_SUPER_COPIES * sizeof(*disk), 0);
	free(disk);
	return err ? err : dev_sync(d);
}

int supers_erase(const struct dev *d)
{
	size_t size = OPTCACHE_SUPER_COPIES * sizeof(struct optcache_super);
	void *zero = dev_buffer(size);
	int err;

	if (!zero)
		return -ENOMEM;
	err = dev_write(d, zero, size, 0);
	free(zero);
	return err ? err : dev_sync(d);
}

int supers_probe(const struct dev *d, struct supers *s)
{
	int err;

	if (d->bytes < OPTCACHE_SUPER_COPIES * OPTCACHE_PAGE_SIZE)
		return fail(OC_EXIT_DATA, "Name a cache device (optcachectl format makes one)",
			    "%s is not an optcache cache device (too small)", d->path);
	err = supers_read(d, s);
	if (err)
		return fail(OC_EXIT_IO, "See the kernel log for the device",
			    "cannot read the superblocks of %s (%s)", d->path, strerror(-err));
	if (!supers_any(s))
		return fail(OC_EXIT_DATA, "Name a cache device (optcachectl format makes one)",
			    "%s is not an optcache cache device (no superblock)", d->path);
	if (s->best == -EPROTONOSUPPORT)
		return fail(OC_EXIT_DATA, "Update dm-optcache to use it",
			    "%s was made by a newer dm-optcache (%s)", d->path, s->best_why);
	return 0;
}

int supers_need(const struct dev *d, struct supers *s)
{
	int code = supers_probe(d, s);

	if (code || !s->best)
		return code;
	return fail(OC_EXIT_DATA, "See what is left with optcachectl check",
		    "%s has no usable superblock (%s)", d->path, s->best_why);
}

int supers_check(const struct dev *d, const struct oc_super *sb)
{
	if (sb->geo.cache_sectors << 9 > d->bytes)
		return fail(OC_EXIT_DATA, "Give the device its old size back",
			    "%s has become too small (it has %s, the cache on it needs %s)",
			    d->path, human_bytes(d->bytes).text,
			    human_bytes(sb->geo.cache_sectors << 9).text);
	if (sb->flags & OPTCACHE_SUPER_FAILED)
		return fail(OC_EXIT_DATA, "Use the disk without it, and format it anew",
			    "the cache on %s failed while it ran, with nothing dirty (the disk has everything, the mappings are not to be trusted)",
			    d->path);
	return 0;
}

void uuid_text(const u8 uuid[OPTCACHE_UUID_SIZE], char text[UUID_TEXT])
{
	uuid_unparse_lower(uuid, text);
}

void supers_dm_uuid(const struct oc_super *sb, char id[DM_UUID_TEXT])
{
	char text[UUID_TEXT];

	uuid_text(sb->uuid, text);
	snprintf(id, DM_UUID_TEXT, "OPTCACHE-%s", text);
}
