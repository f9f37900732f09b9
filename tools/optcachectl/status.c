// SPDX-License-Identifier: GPL-2.0-only
/* The status line. */
#include <json-c/json.h>

#include "status.h"

int status_parse(struct status *st, const char *line)
{
	char *word, *eq, *save;

	*st = (struct status){ .line = strdup(line) };
	if (!st->line)
		return -ENOMEM;

	word = strtok_r(st->line, " \t\n", &save);
	if (!word || sscanf(word, "%u", &st->version) != 1)
		return 0;
	while ((word = strtok_r(NULL, " \t\n", &save)) && st->nr < STATUS_MAX_KEYS) {
		eq = strchr(word, '=');
		if (!eq || eq == word)
			continue;
		*eq = '\0';
		st->pair[st->nr].key = word;
		st->pair[st->nr].value = eq + 1;
		st->nr++;
	}
	return 0;
}

void status_free(struct status *st)
{
	free(st->line);
	*st = (struct status){ 0 };
}

const char *status_text(const struct status *st, const char *key)
{
	unsigned int i;

	for (i = 0; i < st->nr; i++)
		if (!strcmp(st->pair[i].key, key))
			return st->pair[i].value;
	return NULL;
}

static bool is_number(const char *text, u64 *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return !*end && !errno;
}

bool status_number(const struct status *st, const char *key, u64 *value)
{
	const char *text = status_text(st, key);

	return text && is_number(text, value);
}

u64 status_count(const struct status *st, const char *key)
{
	u64 v;

	return status_number(st, key, &v) ? v : 0;
}

bool status_is(const struct status *st, const char *key, const char *value)
{
	const char *text = status_text(st, key);

	return text && !strcmp(text, value);
}

void status_to_json(const struct status *st, struct json_object *to)
{
	unsigned int i;
	u64 v;

	for (i = 0; i < st->nr; i++)
		json_object_object_add(to, st->pair[i].key,
				       is_number(st->pair[i].value, &v) ?
				       json_object_new_uint64(v) :
				       json_object_new_string(st->pair[i].value));
}
