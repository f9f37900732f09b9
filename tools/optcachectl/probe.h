/* SPDX-License-Identifier: GPL-2.0-only */
/* What a device already holds, as libblkid sees it. */
#ifndef _OPTCACHECTL_PROBE_H
#define _OPTCACHECTL_PROBE_H

#include <stddef.h>

#define PROBE_WHAT_MAX	200

struct dev;

/*
 * @what: "an ext4 file system labelled 'home', a gpt partition table"
 * Return: number of signatures, 0 for an empty device, or -errno.
 */
int probe_device(const struct dev *d, char what[PROBE_WHAT_MAX]);

/* Erase every signature that probe_device() would find.  Return: 0 or -errno. */
int probe_wipe(const struct dev *d);

#endif /* _OPTCACHECTL_PROBE_H */
