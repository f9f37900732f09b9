/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The modules' command language: one line of words, of which those with a '='
 * are options and the others names.  Every option has to be asked for, so that
 * a misspelt one is an error and not a default.
 */
#ifndef _LAB_WORDS_H
#define _LAB_WORDS_H

#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/string.h>

#define LAB_MAX_NAMES	8
#define LAB_MAX_OPTIONS	48

struct lab_option {
	const char *key, *value;
	bool asked;
};

struct lab_words {
	const char *verb;		/* in whose name errors are reported */
	unsigned int nr_names, nr_options;
	const char *names[LAB_MAX_NAMES];
	struct lab_option options[LAB_MAX_OPTIONS];
};

#define lab_refuse(w, fmt, ...) \
	pr_err("%s: " fmt "\n", (w)->verb, ##__VA_ARGS__)

static inline int lab_words_add(struct lab_words *w, char *word)
{
	char *value = strchr(word, '=');

	if (!value) {
		if (w->nr_names == LAB_MAX_NAMES) {
			lab_refuse(w, "more than %d names", LAB_MAX_NAMES);
			return -E2BIG;
		}
		w->names[w->nr_names++] = word;
		return 0;
	}
	if (w->nr_options == LAB_MAX_OPTIONS) {
		lab_refuse(w, "more than %d options", LAB_MAX_OPTIONS);
		return -E2BIG;
	}
	*value++ = '\0';
	w->options[w->nr_options++] = (struct lab_option){
		.key = word, .value = value,
	};
	return 0;
}

/* Cut @line, which stays in use, into words.  @verb may be replaced later. */
static inline int lab_words_parse(struct lab_words *w, const char *verb,
				  char *line)
{
	char *word;
	int ret;

	memset(w, 0, sizeof(*w));
	w->verb = verb;
	while ((word = strsep(&line, " \t\n"))) {
		if (!*word)
			continue;
		ret = lab_words_add(w, word);
		if (ret)
			return ret;
	}
	return 0;
}

/* The last one wins, so that a preset's options can be overridden. */
static inline const char *lab_word(struct lab_words *w, const char *key)
{
	const char *value = NULL;
	unsigned int i;

	for (i = 0; i < w->nr_options; i++)
		if (!strcmp(w->options[i].key, key)) {
			w->options[i].asked = true;
			value = w->options[i].value;
		}
	return value;
}

/* Decimal or 0x..., with K, M or G for powers of 1024. */
static inline int lab_word_u64(struct lab_words *w, const char *key, u64 *to)
{
	const char *value = lab_word(w, key);
	char *end;

	if (!value)
		return 0;
	*to = memparse(value, &end);
	if (!isdigit(*value) || *end) {
		lab_refuse(w, "%s=%s is not a number", key, value);
		return -EINVAL;
	}
	return 0;
}

/* To be called when all known options have been asked for. */
static inline int lab_words_all_asked(struct lab_words *w)
{
	unsigned int i;

	for (i = 0; i < w->nr_options; i++)
		if (!w->options[i].asked) {
			lab_refuse(w, "unknown option %s=", w->options[i].key);
			return -EINVAL;
		}
	return 0;
}

#endif
