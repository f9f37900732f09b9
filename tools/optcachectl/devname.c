// SPDX-License-Identifier: GPL-2.0-only
/* Names of devices. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "devname.h"
#include "sysfs.h"

#define BY_ID	"/dev/disk/by-id/"

/* Names from the device itself before names that somebody gave. */
static unsigned int rank(const char *link)
{
	static const char *const order[] = {
		"wwn-", "nvme-eui.", "nvme-uuid.", "nvme-", "ata-", "scsi-", "dm-uuid-", "md-uuid-",
	};
	unsigned int i;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (!strncmp(link, order[i], strlen(order[i])))
			return i;
	return i + (!strncmp(link, "dm-name-", 8) || !strncmp(link, "lvm-pv-", 7));
}

static bool better(const char *a, const char *b)
{
	unsigned int ra = rank(a), rb = rank(b);

	return ra < rb || (ra == rb && strcmp(a, b) < 0);
}

void devname_stable(dev_t dev, char name[PATH_MAX])
{
	char best[NAME_MAX + 1] = "", path[PATH_MAX];
	struct dirent *e;
	struct stat st;
	DIR *d = opendir(BY_ID);

	while (d && (e = readdir(d))) {
		/* a blank would split the table line */
		if (e->d_name[0] == '.' || strpbrk(e->d_name, " \t"))
			continue;
		snprintf(path, sizeof(path), BY_ID "%s", e->d_name);
		if (stat(path, &st) || !S_ISBLK(st.st_mode) || st.st_rdev != dev)
			continue;
		if (!*best || better(e->d_name, best))
			strcpy(best, e->d_name);
	}
	if (d)
		closedir(d);
	if (*best)
		snprintf(name, PATH_MAX, BY_ID "%s", best);
	else
		snprintf(name, PATH_MAX, "%u:%u", major(dev), minor(dev));
}

bool devname_parse(const char *given, dev_t *dev)
{
	unsigned int maj, min;
	struct stat st;
	char rest;

	if (sscanf(given, "%u:%u%c", &maj, &min, &rest) == 2) {
		*dev = makedev(maj, min);
		return true;
	}
	if (stat(given, &st) || !S_ISBLK(st.st_mode))
		return false;
	*dev = st.st_rdev;
	return true;
}

void devname_show(const char *given, char name[PATH_MAX])
{
	char base[SYSFS_NAME_MAX];
	dev_t dev;

	snprintf(name, PATH_MAX, "%s", given);
	if (given[0] == '/' || !devname_parse(given, &dev))
		return;
	sysfs_name(dev, base);
	if (!strchr(base, ':'))
		snprintf(name, PATH_MAX, "/dev/%s", base);
}
