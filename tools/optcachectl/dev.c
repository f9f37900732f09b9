// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening, reading and writing.  Block devices are read with O_DIRECT: the module
 * writes below the page cache, and what the page cache holds may be old.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "busy.h"
#include "dev.h"
#include "exits.h"
#include "say.h"

static int explain_open(const char *path, int err)
{
	switch (err) {
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
	case ENAMETOOLONG:
		return fail(OC_EXIT_NOINPUT, "Check the name with lsblk",
			    "cannot open %s (%s)", path, strerror(err));
	case EACCES:
	case EPERM:
		return fail(OC_EXIT_PERM, "Run as root", "cannot open %s (%s)", path,
			    strerror(err));
	case EBUSY:
		return fail(OC_EXIT_TEMP, "Find its user with lsblk or fuser, and stop it first",
			    "%s is in use (the kernel holds it for somebody else)", path);
	case EROFS:
		return fail(OC_EXIT_PERM, "Make it writable (blockdev --setrw) first",
			    "%s is read-only", path);
	case ENXIO:
	case ENODEV:
	case ENOMEDIUM:
		return fail(OC_EXIT_NOINPUT, "Check that the device is connected",
			    "cannot open %s (%s)", path, strerror(err));
	}
	return fail(OC_EXIT_OS, "See the kernel log", "cannot open %s (%s)", path, strerror(err));
}

static const char *kind(mode_t mode)
{
	if (S_ISDIR(mode))
		return "a directory";
	if (S_ISCHR(mode))
		return "a character device";
	if (S_ISFIFO(mode))
		return "a pipe";
	if (S_ISREG(mode))
		return "a plain file";
	return "a socket";
}

static int check_kind(const char *path, const struct stat *st, unsigned int how)
{
	if (S_ISBLK(st->st_mode) || (S_ISREG(st->st_mode) && !(how & DEV_ONLY_BLOCK)))
		return 0;
	if (S_ISREG(st->st_mode))
		return fail(OC_EXIT_NOINPUT, "Name a disk or partition, or attach the file with losetup",
			    "%s is not a block device (it is a plain file)", path);
	return fail(OC_EXIT_NOINPUT, "Name a disk or partition, see lsblk",
		    "%s is not a block device (it is %s)", path, kind(st->st_mode));
}

/* Opening a read-only disk for writing succeeds; only the writes would fail. */
static int check_writable(const struct dev *d)
{
	int ro = 0;

	if (!d->block || ioctl(d->fd, BLKROGET, &ro) || !ro)
		return 0;
	return explain_open(d->path, EROFS);
}

static int get_size(struct dev *d, const struct stat *st)
{
	int lbs;

	d->lbs = 512;
	if (!d->block) {
		d->bytes = st->st_size;
		return 0;
	}
	if (ioctl(d->fd, BLKGETSIZE64, &d->bytes) || ioctl(d->fd, BLKSSZGET, &lbs))
		return fail(OC_EXIT_IO, "Check that the device is connected",
			    "cannot tell the size of %s (%s)", d->path, strerror(errno));
	d->lbs = lbs;
	return 0;
}

/* The reason first, while it can still be named; EBUSY alone says little. */
static int check_free(const struct dev *d)
{
	char why[BUSY_WHY_MAX];

	if (!busy_why(d, why))
		return 0;
	return fail(OC_EXIT_TEMP, busy_next_step(why), "%s is in use (%s)", d->path, why);
}

static int open_flags(const struct dev *d, unsigned int how)
{
	int flags = O_CLOEXEC | (how & DEV_WRITE ? O_RDWR : O_RDONLY);

	if (d->block) {
		flags |= O_DIRECT;
		if (how & DEV_EXCLUSIVE)
			flags |= O_EXCL;
	}
	return flags;
}

int dev_open(struct dev *d, const char *path, unsigned int how)
{
	struct stat st;
	int code;

	*d = (struct dev){ .path = path, .fd = -1 };
	if (stat(path, &st))
		return explain_open(path, errno);
	code = check_kind(path, &st, how);
	if (code)
		return code;
	d->block = S_ISBLK(st.st_mode);
	d->rdev = d->block ? st.st_rdev : 0;

	if (how & DEV_EXCLUSIVE) {
		code = check_free(d);
		if (code)
			return code;
	}
	d->fd = open(path, open_flags(d, how));
	if (d->fd < 0)
		return explain_open(path, errno);
	code = how & DEV_WRITE ? check_writable(d) : 0;
	if (!code)
		code = get_size(d, &st);
	if (code)
		dev_close(d);
	return code;
}

void dev_close(struct dev *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

int dev_read(const struct dev *d, void *buf, size_t len, u64 offset)
{
	char *p = buf;
	ssize_t n;

	while (len) {
		n = pread(d->fd, p, len, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -EIO;	/* behind the end */
		p += n;
		offset += n;
		len -= n;
	}
	return 0;
}

int dev_write(const struct dev *d, const void *buf, size_t len, u64 offset)
{
	const char *p = buf;
	ssize_t n;

	while (len) {
		n = pwrite(d->fd, p, len, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		p += n;
		offset += n;
		len -= n;
	}
	return 0;
}

int dev_sync(const struct dev *d)
{
	return fsync(d->fd) ? -errno : 0;
}

void *dev_buffer(size_t len)
{
	void *buf;

	if (posix_memalign(&buf, OPTCACHE_PAGE_SIZE, len))
		return NULL;
	memset(buf, 0, len);
	return buf;
}

bool dev_same(const struct dev *a, const struct dev *b)
{
	struct stat sa, sb;

	if (a->block && b->block)
		return a->rdev == b->rdev;
	if (a->block != b->block || fstat(a->fd, &sa) || fstat(b->fd, &sb))
		return false;
	return sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}
