/* SPDX-License-Identifier: GPL-2.0-only */
/* A mapping that was loaded, and changed in memory, becomes that of its cache device. */
#ifndef _OPTCACHECTL_COMMIT_H
#define _OPTCACHECTL_COMMIT_H

#include "mapping.h"
#include "supers.h"

/* Changes the word of a slot in @m; commit() will write its page. */
void commit_word(struct mapping *m, u32 slot, u64 word);

/**
 * commit_forget_fingerprint - for the time before the origin is written
 * @s: as the device has them afterwards
 * @stale: a stranger has written it: what is clean will be dropped
 *
 * Otherwise, when that is cut, activation takes our own writes for a stranger's, or no
 * longer sees his.  Return: 0 or -errno.
 */
int commit_forget_fingerprint(const struct dev *d, struct supers *s, bool stale);

/**
 * commit - write the pages that replay or commit_word() touched, then the superblocks
 * @s: the copies that @m was loaded with; their contents are changed on the device
 * @epoch: not below any epoch that a block of the journal carries
 * @both: bit a page: no place of it is good, write both; may be NULL
 *
 * Cut anywhere, the device has the old mapping or the new one, or pages of both, which
 * differ only in what both call right.  Afterwards the journal is empty and the cache
 * stopped in order.  Return: 0 or -errno (-EOVERFLOW: a counter is at its end).
 */
int commit(const struct dev *d, const struct supers *s, struct mapping *m, u64 epoch,
	   const unsigned long *both);

#endif /* _OPTCACHECTL_COMMIT_H */
