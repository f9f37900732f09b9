// SPDX-License-Identifier: GPL-2.0-only
/* Must compile everywhere: if it does not, the build itself is broken, not an API missing. */
#include <linux/blkdev.h>
#include <linux/device-mapper.h>
#include <linux/module.h>
#include <linux/workqueue.h>
