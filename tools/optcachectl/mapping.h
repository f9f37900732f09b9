/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a cache device maps: superblock, table and journal read into the core's
 * slots, exactly as the module does it at activation.  Writes nothing.
 */
#ifndef _OPTCACHECTL_MAPPING_H
#define _OPTCACHECTL_MAPPING_H

#include <optcache/replay.h>

#include "dev.h"

struct mapping {
	const struct oc_super *sb;
	struct oc_slots slots;
	struct oc_index index;
	struct oc_replay rp;
	char *journal;		/* the whole ring */
	u64 journal_blocks;	/* replayed */
	u64 bad_pages;
	u64 undecided;		/* slots whose write was cut off, and cannot be read now */
	int journal_err;	/* 0: read and replayed to its end */
	int finish_err;
	oc_slot_t bad_slot;	/* of finish_err */
};

/*
 * Told of every page of the table, before it is used.  @place: as read, NULL when
 * unreadable; @err: 0 or why the page is lost.
 */
typedef void (*mapping_page_fn)(void *arg, u32 nr, const struct optcache_table_page *place[2],
				int err);

/*
 * @page may be NULL.  Damage does not end the loading; see the fields above.
 * Return: 0 or -errno when there is not even a start (memory).
 */
int mapping_load(struct mapping *m, const struct dev *d, const struct oc_super *sb,
		 mapping_page_fn page, void *arg);
void mapping_free(struct mapping *m);

static inline bool mapping_damaged(const struct mapping *m)
{
	return m->bad_pages || m->journal_err || m->finish_err || m->undecided;
}

/* A run of slots that hold neighbouring blocks in the same state. */
struct mapping_run {
	u32 slot;
	u64 block;
	u32 count;
	u8 valid;
	bool dirty;
};

/* The first run at or after slot @from.  Return: false when there is none. */
bool mapping_next_run(const struct mapping *m, u32 from, struct mapping_run *run);

#endif /* _OPTCACHECTL_MAPPING_H */
