/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a generated cache holds, as functions of a seed: nothing is stored, so every
 * slot, page and journal record can be asked for alone, by the writer and by the checker.
 *
 * A full cache: slot i held block f(i), f scattering over the lower half of the origin
 * without meeting itself.  Then came the journal: events, each on a run of slots of its
 * own, in a cycle of four:
 *
 *	CLEAN	the run was dirty and is clean
 *	MOVE	UNMAP, then MAP to new blocks, dirty
 *	FILL	MAP of the same blocks with all sectors, dirty
 *	DROP	UNMAP
 *
 * Some pages of the table had been written in the middle of it and contain the first half of
 * the records.
 */
#ifndef _MODEL_H
#define _MODEL_H

#include <optcache/format.h>
#include <optcache/slots.h>

struct model {
	struct oc_super sb;
	u64 seed;
	bool full;		/* else every slot is free */
	u32 dirty;		/* percent of the slots, before the journal */
	u32 events;
	u32 samples;		/* slots whose data is written, too */

	/* derived */
	u32 stride;		/* one event in so many slots */
	u32 bits;		/* f scatters over 2^bits blocks */
	u64 records;
};

/* Fill in the derived fields and the superblock.  Return: NULL or what is wrong. */
const char *model_init(struct model *m, const struct oc_geometry *geo, bool clean_stop);

/* The word of a slot, by the first @lsn - 1 records (~0: all). */
u64 model_word(const struct model *m, u32 slot, u64 lsn);

/* The block that a dropped or moved slot held before, if it did; else false. */
bool model_old_block(const struct model *m, u32 slot, u64 *block);

void model_page(const struct model *m, u32 nr, struct optcache_table_page place[2]);
void model_record(const struct model *m, u64 nr, struct optcache_record *disk);

/* The slot of sample @i: in turn anywhere, and where the journal was. */
u32 model_sample(const struct model *m, u32 i);

/* The data of a block. */
void model_data(const struct model *m, u64 block, void *to);

u64 model_hash(const struct model *m, u64 what, u64 n);

#endif /* _MODEL_H */
