// SPDX-License-Identifier: GPL-2.0-only
/* Looking behind the journal's end. */
#include "journal_end.h"

#define IN_FLIGHT	3	/* blocks that a power cut can hit, in any order */

struct block {
	u64 epoch, lsn;
	u32 size, nr;
};

/* The checksum of the block at @offset is right, whatever the block is. */
static bool is_whole(const struct mapping *m, u64 offset, struct block *b)
{
	const struct optcache_journal_header *h = (const void *)(m->journal + offset);

	b->lsn = le64_to_cpu(h->lsn);
	return !oc_journal_open(h, m->sb->geo.journal_size - offset, &m->sb->geo, m->sb->uuid, 0,
				~0ULL, b->lsn, &b->size, &b->nr, &b->epoch);
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
	struct block b;

	/* from before the last recovery: torn then, and settled by it */
	if (epoch && epoch < m->sb->tail_epoch)
		return false;
	fits += le32_to_cpu(h->magic) == OPTCACHE_JOURNAL_MAGIC;
	fits += !memcmp(h->uuid, m->sb->uuid, OPTCACHE_UUID_SIZE);
	fits += le64_to_cpu(h->lsn) == m->rp.lsn && epoch >= m->rp.epoch && epoch <= m->sb->epoch;
	return fits >= 2 && !is_whole(m, offset, &b);
}

/* It was written after one that is not there. */
static bool is_later(const struct mapping *m, u64 at, const struct block *b)
{
	return at != m->rp.offset && b->lsn >= m->rp.lsn && b->epoch >= m->rp.epoch &&
	       b->epoch <= m->sb->epoch;
}

/*
 * The superblock's number is further from the newest block than all blocks of the ring
 * could have records.
 */
static bool is_far(const struct mapping *m, u64 newest)
{
	const u64 most = m->sb->geo.journal_size / sizeof(struct optcache_record);

	return newest && m->rp.lsn > newest && m->rp.lsn - newest > most;
}

/*
 * Nothing was replayed, so the end is where the superblock says.  A whole block of the
 * same epoch just before it is the last one that was written: the numbers go on.  And the
 * block with the next number is not from an earlier epoch: that epoch's last blocks were
 * replayed before the new one began.
 */
static bool is_odd(const struct mapping *m, u64 at, const struct block *b)
{
	if (m->rp.used)
		return false;
	if (at == m->rp.offset)
		return b->lsn == m->rp.lsn;
	return (at + b->size) % m->sb->geo.journal_size == m->rp.offset &&
	       b->lsn + b->nr != m->rp.lsn && b->epoch == m->sb->tail_epoch;
}

static void look_at(const struct mapping *m, struct journal_end *end, u64 at,
		    const struct block *b)
{
	end->max_epoch = max(end->max_epoch, b->epoch);
	if (is_later(m, at, b)) {
		end->later++;
		if (end->kind == JOURNAL_END_HOLE && b->lsn >= end->next_lsn)
			return;
		end->kind = JOURNAL_END_HOLE;
		end->next_offset = at;
		end->next_lsn = b->lsn;
	} else if (is_odd(m, at, b) && end->kind != JOURNAL_END_HOLE) {
		end->kind = JOURNAL_END_ODD;
	}
}

void journal_end_find(const struct mapping *m, struct journal_end *end)
{
	const u64 size = m->sb->geo.journal_size, unit = m->sb->geo.journal_unit;
	u64 at, newest = 0;
	struct block b;

	*end = (struct journal_end){ .kind = JOURNAL_END_PLAIN, .offset = m->rp.offset };
	if (m->rp.used < size && is_torn(m, m->rp.offset))
		end->kind = JOURNAL_END_TORN;
	for (at = 0; at < size; at += unit) {
		if (!is_whole(m, at, &b))
			continue;
		look_at(m, end, at, &b);
		newest = max(newest, b.lsn + b.nr);
	}
	if (end->kind == JOURNAL_END_HOLE && end->later < IN_FLIGHT)
		end->kind = JOURNAL_END_TORN;
	if (end->kind != JOURNAL_END_HOLE && is_far(m, newest))
		end->kind = JOURNAL_END_ODD;
}
