// SPDX-License-Identifier: GPL-2.0-only
/* optcachectl: the control tool of dm-optcache.  This file finds the verb. */
#include <stdio.h>
#include <string.h>

#include "exits.h"
#include "say.h"
#include "verb.h"

#ifndef OPTCACHECTL_VERSION
#define OPTCACHECTL_VERSION	"unknown"
#endif

static const struct verb *const verbs[] = {
#ifndef OPTCACHECTL_RESCUE	/* these need device-mapper */
	&verb_create, &verb_attach, &verb_detach, &verb_list, &verb_status, &verb_stats,
	&verb_set, &verb_mode, &verb_flush,
#endif
	&verb_format, &verb_dump, &verb_check, &verb_writeback, &verb_repair, &verb_restore,
	&verb_salvage,
};

#define NR_VERBS	(sizeof(verbs) / sizeof(verbs[0]))
#define SEE_HELP	"See optcachectl --help"

static int print_help(void)
{
	unsigned int i;

	puts("Usage: optcachectl VERB [OPTION...] [ARGUMENT...]\n"
	     "Put a fast cache device in front of a disk, watch it, and take it away again.\n");
	for (i = 0; i < NR_VERBS; i++)
		printf("  %-9s %s\n", verbs[i]->name, verbs[i]->summary);
	puts("\n"
	     "  optcachectl VERB --help   options of one verb\n"
	     "  optcachectl --version     print the version\n"
	     "\n"
	     "The manual is optcachectl(8).");
	return OC_EXIT_SOUND;
}

static const struct verb *find_verb(const char *name)
{
	unsigned int i;

	for (i = 0; i < NR_VERBS; i++)
		if (!strcmp(verbs[i]->name, name))
			return verbs[i];
	return NULL;
}

/* Output that could not be written (a full disk, a closed pipe) is not success. */
static int finish(int code)
{
	if (fflush(stdout) || ferror(stdout))
		return code ? code : fail(OC_EXIT_IO, "Check where the output goes",
					  "cannot write the output (%m)");
	return code;
}

int main(int argc, char **argv)
{
	const struct verb *verb;
	const char *word = argc > 1 ? argv[1] : NULL;

	if (!word)
		return fail(OC_EXIT_USAGE, SEE_HELP, "no verb given");
	if (!strcmp(word, "--help") || !strcmp(word, "-?") || !strcmp(word, "-h") ||
	    !strcmp(word, "help"))
		return finish(print_help());
	if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
		puts("optcachectl " OPTCACHECTL_VERSION);
		return finish(OC_EXIT_SOUND);
	}
	if (word[0] == '-')
		return fail(OC_EXIT_USAGE, SEE_HELP, "option %s is unknown (the verb comes first)",
			    word);
	verb = find_verb(word);
	if (!verb)
		return fail(OC_EXIT_USAGE, SEE_HELP, "verb '%s' is unknown", word);
	return finish(verb_main(verb, argc - 1, argv + 1));
}
