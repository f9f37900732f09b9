/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device, or a plain file that stands for one (format, dump and check work on
 * images too).
 */
#ifndef _OPTCACHECTL_DEV_H
#define _OPTCACHECTL_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <optcache/types.h>

struct dev {
	const char *path;
	int fd;
	bool block;		/* a block device, not an image */
	dev_t rdev;		/* of a block device */
	u64 bytes;
	u32 lbs;		/* logical block size */
};

#define DEV_INIT	{ .fd = -1 }

enum dev_how {
	DEV_READ	= 0,
	DEV_WRITE	= 1 << 0,
	DEV_EXCLUSIVE	= 1 << 1,	/* refuse when anybody else uses it */
	DEV_ONLY_BLOCK	= 1 << 2,	/* images will not do */
};

/* Return: 0 or an exit code after fail(). */
int dev_open(struct dev *d, const char *path, unsigned int how);
void dev_close(struct dev *d);

/* Whole ranges only.  Offsets and lengths are multiples of 4 KiB.  Return: 0 or -errno. */
int dev_read(const struct dev *d, void *buf, size_t len, u64 offset);
int dev_write(const struct dev *d, const void *buf, size_t len, u64 offset);
int dev_sync(const struct dev *d);

/* Page-aligned memory, zeroed; NULL when there is none.  free() it. */
void *dev_buffer(size_t len);

/* The same device (or image)? */
bool dev_same(const struct dev *a, const struct dev *b);

#endif /* _OPTCACHECTL_DEV_H */
