// SPDX-License-Identifier: GPL-2.0-only
/* 6.17: a workqueue says WQ_PERCPU or WQ_UNBOUND; before, per CPU was the default. */
#include <linux/workqueue.h>

unsigned int probe(void);
unsigned int probe(void)
{
	return WQ_PERCPU;
}
