// SPDX-License-Identifier: GPL-2.0-only
/* Block devices in sysfs. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sysfs.h"

static bool read_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	bool ok;

	if (!f)
		return false;
	ok = fgets(buf, size, f);
	fclose(f);
	if (ok)
		buf[strcspn(buf, "\n")] = '\0';
	return ok;
}

bool sysfs_read(dev_t dev, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major(dev), minor(dev), file);
	return read_line(path, buf, size);
}

void sysfs_name(dev_t dev, char name[SYSFS_NAME_MAX])
{
	char path[64], target[PATH_MAX];
	const char *base;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	n = readlink(path, target, sizeof(target) - 1);
	if (n > 0) {
		target[n] = '\0';
		base = strrchr(target, '/');
		snprintf(name, SYSFS_NAME_MAX, "%.255s", base ? base + 1 : target);
	} else {
		snprintf(name, SYSFS_NAME_MAX, "%u:%u", major(dev), minor(dev));
	}
}

static bool parse_dev(const char *text, dev_t *dev)
{
	unsigned int maj, min;

	if (sscanf(text, "%u:%u", &maj, &min) != 2)
		return false;
	*dev = makedev(maj, min);
	return true;
}

bool sysfs_whole_disk(dev_t dev, dev_t *disk)
{
	char text[32];

	return sysfs_read(dev, "partition", text, sizeof(text)) &&
	       sysfs_read(dev, "../dev", text, sizeof(text)) && parse_dev(text, disk);
}

bool sysfs_each(dev_t dev, const char *dir, bool (*each)(dev_t dev, const char *name, void *arg),
		void *arg)
{
	char path[128], file[SYSFS_NAME_MAX + 160], text[32];
	struct dirent *e;
	bool stop = false;
	dev_t found;
	DIR *d;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major(dev), minor(dev), dir);
	d = opendir(path);
	if (!d)
		return false;
	while (!stop && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		if (!*dir) {
			snprintf(file, sizeof(file), "%s/%s/partition", path, e->d_name);
			if (access(file, F_OK))
				continue;
		}
		snprintf(file, sizeof(file), "%s/%s/dev", path, e->d_name);
		if (read_line(file, text, sizeof(text)) && parse_dev(text, &found))
			stop = each(found, e->d_name, arg);
	}
	closedir(d);
	return stop;
}
