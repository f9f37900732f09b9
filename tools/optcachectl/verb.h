/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A verb is one thing the tool can do.  Its file declares one struct verb; verb.c
 * turns that into an argp parser, so that help, errors and common options are the
 * same everywhere.
 */
#ifndef _OPTCACHECTL_VERB_H
#define _OPTCACHECTL_VERB_H

#include <argp.h>
#include <stdbool.h>

#define VERB_MAX_ARGS	8

struct verb_args {
	const char *arg[VERB_MAX_ARGS];
	unsigned int nr;
	bool json;
};

struct verb {
	const char *name;
	const char *args_doc;	/* "CACHE_DEV ORIGIN_DEV" */
	const char *summary;	/* one line for the list of verbs */
	const char *doc;	/* paragraphs for VERB --help */
	const struct argp_option *options;	/* own ones, or NULL */
	unsigned int min_args, max_args;
	bool has_json;

	/*
	 * One own option.  Return: 0 or an exit code, after fail().
	 * NULL when there are no options.
	 */
	int (*option)(int key, const char *arg);

	/* Return: exit code. */
	int (*run)(const struct verb_args *args);
};

/* argv[0] is the verb's name.  Return: exit code. */
int verb_main(const struct verb *verb, int argc, char **argv);

extern const struct verb verb_create, verb_attach, verb_detach, verb_list, verb_status,
			 verb_stats, verb_set, verb_mode, verb_flush, verb_format, verb_dump,
			 verb_check, verb_writeback, verb_repair, verb_restore, verb_salvage;

#endif /* _OPTCACHECTL_VERB_H */
