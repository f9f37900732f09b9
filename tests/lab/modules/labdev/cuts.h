/* SPDX-License-Identifier: GPL-2.0 */
/* What labdev tells the other modules of the lab. */
#ifndef _LABDEV_CUTS_H
#define _LABDEV_CUTS_H

#include <linux/types.h>

/* Power cuts so far; @when: ktime of the last, in ns.  Any context. */
u64 lab_power_cuts(u64 *when);

#endif
