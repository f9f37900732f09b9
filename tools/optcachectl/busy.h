/* SPDX-License-Identifier: GPL-2.0-only */
/* Who uses a device: mounts, swap, device-mapper and md, loop. */
#ifndef _OPTCACHECTL_BUSY_H
#define _OPTCACHECTL_BUSY_H

#include <stdbool.h>

#define BUSY_WHY_MAX	320

struct dev;

/*
 * Looks at the device and at its partitions.  @why says who, "mounted on /home".
 * Not finding anybody proves nothing; the exclusive open does.
 */
bool busy_why(const struct dev *d, char why[BUSY_WHY_MAX]);

/* What to do about such an answer. */
const char *busy_next_step(const char *why);

#endif /* _OPTCACHECTL_BUSY_H */
