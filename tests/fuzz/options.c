// SPDX-License-Identifier: GPL-2.0-only
/*
 * Words of a table line, or of a `set` message or sysfs store (first byte: bit 0).  Words
 * are separated by blanks, so that a word may have a newline.
 */
#include <optcache/options.h>

#include "fuzz.h"

#define WORDS_MAX	40

static unsigned int split(char *text, char **word)
{
	unsigned int n = 0;
	char *save, *w;

	for (w = strtok_r(text, " ", &save); w && n < WORDS_MAX; w = strtok_r(NULL, " ", &save))
		word[n++] = strdup(w);	/* of its exact size */
	return n;
}

static void check_why(const char *why)
{
	must(*why && strnlen(why, OC_WHY_MAX) < OC_WHY_MAX);
}

static void table_line(unsigned int nr, char **word)
{
	char why[OC_WHY_MAX] = "", text[24], *again;
	struct oc_table_args args;
	struct oc_options o, def;
	unsigned int i;

	if (oc_table_parse(&args, nr, word, why)) {
		check_why(why);
		return;
	}
	must(args.cache_dev == word[0] && args.origin_dev == word[1]);
	/* what is printed is taken again, and means the same */
	oc_options_default(&o);
	oc_options_default(&def);
	oc_options_merge(&o, &args.opt);
	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++) {
		must(args.opt.mask & 1U << i || args.opt.value[i] == def.value[i]);
		again = strdup(oc_option_text(&args.opt, i, text, sizeof(text)));
		o = def;
		o.mask = 0;
		if (i != OPTCACHE_OPT_DIRTY_LOW && i != OPTCACHE_OPT_DIRTY_HIGH)
			must(!oc_option_set(&o, oc_option_desc[i].key, again, why) &&
			     o.value[i] == args.opt.value[i]);
		free(again);
	}
}

static void set(unsigned int nr, char **word)
{
	char why[OC_WHY_MAX] = "";
	struct oc_options o, before;
	unsigned int i;

	oc_options_default(&o);
	for (i = 0; i + 1 < nr; i += 2) {
		before = o;
		if (oc_option_set(&o, word[i], word[i + 1], why)) {
			check_why(why);
			must(!memcmp(&o, &before, sizeof(o)));
		}
		must(!oc_options_check(&o, why));
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char *text, *word[WORDS_MAX];
	unsigned int nr, i;

	if (!size)
		return 0;
	text = strndup((const char *)data + 1, size - 1);
	nr = split(text, word);
	if (data[0] & 1)
		set(nr, word);
	else
		table_line(nr, word);
	for (i = 0; i < nr; i++)
		free(word[i]);
	free(text);
	return 0;
}
