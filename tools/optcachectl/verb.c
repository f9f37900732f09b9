// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command line of a verb.  argp parses and formats the help, but prints its
 * errors over two lines and in its own words; ARGP_NO_ERRS silences it and
 * bad_option() says the same in ours.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exits.h"
#include "say.h"
#include "verb.h"

#define KEY_HELP	'?'
#define KEY_JSON	'j'
#define KEY_QUIET	'q'

struct verb_parse {
	const struct verb *verb;
	struct verb_args args;
	bool quiet;
	bool help;
	int code;		/* of the first error already told */
};

static const struct argp_option common_options[] = {
	{ "quiet", KEY_QUIET, NULL, 0, "Print errors only", -2 },
	{ "help", KEY_HELP, NULL, 0, "Print this help", -1 },
	{ 0 }
};

static const struct argp_option json_options[] = {
	{ "json", KEY_JSON, NULL, 0, "Print JSON for machines", -3 },
	{ 0 }
};

static const char *see_help(const struct verb *verb)
{
	static char next[80];

	snprintf(next, sizeof(next), "See optcachectl %s --help", verb->name);
	return next;
}

/* The option named by @word ("--name", "--name=x"), if the verb has it. */
static const struct argp_option *option_named(const struct argp_option *o, const char *word)
{
	size_t len = strcspn(word + 2, "=");

	for (; o && (o->name || o->key); o++)
		if (o->name && strlen(o->name) == len && !strncmp(o->name, word + 2, len))
			return o;
	return NULL;
}

static const struct argp_option *option_lettered(const struct argp_option *o, int letter)
{
	for (; o && (o->name || o->key); o++)
		if (o->key == letter)
			return o;
	return NULL;
}

static int bad_option(const struct verb *verb, const char *word)
{
	const struct argp_option *o;

	if (word[0] == '-' && word[1] == '-') {
		o = option_named(verb->options, word);
		if (o && o->arg)
			return fail(OC_EXIT_USAGE, see_help(verb),
				    "option %s needs a value (%s)", word, o->arg);
		if (strchr(word, '='))
			return fail(OC_EXIT_USAGE, see_help(verb),
				    "option %s is unknown or takes no value", word);
	} else if (word[0] == '-' && word[1]) {
		o = option_lettered(verb->options, word[strlen(word) - 1]);
		if (o && o->arg)
			return fail(OC_EXIT_USAGE, see_help(verb),
				    "option %s needs a value (%s)", word, o->arg);
	}
	return fail(OC_EXIT_USAGE, see_help(verb), "option %s is unknown or ambiguous", word);
}

static error_t take_argument(struct verb_parse *vp, const char *arg)
{
	if (vp->args.nr >= vp->verb->max_args) {
		if (vp->verb->max_args)
			vp->code = fail(OC_EXIT_USAGE, see_help(vp->verb),
					"too many arguments at '%s' (expected %s)", arg,
					vp->verb->args_doc);
		else
			vp->code = fail(OC_EXIT_USAGE, see_help(vp->verb),
					"too many arguments at '%s' (expected none)", arg);
		return EINVAL;
	}
	if (!*arg) {
		vp->code = fail(OC_EXIT_USAGE, see_help(vp->verb),
				"an argument is empty (expected %s)", vp->verb->args_doc);
		return EINVAL;
	}
	vp->args.arg[vp->args.nr++] = arg;
	return 0;
}

static error_t parse_verb(int key, char *arg, struct argp_state *state)
{
	struct verb_parse *vp = state->input;

	switch (key) {
	case KEY_HELP:
		vp->help = true;
		return 0;
	case KEY_QUIET:
		vp->quiet = true;
		return 0;
	case KEY_JSON:
		if (!vp->verb->has_json)
			return ARGP_ERR_UNKNOWN;
		vp->args.json = true;
		return 0;
	case ARGP_KEY_ARG:
		return take_argument(vp, arg);
	case ARGP_KEY_ERROR:
		if (!vp->code && !vp->help)
			vp->code = bad_option(vp->verb, state->argv[state->next - 1]);
		return 0;
	case ARGP_KEY_INIT:
	case ARGP_KEY_NO_ARGS:
	case ARGP_KEY_ARGS:
	case ARGP_KEY_END:
	case ARGP_KEY_SUCCESS:
	case ARGP_KEY_FINI:
		return ARGP_ERR_UNKNOWN;
	}

	if (!vp->verb->option || !option_lettered(vp->verb->options, key))
		return ARGP_ERR_UNKNOWN;
	vp->code = vp->verb->option(key, arg);
	return vp->code ? EINVAL : 0;
}

static unsigned int count_options(const struct argp_option *o)
{
	unsigned int n = 0;

	for (; o && (o->name || o->key || o->doc); o++)
		n++;
	return n;
}

/* Own options, --json where it makes sense, then the common ones. */
static struct argp_option *collect_options(const struct verb *verb)
{
	const struct argp_option *part[] = {
		verb->options, verb->has_json ? json_options : NULL, common_options,
	};
	struct argp_option *all, *o;
	unsigned int i, n = 1;

	for (i = 0; i < 3; i++)
		n += count_options(part[i]);
	all = calloc(n, sizeof(*all));
	if (!all)
		return NULL;
	o = all;
	for (i = 0; i < 3; i++) {
		n = count_options(part[i]);
		if (n)
			memcpy(o, part[i], n * sizeof(*o));
		o += n;
	}
	return all;
}

static int parse_and_run(struct verb_parse *vp, const struct argp *argp, int argc, char **argv)
{
	const struct verb *verb = vp->verb;
	char name[80];
	error_t err;

	err = argp_parse(argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT, NULL, vp);
	if (vp->help) {
		snprintf(name, sizeof(name), "optcachectl %s", verb->name);
		argp_help(argp, stdout,
			  ARGP_HELP_USAGE | ARGP_HELP_PRE_DOC | ARGP_HELP_LONG | ARGP_HELP_POST_DOC,
			  name);
		return OC_EXIT_SOUND;
	}
	if (vp->code)
		return vp->code;
	if (err == ENOMEM)
		return fail(OC_EXIT_OS, "Free some memory and try again", "out of memory");
	if (err)
		return fail(OC_EXIT_USAGE, see_help(verb), "the command line is wrong");
	if (vp->args.nr < verb->min_args)
		return fail(OC_EXIT_USAGE, see_help(verb), "too few arguments (expected %s)",
			    verb->args_doc);

	say_set_quiet(vp->quiet);
	return verb->run(&vp->args);
}

int verb_main(const struct verb *verb, int argc, char **argv)
{
	struct verb_parse vp = { .verb = verb };
	struct argp argp = {
		.parser = parse_verb,
		.args_doc = verb->args_doc,
		.doc = verb->doc,
	};
	struct argp_option *options;
	int code;

	say_set_verb(verb->name);
	options = collect_options(verb);
	if (!options)
		return fail(OC_EXIT_OS, "Free some memory and try again", "out of memory");
	argp.options = options;
	code = parse_and_run(&vp, &argp, argc, argv);
	free(options);
	return code;
}
