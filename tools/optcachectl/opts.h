/* SPDX-License-Identifier: GPL-2.0-only */
/* Cache options on the command line: --mode MODE, --set KEY=VALUE. */
#ifndef _OPTCACHECTL_OPTS_H
#define _OPTCACHECTL_OPTS_H

#include <optcache/options.h>

#define OPTS_MAX	16

/* Collected first and checked together, so that their order does not matter. */
struct opts {
	struct {
		char key[32];
		const char *value;
	} given[OPTS_MAX];
	unsigned int nr;
};

/* Return: 0 or an exit code after fail(). */
int opts_add(struct opts *o, const char *key, const char *value);
int opts_add_pair(struct opts *o, const char *arg);	/* "key=value" */

/* As many of them as are legal into @opt.  Return: bit i: given[i] is in. */
u32 opts_apply(const struct opts *o, struct oc_options *opt);

/*
 * All of them into @opt, which holds what else is in force.
 * Return: 0 or an exit code after fail().
 */
int opts_check(const struct opts *o, struct oc_options *opt);

/* Each of them is legal on some cache or other. */
int opts_check_alone(const struct opts *o);

/* Bit i: option i of the core is among them. */
u32 opts_mask(const struct opts *o);

/* Those that are set, as " key value key value"; @nr words.  @buf: OPTS_TEXT_MAX */
#define OPTS_TEXT_MAX	(OPTCACHE_NR_OPTIONS * 64)
void opts_table_words(const struct oc_options *opt, char *buf, unsigned int *nr);

#endif /* _OPTCACHECTL_OPTS_H */
