/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The status line of the target: "<version> key=value key=value ...".  Nothing
 * here insists on a key: an older or newer module has fewer or more.
 */
#ifndef _OPTCACHECTL_STATUS_H
#define _OPTCACHECTL_STATUS_H

#include <stdbool.h>

#include <optcache/types.h>

#define STATUS_MAX_KEYS	128

struct json_object;

struct status {
	unsigned int version;	/* 0: the line could not be understood */
	unsigned int nr;
	struct {
		const char *key;
		const char *value;
	} pair[STATUS_MAX_KEYS];
	char *line;		/* owns the text */
};

/* Return: 0 or -ENOMEM. */
int status_parse(struct status *st, const char *line);
void status_free(struct status *st);

/* NULL: no such key. */
const char *status_text(const struct status *st, const char *key);
/* Return: whether the key is there and a number. */
bool status_number(const struct status *st, const char *key, u64 *value);
/* 0 when it is not. */
u64 status_count(const struct status *st, const char *key);
bool status_is(const struct status *st, const char *key, const char *value);

/* Every pair into @to, numbers as numbers. */
void status_to_json(const struct status *st, struct json_object *to);

#endif /* _OPTCACHECTL_STATUS_H */
