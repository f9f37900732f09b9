// SPDX-License-Identifier: GPL-2.0-only
/* Device-mapper through libdevmapper. */
#include <errno.h>
#include <libdevmapper.h>
#include <linux/dm-optcache.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dm.h"

static char dm_words[256];

/* libdevmapper would print its errors in its own form; keep the last one. */
__attribute__((format(printf, 5, 6)))
static void keep_words(int level, const char *file, int line, int dm_errno, const char *f, ...)
{
	va_list ap;

	(void)file;
	(void)line;
	(void)dm_errno;
	if ((level & 7) > 3)	/* _LOG_ERR */
		return;
	va_start(ap, f);
	vsnprintf(dm_words, sizeof(dm_words), f, ap);
	va_end(ap);
}

const char *dm_last_words(void)
{
	return dm_words[0] ? dm_words : NULL;
}

static struct dm_task *task_new(int type, const char *name)
{
	struct dm_task *dmt = dm_task_create(type);

	dm_words[0] = '\0';
	if (dmt && name && !dm_task_set_name(dmt, name)) {
		dm_task_destroy(dmt);
		return NULL;
	}
	return dmt;
}

static int task_run(struct dm_task *dmt)
{
	int err;

	if (dm_task_run(dmt))
		return 0;
	err = dm_task_get_errno(dmt);
	return err ? -err : -EIO;
}

int dm_open(void)
{
	struct dm_task *dmt;
	int err = -ENODEV;

	dm_log_with_errno_init(keep_words);
	if (geteuid())
		return -EPERM;
	/* the first task checks the kernel's interface version, and fails without one */
	dmt = task_new(DM_DEVICE_VERSION, NULL);
	if (!dmt)
		return err;
	if (!task_run(dmt))
		err = 0;
	dm_task_destroy(dmt);
	return err;
}

/* With udev's cookie, so that the nodes exist when this returns. */
static int task_run_synced(struct dm_task *dmt)
{
	uint32_t cookie = 0;
	int err;

	if (!dm_task_set_cookie(dmt, &cookie, 0))
		return -EIO;
	err = task_run(dmt);
	dm_udev_wait(cookie);
	return err;
}

/* The arguments of the first target of @name, if that is ours. */
static int get_params(int type, const char *name, char **params, struct dm_cache *c)
{
	struct dm_task *dmt = task_new(type, name);
	uint64_t start, length;
	struct dm_info info;
	char *target, *text;
	int err;

	if (!dmt)
		return -ENOMEM;
	/* asking must not write anything out, or wait for what does */
	dm_task_no_flush(dmt);
	dm_task_no_open_count(dmt);
	err = task_run(dmt);
	if (err)
		goto out;
	err = -ENXIO;
	if (!dm_task_get_info(dmt, &info) || !info.exists)
		goto out;
	dm_get_next_target(dmt, NULL, &start, &length, &target, &text);
	err = -EMEDIUMTYPE;
	if (!target || strcmp(target, OPTCACHE_NAME))
		goto out;
	c->sectors = length;
	*params = strdup(text ? text : "");
	err = *params ? 0 : -ENOMEM;
out:
	dm_task_destroy(dmt);
	return err;
}

static int get_info(const char *name, struct dm_cache *c)
{
	struct dm_task *dmt = task_new(DM_DEVICE_INFO, name);
	const char *id;
	struct dm_info info;
	int err;

	if (!dmt)
		return -ENOMEM;
	err = task_run(dmt);
	if (err)
		goto out;
	err = -ENXIO;
	if (!dm_task_get_info(dmt, &info) || !info.exists)
		goto out;
	id = dm_task_get_uuid(dmt);
	snprintf(c->name, sizeof(c->name), "%s", name);
	snprintf(c->uuid, sizeof(c->uuid), "%s", id ? id : "");
	c->major = info.major;
	c->minor = info.minor;
	c->open_count = info.open_count;
	c->suspended = info.suspended;
	err = 0;
out:
	dm_task_destroy(dmt);
	return err;
}

int dm_get(const char *name, struct dm_cache *c)
{
	int err;

	*c = (struct dm_cache){ 0 };
	err = get_info(name, c);
	if (!err)
		err = get_params(DM_DEVICE_TABLE, name, &c->table, c);
	if (!err)
		err = get_params(DM_DEVICE_STATUS, name, &c->status, c);
	if (err)
		dm_put(c);
	return err;
}

void dm_put(struct dm_cache *c)
{
	free(c->table);
	free(c->status);
	c->table = NULL;
	c->status = NULL;
}

static int add_if_ours(const char *name, char ***names, size_t *nr)
{
	struct dm_cache c = { 0 };
	char *params = NULL, **more;

	if (get_params(DM_DEVICE_TABLE, name, &params, &c))
		return 0;	/* another target, or gone meanwhile */
	free(params);
	more = reallocarray(*names, *nr + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	*names = more;
	more[*nr] = strdup(name);
	if (!more[*nr])
		return -ENOMEM;
	(*nr)++;
	return 0;
}

int dm_names(char ***names, size_t *nr)
{
	struct dm_task *dmt = task_new(DM_DEVICE_LIST, NULL);
	struct dm_names *n;
	int err;

	*names = NULL;
	*nr = 0;
	if (!dmt)
		return -ENOMEM;
	err = task_run(dmt);
	if (err)
		goto out;
	n = dm_task_get_names(dmt);
	if (!n || !n->dev)
		goto out;
	for (;;) {
		err = add_if_ours(n->name, names, nr);
		if (err || !n->next)
			break;
		n = (void *)n + n->next;
	}
out:
	dm_task_destroy(dmt);
	return err;
}

int dm_target_version(unsigned int version[3])
{
	struct dm_task *dmt = task_new(DM_DEVICE_GET_TARGET_VERSION, OPTCACHE_NAME);
	struct dm_versions *v;
	int err;

	if (!dmt)
		return -ENOMEM;
	err = task_run(dmt);
	if (!err) {
		v = dm_task_get_versions(dmt);
		if (v)
			memcpy(version, v->version, sizeof(v->version));
		else
			err = -ENXIO;
	}
	dm_task_destroy(dmt);
	return err;
}

int dm_create(const char *name, const char *uuid, uint64_t sectors, const char *table)
{
	struct dm_task *dmt = task_new(DM_DEVICE_CREATE, name);
	int err = -ENOMEM;

	if (!dmt)
		return err;
	if (dm_task_set_uuid(dmt, uuid) &&
	    dm_task_add_target(dmt, 0, sectors, OPTCACHE_NAME, table) &&
	    dm_task_set_add_node(dmt, DM_ADD_NODE_ON_CREATE))
		err = task_run_synced(dmt);
	dm_task_destroy(dmt);
	return err;
}

int dm_delete(const char *name)
{
	struct dm_task *dmt = task_new(DM_DEVICE_REMOVE, name);
	int err;

	if (!dmt)
		return -ENOMEM;
	/* blkid and friends may still look at it for a moment */
	dm_task_retry_remove(dmt);
	err = task_run_synced(dmt);
	dm_task_destroy(dmt);
	return err;
}

int dm_send(const char *name, const char *message)
{
	struct dm_task *dmt = task_new(DM_DEVICE_TARGET_MSG, name);
	int err = -ENOMEM;

	if (!dmt)
		return err;
	if (dm_task_set_message(dmt, message) && dm_task_set_sector(dmt, 0))
		err = task_run(dmt);
	dm_task_destroy(dmt);
	return err;
}
