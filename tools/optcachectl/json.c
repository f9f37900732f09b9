// SPDX-License-Identifier: GPL-2.0-only
/* JSON output. */
#include <optcache/options.h>

#include "json.h"
#include "supers.h"

void json_print(struct json_object *o)
{
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

void json_print_line(struct json_object *o)
{
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	fflush(stdout);
	json_object_put(o);
}

void json_option_key(unsigned int i, char key[JSON_OPTION_KEY])
{
	if (i < OPTCACHE_NR_OPTIONS)
		snprintf(key, JSON_OPTION_KEY, "%s", oc_option_desc[i].key);
	else
		snprintf(key, JSON_OPTION_KEY, "option_%u", i);
}

static struct json_object *json_geometry(const struct oc_geometry *geo)
{
	struct json_object *o = json_object_new_object();

	json_number(o, "cache_sectors", geo->cache_sectors);
	json_number(o, "origin_sectors", geo->origin_sectors);
	json_number(o, "journal_start", geo->journal_start);
	json_number(o, "journal_size", geo->journal_size);
	json_number(o, "journal_unit", geo->journal_unit);
	json_number(o, "table_start", geo->table_start);
	json_number(o, "table_pages", geo->nr_pages);
	json_number(o, "data_start", geo->data_start);
	json_number(o, "slots", geo->nr_slots);
	json_number(o, "slot_size", geo->slot_size);
	return o;
}

/* Also those of a later version, by their number: "option_7". */
static struct json_object *json_saved_options(const struct oc_super *sb)
{
	struct json_object *o = json_object_new_object();
	char key[JSON_OPTION_KEY];
	unsigned int i;

	for (i = 0; i < OPTCACHE_MAX_OPTIONS; i++) {
		if (!(sb->option_mask & 1U << i))
			continue;
		json_option_key(i, key);
		if (i == OPTCACHE_OPT_MODE && sb->option[i] < OPTCACHE_NR_MODES)
			json_text(o, key, oc_mode_name[sb->option[i]]);
		else
			json_number(o, key, sb->option[i]);
	}
	return o;
}

/* Empty while the cache is in use. */
static struct json_object *json_fingerprint(const struct oc_super *sb)
{
	struct json_object *list = json_object_new_array(), *o;
	u32 i;

	for (i = 0; i < sb->nr_samples; i++) {
		o = json_object_new_object();
		json_number(o, "sector", sb->sample[i].sector);
		json_number(o, "sectors", sb->sample[i].sectors);
		json_number(o, "hash", sb->sample[i].hash);
		json_object_array_add(list, o);
	}
	return list;
}

struct json_object *json_super(const struct oc_super *sb)
{
	struct json_object *o = json_object_new_object();
	char text[UUID_TEXT];

	json_number(o, "version", OPTCACHE_VERSION);
	uuid_text(sb->uuid, text);
	json_text(o, "uuid", text);
	uuid_text(sb->origin_uuid, text);
	json_text(o, "origin_uuid", text);
	json_number(o, "seq", sb->seq);
	json_number(o, "generation", sb->generation);
	json_number(o, "features_compat", sb->features_compat);
	json_flag(o, "clean_stop", sb->flags & OPTCACHE_SUPER_CLEAN_STOP);
	json_flag(o, "failed", sb->flags & OPTCACHE_SUPER_FAILED);
	json_flag(o, "stale", sb->flags & OPTCACHE_SUPER_STALE);
	json_number(o, "epoch", sb->epoch);
	json_number(o, "tail_lsn", sb->tail_lsn);
	json_number(o, "tail_offset", sb->tail_offset);
	json_number(o, "tail_epoch", sb->tail_epoch);
	json_object_object_add(o, "fingerprint", json_fingerprint(sb));
	json_object_object_add(o, "options", json_saved_options(sb));
	json_object_object_add(o, "geometry", json_geometry(&sb->geo));
	return o;
}
