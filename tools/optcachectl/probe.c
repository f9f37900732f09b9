// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signatures.  blkid_do_probe() is called until it finds no more, for a device may
 * carry the remains of several lives.
 */
#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dev.h"
#include "probe.h"

/*
 * libblkid reads odd places and lengths, so it gets its own descriptor without
 * O_DIRECT; @d stays open beside it and keeps the device held.
 */
static blkid_probe probe_open(const struct dev *d, bool wipe, int *fd)
{
	blkid_probe pr;
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", d->fd);
	*fd = open(self, (wipe ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (*fd < 0)
		return NULL;
	pr = blkid_new_probe();
	if (!pr)
		goto out_close;
	if (blkid_probe_set_device(pr, *fd, 0, 0))
		goto out_free;
	blkid_probe_enable_superblocks(pr, 1);
	blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE |
					  BLKID_SUBLKS_LABEL | BLKID_SUBLKS_MAGIC |
					  BLKID_SUBLKS_BADCSUM);
	blkid_probe_enable_partitions(pr, 1);
	blkid_probe_set_partitions_flags(pr, BLKID_PARTS_FORCE_GPT | BLKID_PARTS_MAGIC);
	return pr;

out_free:
	blkid_free_probe(pr);
out_close:
	close(*fd);
	return NULL;
}

static const char *value(blkid_probe pr, const char *key)
{
	const char *v;

	return blkid_probe_lookup_value(pr, key, &v, NULL) ? NULL : v;
}

static void describe(blkid_probe pr, char *buf, size_t size)
{
	const char *type = value(pr, "TYPE"), *table = value(pr, "PTTYPE");
	const char *usage = value(pr, "USAGE"), *label = value(pr, "LABEL");
	const char *noun = "signature";

	if (usage && !strcmp(usage, "filesystem"))
		noun = "file system";
	else if (usage && !strcmp(usage, "raid"))
		noun = "RAID or LVM member";
	else if (usage && !strcmp(usage, "crypto"))
		noun = "encrypted volume";

	if (!type && table)
		snprintf(buf, size, "a partition table (%s)", table);
	else if (label)
		snprintf(buf, size, "a %s %s labelled '%.40s'", type ? type : "?", noun, label);
	else
		snprintf(buf, size, "a %s %s", type ? type : "?", noun);
}

int probe_device(const struct dev *d, char what[PROBE_WHAT_MAX])
{
	size_t used = 0;
	blkid_probe pr;
	int n = 0, fd, rc;
	char one[100];

	what[0] = '\0';
	pr = probe_open(d, false, &fd);
	if (!pr)
		return errno ? -errno : -EIO;
	while (!(rc = blkid_do_probe(pr))) {
		describe(pr, one, sizeof(one));
		if (used + strlen(one) + 3 < PROBE_WHAT_MAX && !strstr(what, one))
			used += sprintf(what + used, "%s%s", used ? ", " : "", one);
		n++;
	}
	blkid_free_probe(pr);
	close(fd);
	return rc < 0 ? -EIO : n;
}

int probe_wipe(const struct dev *d)
{
	blkid_probe pr;
	int rc, fd;

	pr = probe_open(d, true, &fd);
	if (!pr)
		return errno ? -errno : -EIO;
	while (!(rc = blkid_do_probe(pr)))
		if (blkid_do_wipe(pr, 0))
			break;
	blkid_free_probe(pr);
	if (rc <= 0 || fsync(fd))	/* 1: nothing more found */
		rc = -EIO;
	else
		rc = 0;
	close(fd);
	return rc;
}
