/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is a cache device sound?  Reads everything that activation would read, and what it
 * would not: the copies it does not need.  Writes nothing.
 */
#ifndef _OPTCACHECTL_CHECKING_H
#define _OPTCACHECTL_CHECKING_H

#include "findings.h"
#include "journal_end.h"
#include "supers.h"

struct check {
	struct findings f;
	const struct dev *dev;
	struct supers s;
	struct mapping m;	/* only if @loaded: if there is a good superblock */
	bool loaded;
	struct journal_end end;
	u64 mapped, dirty;
	bool supers_differ;	/* both copies are good, and contradict each other */
};

/*
 * Damaged superblocks are findings; none at all, or of a newer format, is an error.
 * Return: 0 or an exit code after fail(), then without anything to free.
 */
int check_device(struct check *c, const struct dev *d, enum findings_as as);
void check_free(struct check *c);

/*
 * What replay takes for a page may be out of date: the newer place was whole once and is
 * not any more, and the journal no longer has what it contained; or two whole places
 * contradict each other.
 */
bool check_page_outdated(const struct oc_super *sb, u32 nr,
			 const struct optcache_table_page *const place[2]);

/* Sound, or with such damage as a power cut leaves or a second copy covers. */
static inline bool check_usable(const struct check *c)
{
	return c->f.worst < OC_EXIT_DAMAGED;
}

#endif /* _OPTCACHECTL_CHECKING_H */
