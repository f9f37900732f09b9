/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's names that the oracle uses, beyond those of the core, for its test. */
#ifndef KERNEL_H
#define KERNEL_H

#include "../../../tools/lib/user_env.h"

#define array_size(n, size)	((size_t)(n) * (size))
#define vzalloc(bytes)		calloc(1, bytes)
#define vfree(p)		free(p)
#define ktime_get_ns()		0
#define blk_opf_t		unsigned int

struct bio;
struct block_device;

#endif
