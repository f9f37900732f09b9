/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading what `dump --json` has printed. */
#ifndef _OPTCACHECTL_DUMPFILE_H
#define _OPTCACHECTL_DUMPFILE_H

#include <stdio.h>

#include <optcache/format.h>
#include <optcache/slots.h>

#define DUMP_VERSION	1

struct dumpfile {
	struct oc_super sb;	/* as after a replay: nothing is left in the journal */
	struct oc_slots slots;
	bool damaged;		/* so said the dump: it is not complete */
	bool has_mappings;
	bool only_dirty;
};

/*
 * Nothing is believed: what the core would refuse on a device is refused here.
 * @max_slots: refuse a dump of a larger cache before there is memory for it;
 * @why: on error, what is wrong.  Return: 0 or -errno (-EINVAL: no good dump).
 */
#define DUMPFILE_WHY_MAX	160
int dumpfile_read(struct dumpfile *df, FILE *f, u32 max_slots, char why[DUMPFILE_WHY_MAX]);
void dumpfile_free(struct dumpfile *df);

#endif /* _OPTCACHECTL_DUMPFILE_H */
