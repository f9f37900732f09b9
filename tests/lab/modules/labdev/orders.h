/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LABDEV_ORDERS_H
#define _LABDEV_ORDERS_H

#include <linux/list.h>
#include <linux/mutex.h>

struct lab_words;

struct lab_command {
	const char *verb;
	int (*run)(struct lab_words *w);
	const char *usage;		/* operands; then what it does */
};

extern const struct lab_command lab_commands[];

/* Commands run, and the list of devices stands still, under lab_mutex. */
extern struct mutex lab_mutex;
extern struct list_head lab_devices;

#endif
