// SPDX-License-Identifier: GPL-2.0-only
/* Active caches. */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cache.h"
#include "devname.h"
#include "exits.h"
#include "kmsg.h"
#include "say.h"

int cache_need_dm(void)
{
	switch (dm_open()) {
	case 0:
		return 0;
	case -EPERM:
		return fail(OC_EXIT_PERM, "Run as root", "device-mapper is out of reach (not root)");
	}
	return fail(OC_EXIT_UNAVAILABLE, "Load it with modprobe dm_mod",
		    "the kernel has no device-mapper (no /dev/mapper/control)");
}

bool cache_name_valid(const char *name)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789#+-.:=@_";
	size_t len = strlen(name);

	return len && len < DM_NAME_MAX && name[0] != '.' && name[0] != '-' &&
	       strspn(name, good) == len;
}

static int load(struct cache *c, const char *name)
{
	int err;

	*c = (struct cache){ 0 };
	err = dm_get(name, &c->dm);
	if (err)
		return err;
	if (sscanf(c->dm.table, "%4095s %4095s", c->cache_dev, c->origin_dev) != 2) {
		c->cache_dev[0] = '\0';
		c->origin_dev[0] = '\0';
	}
	err = status_parse(&c->st, c->dm.status);
	if (err)
		dm_put(&c->dm);
	return err;
}

void cache_put(struct cache *c)
{
	dm_put(&c->dm);
	status_free(&c->st);
}

static int explain(const char *name, int err)
{
	switch (err) {
	case -ENXIO:
	case -ENOENT:
		return fail(OC_EXIT_NOINPUT, "See optcachectl list for those that are active",
			    "there is no active cache '%s'", name);
	case -EMEDIUMTYPE:
		return fail(OC_EXIT_NOINPUT, "See optcachectl list for those that are",
			    "'%s' is not an optcache device (another dm target)", name);
	case -ENOMEM:
		return fail(OC_EXIT_OS, "Free some memory and try again", "out of memory");
	case -EPERM:
	case -EACCES:
		return fail(OC_EXIT_PERM, "Run as root", "cannot ask about '%s' (%s)", name,
			    strerror(-err));
	}
	return fail(OC_EXIT_OS, "See the kernel log", "cannot ask about '%s' (%s)", name,
		    strerror(-err));
}

int cache_refresh(struct cache *c)
{
	char name[DM_NAME_MAX];
	int err;

	strcpy(name, c->dm.name);
	cache_put(c);
	err = load(c, name);
	return err ? explain(name, err) : 0;
}

static bool uses(const struct cache *c, dev_t dev)
{
	dev_t d;

	return dev == makedev(c->dm.major, c->dm.minor) ||
	       (devname_parse(c->cache_dev, &d) && d == dev) ||
	       (devname_parse(c->origin_dev, &d) && d == dev);
}

bool cache_using(dev_t dev, struct cache *c)
{
	char **names;
	size_t nr, i;
	bool found = false;

	if (dm_open() || dm_names(&names, &nr))
		return false;
	for (i = 0; i < nr; i++) {
		if (!found && !load(c, names[i])) {
			found = uses(c, dev);
			if (!found)
				cache_put(c);
		}
		free(names[i]);
	}
	free(names);
	return found;
}

static int find_by_path(const char *path, struct cache *c)
{
	struct stat st;
	const char *base = strrchr(path, '/') + 1;

	if (!strncmp(path, "/dev/mapper/", 12) && !load(c, base))
		return 0;
	if (stat(path, &st))
		return fail(OC_EXIT_NOINPUT, "See optcachectl list for those that are active",
			    "there is no cache at %s (%s)", path, strerror(errno));
	if (S_ISBLK(st.st_mode) && cache_using(st.st_rdev, c))
		return 0;
	return fail(OC_EXIT_NOINPUT, "See optcachectl list for those that are active",
		    "no active cache uses %s", path);
}

int cache_find(const char *name, struct cache *c)
{
	int code, err;

	if (!strchr(name, '/') && !cache_name_valid(name))
		return fail(OC_EXIT_USAGE, "See optcachectl list for the names",
			    "'%s' is no name of a cache (letters, digits and #+-.:=@_)", name);
	code = cache_need_dm();
	if (code)
		return code;
	if (strchr(name, '/'))
		return find_by_path(name, c);
	err = load(c, name);
	return err ? explain(name, err) : 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct cache *)a)->dm.name, ((const struct cache *)b)->dm.name);
}

int cache_all(struct cache **list, size_t *nr)
{
	char **names;
	size_t n, i;
	int err, code;

	*list = NULL;
	*nr = 0;
	code = cache_need_dm();
	if (code)
		return code;
	err = dm_names(&names, &n);
	if (err)
		return fail(err == -EACCES || err == -EPERM ? OC_EXIT_PERM : OC_EXIT_OS,
			    "Check that device-mapper works (dmsetup ls)",
			    "cannot list the dm devices (%s)", strerror(-err));
	*list = calloc(n ? n : 1, sizeof(**list));
	for (i = 0; i < n; i++) {
		if (*list && !load(&(*list)[*nr], names[i]))
			(*nr)++;	/* else it went away meanwhile */
		free(names[i]);
	}
	free(names);
	if (!*list)
		return fail(OC_EXIT_OS, "Free some memory and try again", "out of memory");
	qsort(*list, *nr, sizeof(**list), by_name);
	return 0;
}

void cache_put_all(struct cache *list, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		cache_put(&list[i]);
	free(list);
}

int cache_send(const struct cache *c, const char *message, const char *next)
{
	char why[256];
	int mark = kmsg_mark();
	int err = dm_send(c->dm.name, message);

	kmsg_since(mark, why, sizeof(why));
	if (!err)
		return 0;
	return fail(err == -EINVAL ? OC_EXIT_USAGE : OC_EXIT_OS, next,
		    "'%s' did not take the message '%s' (%s)", c->dm.name, message,
		    why[0] ? why : strerror(-err));
}
