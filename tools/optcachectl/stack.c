// SPDX-License-Identifier: GPL-2.0-only
/* What lies below a device. */
#include <string.h>

#include "stack.h"
#include "sysfs.h"

#define STACK_MAX_DEPTH	16

struct stack_walk {
	bool (*match)(dev_t dev, const void *arg);
	const void *arg;
	unsigned int depth;
};

static bool walk_down(dev_t dev, const char *name, void *arg)
{
	struct stack_walk *w = arg;
	dev_t disk;
	bool found;

	(void)name;
	if (w->match(dev, w->arg))
		return true;
	if (w->depth == STACK_MAX_DEPTH)
		return false;
	w->depth++;
	found = (sysfs_whole_disk(dev, &disk) && walk_down(disk, NULL, w)) ||
		sysfs_each(dev, "slaves", walk_down, w);
	w->depth--;
	return found;
}

static bool is_dev(dev_t dev, const void *arg)
{
	return dev == *(const dev_t *)arg;
}

bool stack_on_top_of(dev_t dev, dev_t on)
{
	struct stack_walk w = { .match = is_dev, .arg = &on };

	return walk_down(dev, NULL, &w);
}

static bool is_crypt(dev_t dev, const void *arg)
{
	char uuid[SYSFS_NAME_MAX];

	(void)arg;
	return sysfs_read(dev, "dm/uuid", uuid, sizeof(uuid)) && !strncmp(uuid, "CRYPT-", 6);
}

bool stack_is_encrypted(dev_t dev)
{
	struct stack_walk w = { .match = is_crypt };

	return walk_down(dev, NULL, &w);
}
