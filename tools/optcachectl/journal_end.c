// SPDX-License-Identifier: GPL-2.0-only
/* Looking behind the journal's end. */
#include "journal_end.h"

/* The checksum of the block at @offset is right, whatever the block is. */
static bool is_whole(const struct mapping *m, u64 offset)
{
	const struct optcache_journal_header *h = (const void *)(m->journal + offset);
	u32 size, nr;
	u64 epoch;

	return !oc_journal_open(h, m->sb->geo.journal_size - offset, &m->sb->geo, m->sb->uuid, 0,
				~0ULL, le64_to_cpu(h->lsn), &size, &nr, &epoch);
}

/*
 * Of magic, uuid and "number and epoch" two fit: a block of this cache, whichever byte
 * of it was hit.  A whole one is of an earlier lap.  Blocks are written in the order of
 * their place, so an earlier one that starts just here has not been overwritten in part.
 */
static bool is_torn(const struct mapping *m, u64 offset)
{
	const struct optcache_journal_header *h = (const void *)(m->journal + offset);
	u64 epoch = le64_to_cpu(h->epoch);
	unsigned int fits = 0;

	/* from before the last recovery: torn then, and settled by it */
	if (epoch < m->sb->tail_epoch)
		return false;
	fits += le32_to_cpu(h->magic) == OPTCACHE_JOURNAL_MAGIC;
	fits += !memcmp(h->uuid, m->sb->uuid, OPTCACHE_UUID_SIZE);
	fits += le64_to_cpu(h->lsn) == m->rp.lsn && epoch >= m->rp.epoch && epoch <= m->sb->epoch;
	return fits >= 2 && !is_whole(m, offset);
}

/* A whole block that only exists if the ones between it and the end once did. */
static bool is_later_block(const struct mapping *m, u64 offset, u64 *lsn)
{
	const struct optcache_journal_header *h = (const void *)(m->journal + offset);
	u32 size, nr;
	u64 epoch;

	*lsn = le64_to_cpu(h->lsn);
	if (*lsn <= m->rp.lsn)
		return false;
	return !oc_journal_open(h, m->sb->geo.journal_size - offset, &m->sb->geo, m->sb->uuid,
				m->rp.epoch, m->sb->epoch, *lsn, &size, &nr, &epoch);
}

void journal_end_find(const struct mapping *m, struct journal_end *end)
{
	const u64 size = m->sb->geo.journal_size, unit = m->sb->geo.journal_unit;
	u64 i, at, lsn;

	*end = (struct journal_end){ .kind = JOURNAL_END_PLAIN, .offset = m->rp.offset };
	if (m->rp.used >= size)
		return;
	if (is_torn(m, m->rp.offset))
		end->kind = JOURNAL_END_TORN;

	for (i = m->rp.used; i < size; i += unit) {
		at = (m->sb->tail_offset + i) % size;
		if (!is_later_block(m, at, &lsn))
			continue;
		if (end->kind == JOURNAL_END_HOLE && lsn >= end->next_lsn)
			continue;
		end->kind = JOURNAL_END_HOLE;
		end->next_offset = at;
		end->next_lsn = lsn;
	}
}
