/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a cache says about itself: one list of fields serves the status line and
 * sysfs.  Nothing here waits or takes a lock, so that a busy or broken cache can
 * still be asked.
 */
#ifndef _OC_STATUS_H
#define _OC_STATUS_H

#include <optcache/options.h>
#include <linux/device-mapper.h>

struct oc_core;

/* A number or a word. */
struct oc_field {
	const char *key;
	u64 (*number)(struct oc_core *core);
	const char *(*word)(struct oc_core *core);
};

#define OC_NR_FIELDS	15

extern const struct oc_field oc_field[OC_NR_FIELDS];

/* The options in force. */
void oc_options_read(struct oc_core *core, struct oc_options *o);

/* The target's status function.  @line: what its table line gives, and is not in force yet. */
void oc_status(struct oc_core *core, struct dm_target *ti, const struct oc_options *line,
	       status_type_t type, char *result, unsigned int maxlen);

#endif /* _OC_STATUS_H */
