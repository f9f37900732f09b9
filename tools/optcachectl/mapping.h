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
	unsigned long *unreadable;	/* bit a page of it */
	u64 journal_blocks;	/* replayed */
	u32 bad_pages;
	u32 undecided;		/* slots whose write was cut off, and cannot be read now */
	u32 journal_unreadable;	/* its pages that could not be read, replay needing them or not */
	int journal_err;	/* 0: replayed to its end */
	int finish_err;
	oc_slot_t bad_slot;	/* of finish_err */
};

/* What somebody who looks closer is told, and may change.  Each may be NULL. */
struct mapping_hooks {
	/*
	 * Of every page of the table.  @place: as read, NULL when unreadable; @err: 0 or
	 * why the page is lost.
	 */
	void (*seen)(void *arg, u32 nr, const struct optcache_table_page *place[2], int err);
	/* Another version of such a page, or NULL. */
	const struct optcache_table_page *(*mend)(void *arg, u32 nr,
						  const struct optcache_table_page *place[2],
						  int err);
	/* Of data that was being written at the journal's end, and cannot be read. */
	void (*undecided)(void *arg, const struct oc_intent *in);
	void *arg;
};

/*
 * @hooks may be NULL.  Damage does not end the loading; see the fields above.  Counters
 * and lists of dirty slots are right in any case, the index only without damage.
 * Return: 0 or -errno when there is not even a start (memory).
 */
int mapping_load(struct mapping *m, const struct dev *d, const struct oc_super *sb,
		 const struct mapping_hooks *hooks);

/* Replay on, from m->rp to the next end; then what stands undecided there. */
void mapping_replay(struct mapping *m);
int mapping_decide(struct mapping *m, const struct dev *d, const struct mapping_hooks *hooks);
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
