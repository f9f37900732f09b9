// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device-mapper for tests: dm.h over a directory of small files, one a device, so
 * that every verb runs without a kernel module.  The directory is $FAKE_DM_DIR; a file
 * holds lines of key=value:
 *
 *	uuid, sectors, open, suspended, target, table, status	as dm tells them
 *	step		blocks that a running flush writes back at each look
 *	stuck		blocks that no flush can write back
 *	log		every message sent, one a line, in the file NAME.log
 *
 * and the file ".control" says what goes wrong: dm=absent, dm=denied, target=absent,
 * create=ERRNO, remove=ERRNO, message=ERRNO, words=what the kernel log says.
 */
#include <dirent.h>
#include <unistd.h>
#include <optcache/options.h>

#include "dm.h"
#include "kmsg.h"

#define FAKE_LINE	8192

static const char *fake_path(const char *name, const char *suffix)
{
	static char path[4096];
	const char *dir = getenv("FAKE_DM_DIR");

	snprintf(path, sizeof(path), "%s/%s%s", dir ? dir : "/nonexistent", name, suffix);
	return path;
}

static bool fake_get(const char *name, const char *key, char value[FAKE_LINE])
{
	FILE *f = fopen(fake_path(name, ""), "re");
	size_t len = strlen(key);
	bool found = false;

	while (f && !found && fgets(value, FAKE_LINE, f)) {
		value[strcspn(value, "\n")] = '\0';
		if (!strncmp(value, key, len) && value[len] == '=') {
			memmove(value, value + len + 1, strlen(value + len + 1) + 1);
			found = true;
		}
	}
	if (f)
		fclose(f);
	if (!found)
		value[0] = '\0';
	return found;
}

static unsigned long fake_number(const char *name, const char *key)
{
	char value[FAKE_LINE];

	return fake_get(name, key, value) ? strtoul(value, NULL, 10) : 0;
}

/* Rewrites the file with one key changed. */
static void fake_put(const char *name, const char *key, const char *value)
{
	char old[64][FAKE_LINE / 4];
	size_t len = strlen(key);
	int n = 0, i;
	FILE *f = fopen(fake_path(name, ""), "re");

	while (f && n < 64 && fgets(old[n], sizeof(old[0]), f))
		if (strncmp(old[n], key, len) || old[n][len] != '=')
			n++;
	if (f)
		fclose(f);
	f = fopen(fake_path(name, ""), "we");
	if (!f)
		return;
	for (i = 0; i < n; i++)
		fputs(old[i], f);
	fprintf(f, "%s=%s\n", key, value);
	fclose(f);
}

static bool control_is(const char *key, const char *value)
{
	char text[FAKE_LINE];

	return fake_get(".control", key, text) && !strcmp(text, value);
}

static int control_errno(const char *key)
{
	return -(int)fake_number(".control", key);
}

/* ---- the status line --------------------------------------------------- */

static unsigned long status_value(const char *status, const char *key)
{
	char want[64];
	const char *at;

	snprintf(want, sizeof(want), " %s=", key);
	at = strstr(status, want);
	return at ? strtoul(at + strlen(want), NULL, 10) : 0;
}

static void status_set(const char *name, const char *key, const char *value)
{
	char status[FAKE_LINE], new[FAKE_LINE + 256], want[64], *at, *end;

	fake_get(name, "status", status);
	snprintf(want, sizeof(want), " %s=", key);
	at = strstr(status, want);
	if (at) {
		end = at + 1 + strcspn(at + 1, " ");
		snprintf(new, sizeof(new), "%.*s%s%s%s", (int)(at - status), status, want,
			 value, end);
	} else {
		snprintf(new, sizeof(new), "%s%s%s", status, want, value);
	}
	fake_put(name, "status", new);
}

static void status_set_number(const char *name, const char *key, unsigned long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", value);
	status_set(name, key, text);
}

/* A running flush goes on by one step at each look. */
static void fake_tick(const char *name)
{
	char status[FAKE_LINE];
	unsigned long dirty, step, stuck = fake_number(name, "stuck");

	fake_get(name, "status", status);
	if (!strstr(status, " flush=running"))
		return;
	dirty = status_value(status, "dirty");
	step = fake_number(name, "step");
	dirty = dirty > stuck + step ? dirty - step : stuck;
	status_set_number(name, "dirty", dirty);
	status_set_number(name, "flush_left", dirty);
	if (dirty == stuck)
		status_set(name, "flush", "idle");
}

/* ---- dm.h --------------------------------------------------------------- */

int dm_open(void)
{
	if (control_is("dm", "absent"))
		return -ENODEV;
	return control_is("dm", "denied") ? -EPERM : 0;
}

const char *dm_last_words(void)
{
	return NULL;
}

int dm_target_version(unsigned int version[3])
{
	version[0] = 1;
	version[1] = 0;
	version[2] = 0;
	return control_is("target", "absent") ? -ENXIO : 0;
}

int dm_get(const char *name, struct dm_cache *c)
{
	char value[FAKE_LINE];

	*c = (struct dm_cache){ 0 };
	if (!fake_get(name, "table", value))
		return -ENXIO;
	if (fake_get(name, "target", value) && strcmp(value, OPTCACHE_NAME))
		return -EMEDIUMTYPE;
	fake_tick(name);
	snprintf(c->name, sizeof(c->name), "%s", name);
	fake_get(name, "uuid", value);
	snprintf(c->uuid, sizeof(c->uuid), "%.*s", DM_ID_MAX - 1, value);
	c->major = 253;
	c->minor = fake_number(name, "minor");
	c->open_count = fake_number(name, "open");
	c->suspended = fake_number(name, "suspended");
	c->sectors = fake_number(name, "sectors");
	fake_get(name, "table", value);
	c->table = strdup(value);
	fake_get(name, "status", value);
	c->status = strdup(value);
	return 0;
}

void dm_put(struct dm_cache *c)
{
	free(c->table);
	free(c->status);
	c->table = NULL;
	c->status = NULL;
}

int dm_names(char ***names, size_t *nr)
{
	const char *dir = getenv("FAKE_DM_DIR");
	DIR *d = opendir(dir ? dir : "/nonexistent");
	char target[FAKE_LINE];
	struct dirent *e;

	*names = calloc(64, sizeof(char *));
	*nr = 0;
	while (d && *nr < 64 && (e = readdir(d))) {
		if (e->d_name[0] == '.' || strstr(e->d_name, ".log"))
			continue;
		if (fake_get(e->d_name, "target", target) && strcmp(target, OPTCACHE_NAME))
			continue;
		(*names)[(*nr)++] = strdup(e->d_name);
	}
	if (d)
		closedir(d);
	return 0;
}

/* What the tool hands to the kernel the module's own parser must accept. */
static bool table_is_right(const char *table)
{
	char copy[FAKE_LINE], why[OC_WHY_MAX], *argv[64], *word, *save;
	struct oc_table_args args;
	unsigned int argc = 0;

	snprintf(copy, sizeof(copy), "%s", table);
	word = strtok_r(copy, " ", &save);
	while (word && argc < 64) {
		argv[argc++] = word;
		word = strtok_r(NULL, " ", &save);
	}
	return !oc_table_parse(&args, argc, argv, why) && !args.format;
}

int dm_create(const char *name, const char *uuid, uint64_t sectors, const char *table)
{
	char number[32];

	if (control_errno("create"))
		return control_errno("create");
	if (!table_is_right(table))
		return -EINVAL;
	snprintf(number, sizeof(number), "%llu", (unsigned long long)sectors);
	fake_put(name, "uuid", uuid);
	fake_put(name, "sectors", number);
	fake_put(name, "table", table);
	fake_put(name, "status",
		 "1 mode=writeback state=ok slots=2022 slot_size=4096 dirty=0 mapped=0 flush=idle flush_left=0");
	return 0;
}

int dm_delete(const char *name)
{
	if (control_errno("remove"))
		return control_errno("remove");
	return unlink(fake_path(name, "")) ? -ENXIO : 0;
}

static int message_set(const char *name, const char *message)
{
	char key[64], value[64], why[OC_WHY_MAX], status[FAKE_LINE];
	struct oc_options o;

	oc_options_default(&o);
	fake_get(name, "status", status);
	o.mask = 1U << OPTCACHE_OPT_DIRTY_LOW | 1U << OPTCACHE_OPT_DIRTY_HIGH;
	o.value[OPTCACHE_OPT_DIRTY_LOW] = status_value(status, "dirty_low");
	o.value[OPTCACHE_OPT_DIRTY_HIGH] = status_value(status, "dirty_high");
	if (!o.value[OPTCACHE_OPT_DIRTY_HIGH])
		o.value[OPTCACHE_OPT_DIRTY_HIGH] = OPTCACHE_DIRTY_HIGH_DEFAULT;
	if (sscanf(message, "set %63s %63s", key, value) != 2 || oc_option_set(&o, key, value, why))
		return -EINVAL;
	status_set(name, key, value);
	return 0;
}

int dm_send(const char *name, const char *message)
{
	char status[FAKE_LINE];
	FILE *log = fopen(fake_path(name, ".log"), "ae");

	if (log) {
		fprintf(log, "%s\n", message);
		fclose(log);
	}
	if (control_errno("message"))
		return control_errno("message");
	if (!strncmp(message, "set ", 4))
		return message_set(name, message);
	if (!strcmp(message, "flush")) {
		fake_get(name, "status", status);
		status_set_number(name, "flush_left", status_value(status, "dirty"));
		status_set(name, "flush", "running");
		return 0;
	}
	if (!strcmp(message, "cancel-flush")) {
		status_set(name, "flush", "idle");
		return 0;
	}
	return !strcmp(message, "reset-stats") || !strcmp(message, "drop-clean") ? 0 : -EINVAL;
}

/* ---- kmsg.h ------------------------------------------------------------- */

int kmsg_mark(void)
{
	return -1;
}

void kmsg_since(int fd, char *line, size_t size)
{
	char words[FAKE_LINE];

	(void)fd;
	fake_get(".control", "words", words);
	snprintf(line, size, "%s", words);
}
