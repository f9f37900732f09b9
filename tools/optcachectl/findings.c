// SPDX-License-Identifier: GPL-2.0-only
/*
 * Findings.  A device full of noise has one for every page of its table: past
 * FINDINGS_MAX they are counted but no longer printed.
 */
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>

#include "findings.h"
#include "say.h"

#define FINDINGS_MAX	1000

static const char *const severity_name[] = { "note", "replay", "covered", "damage" };
static const char *const result_name[] = { "sound", "needs-replay", "covered", "damaged" };

void findings_start(struct findings *f, enum findings_as as)
{
	*f = (struct findings){ .as = as };
	if (as == FINDINGS_JSON)
		f->list = json_object_new_array();
}

void findings_end(struct findings *f)
{
	json_object_put(f->list);
	f->list = NULL;
}

void finding(struct findings *f, int severity, const char *where, long long index,
	     const char *fmt, ...)
{
	struct json_object *o;
	char text[256];
	va_list ap;

	if (severity > f->worst)
		f->worst = severity;
	if (++f->nr > FINDINGS_MAX || f->as == FINDINGS_SILENT)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);

	if (f->as == FINDINGS_TEXT) {
		if (index < 0)
			tell("%-7s  %s: %s", severity_name[severity], where, text);
		else
			tell("%-7s  %s %lld: %s", severity_name[severity], where, index, text);
		return;
	}
	o = json_object_new_object();
	json_object_object_add(o, "severity", json_object_new_string(severity_name[severity]));
	json_object_object_add(o, "where", json_object_new_string(where));
	if (index >= 0)
		json_object_object_add(o, "index", json_object_new_int64(index));
	json_object_object_add(o, "text", json_object_new_string(text));
	json_object_array_add(f->list, o);
}

const char *findings_result(const struct findings *f)
{
	return result_name[f->worst];
}
