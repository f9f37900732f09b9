// SPDX-License-Identifier: GPL-2.0-only
/* 6.5: devices are opened with a blk_mode_t, BLK_OPEN_WRITE; before fmode_t, FMODE_WRITE. */
#include <linux/blkdev.h>

blk_mode_t probe(void);
blk_mode_t probe(void)
{
	return BLK_OPEN_WRITE;
}
