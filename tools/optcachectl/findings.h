/* SPDX-License-Identifier: GPL-2.0-only */
/* What check finds: a list, worst severity kept, printed as text or JSON. */
#ifndef _OPTCACHECTL_FINDINGS_H
#define _OPTCACHECTL_FINDINGS_H

#include <stdbool.h>

#include "exits.h"

/* The severity of a finding is the exit code it leads to: OC_EXIT_SOUND (a remark)
 * up to OC_EXIT_DAMAGED.
 */
struct json_object;

struct findings {
	bool json;
	int worst;
	unsigned long nr;
	struct json_object *list;	/* with json */
};

void findings_start(struct findings *f, bool json);

/* @where: "superblock", "table", "journal", "mapping"; @index: which of them, -1: none */
void finding(struct findings *f, int severity, const char *where, long long index,
	     const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* "sound", "needs-replay", "covered", "damaged" */
const char *findings_result(const struct findings *f);

#endif /* _OPTCACHECTL_FINDINGS_H */
