/* SPDX-License-Identifier: GPL-2.0-only */
/* The few things sysfs tells about block devices. */
#ifndef _OPTCACHECTL_SYSFS_H
#define _OPTCACHECTL_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SYSFS_NAME_MAX	256

/* First line of /sys/dev/block/MAJOR:MINOR/@file.  Return: found. */
bool sysfs_read(dev_t dev, const char *file, char *buf, size_t size);

/* Kernel name ("sda1", "dm-3"), or "MAJOR:MINOR" if there is none. */
void sysfs_name(dev_t dev, char name[SYSFS_NAME_MAX]);

/* The whole disk of a partition; false when @dev is no partition. */
bool sysfs_whole_disk(dev_t dev, dev_t *disk);

/*
 * Calls @each for every device in a subdirectory: "holders", "slaves", or "" for
 * the partitions.  Stops when it returns true.  Return: whether it did.
 */
bool sysfs_each(dev_t dev, const char *dir, bool (*each)(dev_t dev, const char *name, void *arg),
		void *arg);

#endif /* _OPTCACHECTL_SYSFS_H */
