/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Options: one table of keys with their ranges serves the table line, messages,
 * sysfs, the superblock and optcachectl.
 */
#ifndef _OPTCACHE_OPTIONS_H
#define _OPTCACHE_OPTIONS_H

#include "types.h"

#define OC_WHY_MAX	160	/* room for one error text, with its NUL */

struct oc_option_desc {
	const char *key;
	const char *unit;	/* "KiB", "s", "%", or "" for a word */
	u64 min, max, def;
};

extern const struct oc_option_desc oc_option_desc[OPTCACHE_NR_OPTIONS];
extern const char *const oc_mode_name[OPTCACHE_NR_MODES];

/* A set of values; bit i of mask says that value[i] was given. */
struct oc_options {
	u32 mask;
	u64 value[OPTCACHE_NR_OPTIONS];
};

void oc_options_default(struct oc_options *o);	/* all defaults, mask 0 */

/* Values of @over that are set win. */
void oc_options_merge(struct oc_options *o, const struct oc_options *over);

/*
 * One key and its value in text, checked alone and together with the others in @o
 * (dirty_low below dirty_high).  On error @o is unchanged and @why names key, value,
 * the legal range and is ready to be shown.
 * Return: 0 or -EINVAL.
 */
int oc_option_set(struct oc_options *o, const char *key, const char *value,
		  char why[OC_WHY_MAX]);

/* The whole set is legal (used on what a superblock says).  Return: 0 or -EINVAL. */
int oc_options_check(const struct oc_options *o, char why[OC_WHY_MAX]);

/* Value of option @opt as text ("writeback", "1024"); @buf at least 24 bytes. */
const char *oc_option_text(const struct oc_options *o, unsigned int opt, char *buf, size_t size);

/* The arguments of a table line behind the target's name. */
struct oc_table_args {
	const char *cache_dev;	/* point into argv */
	const char *origin_dev;
	bool format;		/* one-shot: format a zeroed cache device */
	bool keep_dirty;	/* one-shot: also when the origin was changed meanwhile */
	struct oc_options opt;	/* only what the line gives */
};

/*
 * <cache dev> <origin dev> <#args> [format] [keep_dirty] \
 *	[key value | writeback | writethrough | ...]...
 * A mode may be given as its bare name or as "mode <name>".  Each key once at most.
 * Return: 0 or -EINVAL with @why.
 */
int oc_table_parse(struct oc_table_args *args, unsigned int argc, char **argv,
		   char why[OC_WHY_MAX]);

#endif /* _OPTCACHE_OPTIONS_H */
