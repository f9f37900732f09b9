/* SPDX-License-Identifier: GPL-2.0-only */
/* What lies below a device: disks below partitions, devices below dm and md. */
#ifndef _OPTCACHECTL_STACK_H
#define _OPTCACHECTL_STACK_H

#include <stdbool.h>
#include <sys/types.h>

/* @dev is @on itself, a part of it, or built on it. */
bool stack_on_top_of(dev_t dev, dev_t on);

/* @dev is, or is built on, a dm-crypt device. */
bool stack_is_encrypted(dev_t dev);

#endif /* _OPTCACHECTL_STACK_H */
