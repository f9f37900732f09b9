// SPDX-License-Identifier: GPL-2.0-only
/* Looking behind the journal's end. */
#include "journal_end.h"

/*
 * Of magic, uuid and "number and epoch" two fit: this was to be the next block,
 * whichever byte of it was hit.
 */
static bool looks_like_next(const struct mapping *m, u64 offset)
{
	const struct optcache_journal_header *h = (const void *)(m->journal + offset);
	u64 epoch = le64_to_cpu(h->epoch);
	unsigned int fits = 0;

	fits += le32_to_cpu(h->magic) == OPTCACHE_JOURNAL_MAGIC;
	fits += !memcmp(h->uuid, m->sb->uuid, OPTCACHE_UUID_SIZE);
	if (le64_to_cpu(h->lsn) == m->rp.lsn)
		fits += epoch >= m->rp.epoch && epoch <= m->sb->epoch ? 2 : 1;
	return fits >= 2 && (le64_to_cpu(h->lsn) == m->rp.lsn || fits > 2);
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
	if (looks_like_next(m, m->rp.offset))
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
