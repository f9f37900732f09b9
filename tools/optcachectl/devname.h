/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of devices. */
#ifndef _OPTCACHECTL_DEVNAME_H
#define _OPTCACHECTL_DEVNAME_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * A name that means the same device after the next boot: the best link in
 * /dev/disk/by-id, or "MAJOR:MINOR" where there is none.
 */
void devname_stable(dev_t dev, char name[PATH_MAX]);

/* For people: "/dev/sdb" for "8:16"; a path, or what cannot be resolved, as it is. */
void devname_show(const char *given, char name[PATH_MAX]);

/* "8:16" or a path of a block device.  Return: whether it is one. */
bool devname_parse(const char *given, dev_t *dev);

#endif /* _OPTCACHECTL_DEVNAME_H */
