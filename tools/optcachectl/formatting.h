/* SPDX-License-Identifier: GPL-2.0-only */
/* Making a cache device; the verbs format and create share it. */
#ifndef _OPTCACHECTL_FORMATTING_H
#define _OPTCACHECTL_FORMATTING_H

#include <optcache/format.h>
#include "opts.h"
#include "pair.h"

struct formatting {
	bool force;		/* --force: overwrite what is there */
	bool yes;		/* --yes: do not ask */
	struct opts given;
	struct oc_options opt;	/* the same, checked; saved in the superblock */
};

/*
 * Options shared by format and create: --force, --yes, --mode, --set.
 * Return: 0 or an exit code; -1 when @key is none of them.
 */
#define KEY_FORCE	'f'
#define KEY_YES		'y'
#define KEY_MODE	'm'
#define KEY_SET		's'
int formatting_option(struct formatting *f, int key, const char *arg);

/* Once all are in.  Return: 0 or an exit code. */
int formatting_options_done(struct formatting *f);

/*
 * May @p become a pair?  Looks at contents, sizes and sector
 * sizes, and asks the user where needed.  Writes nothing.
 * Return: 0 or an exit code after fail().
 */
int formatting_check(const struct formatting *f, const struct pair *p, struct oc_geometry *geo);

/* Return: 0 or an exit code after fail(); then the device holds no cache. */
int formatting_run(const struct formatting *f, const struct dev *cache,
		   const struct oc_geometry *geo, struct oc_super *sb);

#endif /* _OPTCACHECTL_FORMATTING_H */
