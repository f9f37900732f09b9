/* SPDX-License-Identifier: GPL-2.0-only */
/* What check finds: a list, worst severity kept, printed as text or JSON. */
#ifndef _OPTCACHECTL_FINDINGS_H
#define _OPTCACHECTL_FINDINGS_H

#include "exits.h"

struct json_object;

enum findings_as {
	FINDINGS_TEXT,
	FINDINGS_JSON,
	FINDINGS_SILENT,	/* only the worst severity is of interest */
};

/*
 * The severity of a finding is the exit code it leads to: OC_EXIT_SOUND (a remark)
 * up to OC_EXIT_DAMAGED.
 */
struct findings {
	enum findings_as as;
	int worst;
	unsigned long nr;
	struct json_object *list;	/* FINDINGS_JSON */
};

void findings_start(struct findings *f, enum findings_as as);
/* Lets go of the list, unless somebody took it (and cleared it here). */
void findings_end(struct findings *f);

/* @where: "superblock", "table", "journal", "mapping"; @index: which of them, -1: none */
void finding(struct findings *f, int severity, const char *where, long long index,
	     const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* "sound", "needs-replay", "covered", "damaged" */
const char *findings_result(const struct findings *f);

#endif /* _OPTCACHECTL_FINDINGS_H */
