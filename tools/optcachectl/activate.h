/* SPDX-License-Identifier: GPL-2.0-only */
/* Bringing a pair of devices up as a dm device; create and attach share it. */
#ifndef _OPTCACHECTL_ACTIVATE_H
#define _OPTCACHECTL_ACTIVATE_H

#include <optcache/format.h>
#include <optcache/options.h>

#include "dev.h"
#include "dm.h"

/* "fast-sdb" unless @given.  Return: 0 or an exit code after fail(). */
int activate_name(const char *given, const struct dev *origin, char name[DM_NAME_MAX]);

/* The kernel has device-mapper and the target, and @name is free. */
int activate_check(const char *name);

/* Plain text of an encrypted disk would reach a device that is not: asks. */
int activate_check_encryption(const struct dev *cache, const struct dev *origin, bool yes);

/*
 * @opt: options for the table line; @keep_dirty: also when the origin was changed without
 * the cache.  Return: 0 or an exit code after fail().
 */
int activate_run(const char *name, const struct oc_super *sb, dev_t cache, dev_t origin,
		 const struct oc_options *opt, bool keep_dirty);

#endif /* _OPTCACHECTL_ACTIVATE_H */
