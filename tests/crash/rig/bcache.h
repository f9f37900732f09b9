/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BCACHE_H
#define BCACHE_H

#include "rig.h"

#define BCACHE_OFFSET	16	/* sectors of its superblock, at the head of the disk */

int bcache_create(const struct plan *p, bool format);
int bcache_destroy(void);

#endif
