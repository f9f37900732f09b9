/* SPDX-License-Identifier: GPL-2.0-only */
/* Shorthand for json-c. */
#ifndef _OPTCACHECTL_JSON_H
#define _OPTCACHECTL_JSON_H

#include <json-c/json.h>
#include <optcache/format.h>

static inline void json_text(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, text ? json_object_new_string(text) : NULL);
}

static inline void json_number(struct json_object *o, const char *key, u64 value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

static inline void json_flag(struct json_object *o, const char *key, bool value)
{
	json_object_object_add(o, key, json_object_new_boolean(value));
}

/* Prints @o and a newline, and lets go of it. */
void json_print(struct json_object *o);
/* The same on one line, for output that is a stream of objects. */
void json_print_line(struct json_object *o);

/* How the saved option @i of a superblock is called. */
#define JSON_OPTION_KEY	24
void json_option_key(unsigned int i, char key[JSON_OPTION_KEY]);

/* A superblock with its geometry, flags and saved options. */
struct json_object *json_super(const struct oc_super *sb);

#endif /* _OPTCACHECTL_JSON_H */
