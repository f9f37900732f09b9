// SPDX-License-Identifier: GPL-2.0-only
/* Bringing a pair up. */
#include <limits.h>
#include <sys/sysmacros.h>

#include "activate.h"
#include "ask.h"
#include "cache.h"
#include "devname.h"
#include "exits.h"
#include "kmsg.h"
#include "opts.h"
#include "say.h"
#include "stack.h"
#include "supers.h"
#include "sysfs.h"

int activate_name(const char *given, const struct dev *origin, char name[DM_NAME_MAX])
{
	char base[SYSFS_NAME_MAX], dm[SYSFS_NAME_MAX];
	char *p;

	if (given) {
		snprintf(name, DM_NAME_MAX, "%s", given);
		return 0;
	}
	sysfs_name(origin->rdev, base);
	if (sysfs_read(origin->rdev, "dm/name", dm, sizeof(dm)))
		strcpy(base, dm);
	for (p = base; *p; p++)		/* cciss!c0d0, 8:16 */
		if (*p == '!' || *p == ':' || *p == '\\')
			*p = '-';
	snprintf(name, DM_NAME_MAX, "fast-%.120s", base);
	if (!cache_name_valid(name))
		return fail(OC_EXIT_USAGE, "Give one with --name",
			    "no name can be made from '%s'", base);
	return 0;
}

static int check_target(void)
{
	unsigned int version[3];

	if (!dm_target_version(version))
		return 0;
	return fail(OC_EXIT_UNAVAILABLE,
		    "Load it with modprobe dm-optcache; if there is none, build it for this kernel (dkms)",
		    "the kernel does not know the optcache target (module dm-optcache)");
}

int activate_check(const char *name)
{
	struct dm_cache c;
	int code, err;

	code = cache_need_dm();
	if (!code)
		code = check_target();
	if (code)
		return code;
	err = dm_get(name, &c);
	if (!err)
		dm_put(&c);
	if (!err || err == -EMEDIUMTYPE)
		return fail(OC_EXIT_REFUSED, "Give another name with --name",
			    "the name '%s' is taken (a dm device has it)", name);
	return 0;
}

int activate_check_encryption(const struct dev *cache, const struct dev *origin, bool yes)
{
	if (!stack_is_encrypted(origin->rdev) || stack_is_encrypted(cache->rdev))
		return 0;
	return ask(yes, "%s is encrypted and %s is not: plain text of it would be stored there (put the encryption above the cache instead)",
		   origin->path, cache->path);
}

static int explain(const char *name, int err, const char *why)
{
	const char *next = "See the kernel log; the devices are as they were";

	if (err == -EBUSY)
		next = "Find who uses the devices with lsblk";
	if (!*why)
		why = dm_last_words() ? dm_last_words() : strerror(-err);
	return fail(err == -EBUSY ? OC_EXIT_TEMP : OC_EXIT_OS, next,
		    "cannot activate '%s' (%s)", name, why);
}

int activate_run(const char *name, const struct oc_super *sb, dev_t cache, dev_t origin,
		 const struct oc_options *opt, bool keep_dirty)
{
	char cache_name[PATH_MAX], origin_name[PATH_MAX], words[OPTS_TEXT_MAX], id[DM_UUID_TEXT];
	char table[2 * PATH_MAX + OPTS_TEXT_MAX + 32], why[256];
	unsigned int nr;
	int mark, err;

	devname_stable(cache, cache_name);
	devname_stable(origin, origin_name);
	opts_table_words(opt, words, &nr);
	snprintf(table, sizeof(table), "%s %s %u%s%s", cache_name, origin_name, nr + keep_dirty,
		 keep_dirty ? " keep_dirty" : "", words);
	supers_dm_uuid(sb, id);

	mark = kmsg_mark();
	err = dm_create(name, id, sb->geo.origin_sectors, table);
	kmsg_since(mark, why, sizeof(why));
	return err ? explain(name, err, why) : 0;
}
