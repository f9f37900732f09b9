// SPDX-License-Identifier: GPL-2.0-only
/* Who uses a device.  Read from /proc and /sys, never from other tools. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "busy.h"
#include "dev.h"
#include "sysfs.h"

struct busy {
	char *why;
	const char *part;	/* name of the partition looked at, NULL for the device */
};

static bool say_busy(struct busy *b, const char *what, const char *who)
{
	if (b->part)
		snprintf(b->why, BUSY_WHY_MAX, "its partition %.64s is %s %.200s", b->part, what,
			 who);
	else
		snprintf(b->why, BUSY_WHY_MAX, "%s %.200s", what, who);
	return true;
}

/* Mount points have blanks as \040. */
static void unescape(char *s)
{
	char *to = s;
	unsigned int c;

	for (; *s; s++) {
		if (*s == '\\' && sscanf(s + 1, "%3o", &c) == 1) {
			*to++ = c;
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

static bool is_mounted(struct busy *b, dev_t dev)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	unsigned int maj, min;
	bool found = false;
	char *line = NULL, *where;
	size_t size = 0;

	if (!f)
		return false;
	while (!found && getline(&line, &size, f) > 0) {
		where = NULL;
		if (sscanf(line, "%*d %*d %u:%u %*s %ms", &maj, &min, &where) == 3 &&
		    makedev(maj, min) == dev) {
			unescape(where);
			found = say_busy(b, "mounted on", where);
		}
		free(where);
	}
	free(line);
	fclose(f);
	return found;
}

static bool is_swap(struct busy *b, dev_t dev)
{
	FILE *f = fopen("/proc/swaps", "re");
	bool found = false;
	char *line = NULL;
	size_t size = 0;
	struct stat st;

	if (!f)
		return false;
	while (!found && getline(&line, &size, f) > 0) {
		line[strcspn(line, " \t\n")] = '\0';
		unescape(line);
		if (line[0] == '/' && !stat(line, &st) && S_ISBLK(st.st_mode) &&
		    st.st_rdev == dev)
			found = say_busy(b, "used as", "swap space");
	}
	free(line);
	fclose(f);
	return found;
}

static bool is_held(dev_t holder, const char *name, void *arg)
{
	char dm_name[SYSFS_NAME_MAX];

	if (sysfs_read(holder, "dm/name", dm_name, sizeof(dm_name)))
		return say_busy(arg, "below the device-mapper device", dm_name);
	return say_busy(arg, "below", name);
}

static bool device_busy(struct busy *b, dev_t dev)
{
	return is_mounted(b, dev) || is_swap(b, dev) || sysfs_each(dev, "holders", is_held, b);
}

static bool partition_busy(dev_t dev, const char *name, void *arg)
{
	struct busy *b = arg;

	b->part = name;
	return device_busy(b, dev);
}

/* An image that a loop device shows to the kernel. */
static bool image_busy(struct busy *b, const char *path)
{
	char file[300], backing[PATH_MAX], *real = realpath(path, NULL);
	struct dirent *e;
	bool found = false;
	FILE *f;
	DIR *d = opendir("/sys/block");

	while (d && real && !found && (e = readdir(d))) {
		if (strncmp(e->d_name, "loop", 4))
			continue;
		snprintf(file, sizeof(file), "/sys/block/%s/loop/backing_file", e->d_name);
		f = fopen(file, "re");
		if (!f)
			continue;
		if (fgets(backing, sizeof(backing), f)) {
			backing[strcspn(backing, "\n")] = '\0';
			if (!strcmp(backing, real))
				found = say_busy(b, "attached to", e->d_name);
		}
		fclose(f);
	}
	if (d)
		closedir(d);
	free(real);
	return found;
}

bool busy_why(const struct dev *d, char why[BUSY_WHY_MAX])
{
	struct busy b = { .why = why };

	if (!d->block)
		return image_busy(&b, d->path);
	return device_busy(&b, d->rdev) || sysfs_each(d->rdev, "", partition_busy, &b);
}

const char *busy_next_step(const char *why)
{
	if (strstr(why, "mounted on"))
		return "Unmount it first";
	if (strstr(why, "swap"))
		return "Turn it off with swapoff first";
	if (strstr(why, "attached to"))
		return "Detach the loop device (losetup -d), or name it instead";
	return "Remove what is above it first, see lsblk";
}
