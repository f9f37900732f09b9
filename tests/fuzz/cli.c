// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command lines of optcachectl: lines of the input are the words.  The verbs are the
 * real ones with their tables of options, but what an option does is only the parsing of
 * its value, and they run nothing.  And the status line of the module, which it parses too.
 */
#include "../../tools/optcachectl/cache.h"
#include "../../tools/optcachectl/exits.h"
#include "../../tools/optcachectl/number.h"
#include "../../tools/optcachectl/opts.h"
#include "../../tools/optcachectl/status.h"
#include "../../tools/optcachectl/verb.h"

#include <json-c/json.h>

#include "fuzz.h"

#define WORDS_MAX	24

static const struct verb *const verbs[] = {
	&verb_create, &verb_attach, &verb_detach, &verb_list, &verb_status, &verb_stats,
	&verb_set, &verb_mode, &verb_flush, &verb_format, &verb_dump, &verb_check,
	&verb_writeback, &verb_repair, &verb_restore, &verb_salvage,
};

static struct opts given;
static const struct verb *current;

/* Errors are told; nobody wants to read a million of them. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	stderr = fopen("/dev/null", "w");
	stdout = fopen("/dev/null", "w");
	return !stderr || !stdout;
}

static int option(int key, const char *arg)
{
	unsigned long n;

	switch (key) {
	case 's':
		return opts_add_pair(&given, arg);
	case 'm':
		return opts_add(&given, "mode", arg);
	case 't':
	case 'i':
		return number_option("--number", arg, 1, 100, &n);
	case 'n':
		return arg && !cache_name_valid(arg) ? OC_EXIT_USAGE : 0;
	}
	return 0;
}

static int run(const struct verb_args *args)
{
	struct oc_options opt;
	char words[OPTS_TEXT_MAX], why[OC_WHY_MAX];
	unsigned int nr, i;
	int code;

	must(args->nr >= current->min_args && args->nr <= current->max_args);
	for (i = 0; i < args->nr; i++)
		must(*args->arg[i]);
	oc_options_default(&opt);
	code = opts_check(&given, &opt);
	must(!code || code == OC_EXIT_USAGE);
	opts_check_alone(&given);
	opts_mask(&given);
	opts_table_words(&opt, words, &nr);
	must(strlen(words) < sizeof(words) && !(nr & 1));
	must(!oc_options_check(&opt, why));
	return code;
}

static void command(unsigned int which, char *text)
{
	char *argv[WORDS_MAX + 1], *save, *w;
	struct verb verb;
	int argc = 0, code;

	current = verbs[which % ARRAY_SIZE(verbs)];
	verb = *current;
	verb.run = run;
	if (verb.option)
		verb.option = option;
	given = (struct opts){ 0 };
	argv[argc++] = (char *)verb.name;
	for (w = strtok_r(text, "\n", &save); w && argc < WORDS_MAX;
	     w = strtok_r(NULL, "\n", &save))
		argv[argc++] = w;
	argv[argc] = NULL;
	code = verb_main(&verb, argc, argv);
	must(!code || code == OC_EXIT_USAGE);
}

static void status(const char *text)
{
	struct json_object *o = json_object_new_object();
	struct status st;
	u64 n;

	must(!status_parse(&st, text));
	must(st.nr <= STATUS_MAX_KEYS);
	status_count(&st, "dirty");
	status_number(&st, "slots", &n);
	status_to_json(&st, o);
	status_free(&st);
	json_object_put(o);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	text = strndup((const char *)data + 1, size - 1);
	if (data[0] == '1')
		status(text);
	else
		command(data[0], text);
	free(text);
	return 0;
}
