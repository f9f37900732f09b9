// SPDX-License-Identifier: GPL-2.0-only
/* Device-mapper by its ioctls: a fork of dmsetup would cost more than a seed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <linux/dm-ioctl.h>

#include "rig.h"

#define BUFFER		16384

static struct dm_ioctl *request(const char *name)
{
	static char buffer[BUFFER] __attribute__((aligned(8)));
	struct dm_ioctl *d = (void *)buffer;

	memset(buffer, 0, sizeof(buffer));
	d->version[0] = 4;
	d->data_size = sizeof(buffer);
	d->data_start = sizeof(*d);
	snprintf(d->name, sizeof(d->name), "%s", name);
	return d;
}

static void *data(struct dm_ioctl *d)
{
	return (char *)d + d->data_start;
}

static int call(unsigned long cmd, struct dm_ioctl *d)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("/dev/mapper/control: %s", strerror(errno));
	return ioctl(fd, cmd, d) ? -errno : 0;
}

int dm_load(const char *name, __u64 sectors, const char *type, const char *args)
{
	struct dm_ioctl *d = request(name);
	struct dm_target_spec *t = data(d);
	size_t len = strlen(args) + 1;

	d->target_count = 1;
	t->length = sectors;
	snprintf(t->target_type, sizeof(t->target_type), "%s", type);
	memcpy(t + 1, args, len);
	t->next = sizeof(*t) + ((len + 7) & ~7UL);
	return call(DM_TABLE_LOAD, d);
}

static int state(const char *name, unsigned int flags)
{
	struct dm_ioctl *d = request(name);

	d->flags = flags;
	return call(DM_DEV_SUSPEND, d);
}

int dm_suspend(const char *name)
{
	return state(name, DM_SUSPEND_FLAG);
}

int dm_resume(const char *name)
{
	return state(name, 0);
}

int dm_remove(const char *name)
{
	return call(DM_DEV_REMOVE, request(name));
}

int dm_message(const char *name, const char *text)
{
	struct dm_ioctl *d = request(name);
	struct dm_target_msg *m = data(d);

	memcpy(m->message, text, strlen(text) + 1);
	return call(DM_TARGET_MSG, d);
}

const char *dm_status(const char *name)
{
	struct dm_ioctl *d = request(name);

	if (call(DM_TABLE_STATUS, d) || !d->target_count)
		return NULL;
	return (char *)data(d) + sizeof(struct dm_target_spec);
}

bool dm_suspended(const char *name)
{
	struct dm_ioctl *d = request(name);

	return !call(DM_DEV_STATUS, d) && d->flags & DM_SUSPEND_FLAG;
}

int dm_create(const char *name, char path[CUT_PATH], __u64 sectors, const char *type,
	      const char *args)
{
	struct dm_ioctl *d = request(name);
	int ret = call(DM_DEV_CREATE, d);

	if (ret)
		return ret;
	snprintf(path, CUT_PATH, "/dev/dm-%d", (int)minor(d->dev));
	ret = dm_load(name, sectors, type, args);
	if (!ret)
		ret = dm_resume(name);
	if (ret)
		dm_remove(name);
	return ret;
}
