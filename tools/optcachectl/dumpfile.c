// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading a dump.  The mapping of a large cache has millions of entries, so the elements
 * of "mappings" are parsed one by one, and all the rest (the head) as one object.  The
 * superblock must therefore come before the mappings, as dump prints it.
 */
#include <json-c/json.h>
#include <optcache/options.h>
#include <uuid/uuid.h>

#include "dumpfile.h"
#include "json.h"

#define HEAD_MAX	(64U << 10)
#define ELEMENT_MAX	4096
#define RECORD_SLOTS	256

struct reader {
	FILE *f;
	struct dumpfile *df;
	u32 max_slots;
	char *why;
	char *buf;		/* the head, as far as it was read */
	size_t len;
};

__attribute__((format(printf, 2, 3)))
static int bad(struct reader *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->why, DUMPFILE_WHY_MAX, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* ---- values ------------------------------------------------------------ */

static bool number_of(struct json_object *v, u64 max, u64 *value)
{
	if (!json_object_is_type(v, json_type_int) || json_object_get_int64(v) < 0)
		return false;
	*value = json_object_get_uint64(v);
	return *value <= max;
}

static int get_number(struct reader *r, struct json_object *o, const char *key, u64 max,
		      u64 *value)
{
	struct json_object *v;

	if (json_object_object_get_ex(o, key, &v) && number_of(v, max, value))
		return 0;
	return bad(r, "\"%s\" is missing, or no number up to %llu", key, (unsigned long long)max);
}

static int get_u64(struct reader *r, struct json_object *o, const char *key, u64 *value)
{
	return get_number(r, o, key, ~0ULL, value);
}

static int get_u32(struct reader *r, struct json_object *o, const char *key, u32 *value)
{
	u64 wide = 0;
	int err = get_number(r, o, key, ~0U, &wide);

	*value = wide;
	return err;
}

static int get_bool(struct reader *r, struct json_object *o, const char *key, bool *value)
{
	struct json_object *v;

	if (!json_object_object_get_ex(o, key, &v) || !json_object_is_type(v, json_type_boolean))
		return bad(r, "\"%s\" is missing, or not true or false", key);
	*value = json_object_get_boolean(v);
	return 0;
}

static int get_object(struct reader *r, struct json_object *o, const char *key,
		      struct json_object **value)
{
	if (json_object_object_get_ex(o, key, value) &&
	    json_object_is_type(*value, json_type_object))
		return 0;
	return bad(r, "\"%s\" is missing, or not an object", key);
}

static int get_uuid(struct reader *r, struct json_object *o, const char *key, u8 *uuid)
{
	struct json_object *v;

	if (json_object_object_get_ex(o, key, &v) && json_object_is_type(v, json_type_string) &&
	    !uuid_parse(json_object_get_string(v), uuid))
		return 0;
	return bad(r, "\"%s\" is missing, or not a UUID", key);
}

/* ---- superblock ---------------------------------------------------------- */

static int read_geometry(struct reader *r, struct json_object *o)
{
	struct oc_geometry *geo = &r->df->sb.geo;
	const struct {
		const char *key;
		u64 *value;
	} wide[] = {
		{ "cache_sectors", &geo->cache_sectors },
		{ "origin_sectors", &geo->origin_sectors },
		{ "journal_start", &geo->journal_start },
		{ "journal_size", &geo->journal_size },
		{ "table_start", &geo->table_start },
		{ "data_start", &geo->data_start },
	};
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(wide); i++)
		err = get_u64(r, o, wide[i].key, wide[i].value);
	if (!err)
		err = get_u32(r, o, "slots", &geo->nr_slots);
	if (!err)
		err = get_u32(r, o, "journal_unit", &geo->journal_unit);
	if (!err)
		err = get_u32(r, o, "slot_size", &geo->slot_size);
	return err;
}

static bool mode_of(struct json_object *v, u64 *mode)
{
	const char *name = json_object_get_string(v);

	for (*mode = 0; *mode < OPTCACHE_NR_MODES; ++*mode)
		if (!strcmp(name, oc_mode_name[*mode]))
			return true;
	return false;
}

static int read_options(struct reader *r, struct json_object *o)
{
	struct oc_super *sb = &r->df->sb;
	char key[JSON_OPTION_KEY];
	struct json_object *v;
	unsigned int i;

	for (i = 0; i < OPTCACHE_MAX_OPTIONS; i++) {
		json_option_key(i, key);
		if (!json_object_object_get_ex(o, key, &v))
			continue;
		if (json_object_is_type(v, json_type_string) ?
		    i != OPTCACHE_OPT_MODE || !mode_of(v, &sb->option[i]) :
		    !number_of(v, ~0ULL, &sb->option[i]))
			return bad(r, "the option \"%s\" has no good value", key);
		sb->option_mask |= 1U << i;
	}
	return 0;
}

static int read_sample(struct reader *r, struct json_object *o, struct oc_sample *s)
{
	int err;

	if (!json_object_is_type(o, json_type_object))
		return bad(r, "a part of the fingerprint is not an object");
	err = get_u64(r, o, "sector", &s->sector);
	if (!err)
		err = get_u32(r, o, "sectors", &s->sectors);
	return err ? err : get_u32(r, o, "hash", &s->hash);
}

/* Whether its parts are in order and on the origin the core says, see check_super(). */
static int read_fingerprint(struct reader *r, struct json_object *o)
{
	struct oc_super *sb = &r->df->sb;
	struct json_object *list;
	size_t nr, i;
	int err = 0;

	if (!json_object_object_get_ex(o, "fingerprint", &list) ||
	    !json_object_is_type(list, json_type_array))
		return bad(r, "\"fingerprint\" is missing, or not a list");
	nr = json_object_array_length(list);
	if (nr > OPTCACHE_MAX_SAMPLES)
		return bad(r, "the fingerprint has %zu parts, there may be %u", nr,
			   OPTCACHE_MAX_SAMPLES);
	for (i = 0; !err && i < nr; i++)
		err = read_sample(r, json_object_array_get_idx(list, i), &sb->sample[i]);
	sb->nr_samples = nr;
	return err;
}

static int read_counters(struct reader *r, struct json_object *o)
{
	struct oc_super *sb = &r->df->sb;
	int err = get_u64(r, o, "seq", &sb->seq);

	if (!err)
		err = get_u64(r, o, "generation", &sb->generation);
	if (!err)
		err = get_u64(r, o, "features_compat", &sb->features_compat);
	if (!err)
		err = get_u64(r, o, "epoch", &sb->epoch);
	return err;
}

static int read_flags(struct reader *r, struct json_object *o)
{
	bool stopped, failed, stale;
	int err = get_bool(r, o, "clean_stop", &stopped);

	if (!err)
		err = get_bool(r, o, "failed", &failed);
	if (!err)
		err = get_bool(r, o, "stale", &stale);
	if (!err)
		r->df->sb.flags = (stopped ? OPTCACHE_SUPER_CLEAN_STOP : 0) |
				  (failed ? OPTCACHE_SUPER_FAILED : 0) |
				  (stale ? OPTCACHE_SUPER_STALE : 0);
	return err;
}

/* Does the core take such a superblock? */
static int check_super(struct reader *r)
{
	struct optcache_super disk;
	const char *why;

	oc_super_encode(&r->df->sb, &disk);
	if (oc_super_decode(&r->df->sb, &disk, &why))
		return bad(r, "%s", why);
	return 0;
}

static int read_super(struct reader *r, struct json_object *head)
{
	struct oc_super *sb = &r->df->sb;
	struct json_object *o = NULL, *part = NULL;
	u64 version;
	int err;

	err = get_number(r, head, "dump_version", ~0ULL, &version);
	if (!err && version != DUMP_VERSION)
		err = bad(r, "it was made by a newer optcachectl");
	if (!err)
		err = get_object(r, head, "superblock", &o);
	if (!err)
		err = get_number(r, o, "version", ~0ULL, &version);
	if (!err && version != OPTCACHE_VERSION)
		err = bad(r, "it is of another format version");
	if (!err)
		err = get_uuid(r, o, "uuid", sb->uuid);
	if (!err)
		err = get_uuid(r, o, "origin_uuid", sb->origin_uuid);
	if (!err)
		err = read_counters(r, o);
	if (!err)
		err = read_flags(r, o);
	if (!err)
		err = read_fingerprint(r, o);
	if (!err)
		err = get_object(r, o, "options", &part);
	if (!err)
		err = read_options(r, part);
	if (!err)
		err = get_object(r, o, "geometry", &part);
	if (!err)
		err = read_geometry(r, part);
	if (!err)
		err = get_u64(r, head, "next_lsn", &sb->tail_lsn);
	if (!err)
		err = get_u64(r, head, "next_offset", &sb->tail_offset);
	sb->tail_epoch = sb->epoch;
	return err ? err : check_super(r);
}

static int read_head(struct reader *r)
{
	struct json_object *head = json_tokener_parse(r->buf);
	struct dumpfile *df = r->df;
	int err;

	if (!json_object_is_type(head, json_type_object))
		err = bad(r, "it is not JSON");
	else
		err = read_super(r, head);
	if (!err)
		err = get_bool(r, head, "damaged", &df->damaged);
	if (!err)
		err = get_bool(r, head, "only_dirty", &df->only_dirty);
	json_object_put(head);
	if (!err && df->sb.geo.nr_slots > r->max_slots)
		err = bad(r, "its cache has %u slots, here is room for %u",
			  df->sb.geo.nr_slots, r->max_slots);
	if (!err && oc_slots_init(&df->slots, df->sb.geo.nr_slots))
		err = -ENOMEM;
	return err;
}

/* ---- mappings ------------------------------------------------------------ */

/* Each piece goes through the core as a record would. */
static int add_run(struct reader *r, const struct oc_record *run, u64 count)
{
	const struct oc_geometry *geo = &r->df->sb.geo;
	struct optcache_record disk;
	struct oc_record piece = *run;
	u64 *word, done;
	u32 i;

	for (done = 0; done < count; done += piece.count) {
		piece.slot = slot_add(run->slot, done);
		piece.block = oblock_add(run->block, done);
		piece.count = min_t(u64, count - done, RECORD_SLOTS);
		oc_record_encode(&piece, &disk);
		if (oc_record_decode(&piece, &disk, geo))
			return bad(r, "a mapping is out of range (slot %u)", from_slot(piece.slot));
		for (i = 0; i < piece.count; i++) {
			word = &r->df->slots.word[from_slot(piece.slot) + i];
			if (*word)
				return bad(r, "slot %u is mapped twice", from_slot(piece.slot) + i);
			*word = oc_word_make(oblock_add(piece.block, i), piece.valid, OC_LIVE) |
				(piece.dirty ? OC_WORD_DIRTY : 0);
		}
	}
	return 0;
}

static int read_mapping(struct reader *r, struct json_object *o)
{
	struct oc_record run = { .type = OPTCACHE_REC_MAP };
	u64 slot, block, count, valid;
	int err;

	if (!json_object_is_type(o, json_type_object))
		return bad(r, "a mapping is not JSON");
	err = get_number(r, o, "slot", r->df->slots.nr - 1, &slot);
	if (!err)
		err = get_number(r, o, "block", BIT_ULL(OPTCACHE_MAX_BLOCK_BITS) - 1, &block);
	if (!err)
		err = get_number(r, o, "count", r->df->slots.nr, &count);
	if (!err)
		err = get_number(r, o, "valid", OPTCACHE_VALID_ALL, &valid);
	if (!err)
		err = get_bool(r, o, "dirty", &run.dirty);
	if (err)
		return err;
	run.slot = to_slot(slot);
	run.block = to_oblock(block);
	run.valid = valid;
	return add_run(r, &run, count);
}

/* ---- text ------------------------------------------------------------------ */

static int next_word(struct reader *r)
{
	int c;

	do {
		c = getc_unlocked(r->f);
	} while (c == ' ' || c == '\n' || c == '\t' || c == '\r');
	return c;
}

/* From a brace to the one that closes it; no element has braces within. */
static int read_element(struct reader *r)
{
	char text[ELEMENT_MAX];
	struct json_object *o;
	size_t len = 0;
	int c, err;

	for (c = '{'; c != EOF && len < sizeof(text) - 1; c = getc_unlocked(r->f)) {
		text[len++] = c;
		if (c == '}')
			break;
	}
	if (c != '}')
		return bad(r, "it is cut, or a mapping is not JSON");
	text[len] = '\0';
	o = json_tokener_parse(text);
	err = read_mapping(r, o);
	json_object_put(o);
	return err;
}

static int read_mappings(struct reader *r)
{
	int c = next_word(r), err = 0;

	if (c == ']')
		return 0;
	for (; c == '{'; c = next_word(r)) {
		err = read_element(r);
		if (err)
			return err;
		c = next_word(r);
		if (c == ']')
			return 0;
		if (c != ',')
			break;
	}
	return bad(r, "it is cut, or the list of mappings is not JSON");
}

static int put_head(struct reader *r, char c)
{
	if (r->len == HEAD_MAX - 1)
		return bad(r, "it is not a dump of a cache");
	r->buf[r->len++] = c;
	r->buf[r->len] = '\0';
	return 0;
}

/* A string of the head, as it is; its first quote was read. */
static int put_string(struct reader *r)
{
	bool escaped = false;
	int c, err = put_head(r, '"');

	while (!err) {
		c = getc_unlocked(r->f);
		if (c == EOF)
			return bad(r, "it is cut");
		err = put_head(r, c);
		if (c == '"' && !escaped)
			break;
		escaped = c == '\\' && !escaped;
	}
	return err;
}

/* The head ends with "mappings":[ */
static bool at_mappings(const struct reader *r)
{
	static const char end[] = "\"mappings\":[";
	const size_t len = sizeof(end) - 1;

	return r->len >= len && !memcmp(r->buf + r->len - len, end, len);
}

static int take_mappings(struct reader *r)
{
	int err;

	if (r->df->has_mappings)
		return bad(r, "it has two lists of mappings");
	r->df->has_mappings = true;
	/* for a moment it is whole */
	err = put_head(r, ']');
	if (!err)
		err = put_head(r, '}');
	if (!err)
		err = read_head(r);
	if (err)
		return err;
	r->buf[--r->len] = '\0';
	return read_mappings(r);
}

/* White space outside of strings is left out, so that at_mappings() can be simple. */
static int read_text(struct reader *r)
{
	unsigned int depth = 0;
	int c, err;

	do {
		c = next_word(r);
		if (c == EOF)
			return bad(r, r->len ? "it is cut" : "it is empty");
		if (!r->len && c != '{')
			return bad(r, "it is not JSON");
		depth += c == '{';
		depth -= c == '}';
		err = c == '"' ? put_string(r) : put_head(r, c);
		if (!err && c == '[' && depth == 1 && at_mappings(r))
			err = take_mappings(r);
	} while (!err && depth);
	if (!err && next_word(r) != EOF)
		err = bad(r, "something follows it");
	return err;
}

static int read_all(struct reader *r)
{
	struct json_object *head;
	int err = read_text(r);

	if (err)
		return err;
	if (!r->df->has_mappings)
		return read_head(r);
	/* what came after the mappings is of no use, but JSON it has to be */
	head = json_tokener_parse(r->buf);
	if (!head)
		err = bad(r, "it is not JSON");
	json_object_put(head);
	return err;
}

int dumpfile_read(struct dumpfile *df, FILE *f, u32 max_slots, char why[DUMPFILE_WHY_MAX])
{
	struct reader r = { .f = f, .df = df, .max_slots = max_slots, .why = why };
	int err = -ENOMEM;

	*df = (struct dumpfile){ 0 };
	strcpy(why, "out of memory");
	r.buf = malloc(HEAD_MAX);
	if (r.buf)
		err = read_all(&r);
	free(r.buf);
	if (err)
		dumpfile_free(df);
	else
		oc_slots_recount(&df->slots);
	return err;
}

void dumpfile_free(struct dumpfile *df)
{
	oc_slots_exit(&df->slots);
	*df = (struct dumpfile){ 0 };
}
