// SPDX-License-Identifier: GPL-2.0-only
/*
 * Committing a mapping:
 *
 *	1. every touched page to the place that does not hold its current version, as one
 *	   that stands for all records up to the journal's end; flush.  Where a write that
 *	   was under way at the end has won over a clean slot, the page of that slot goes
 *	   first, with all such writes still undecided
 *	2. the superblock, first over the copy that is not the latest, then over the other,
 *	   each flushed: the tail moves to the journal's end, under a new epoch
 *	3. what lies at the tail is erased
 *
 * Cut within 1: activation replays the same journal, and skips what the new pages
 * contain.  Pages are exact with the records below their lsn, and there are none above.
 * What is undecided in the journal is decided the same again, unless a page has it.
 * Cut within 2: either superblock goes with the pages.  The new epoch keeps out whatever
 * block lay behind the end, should it turn out to be readable after all.
 */
#include "commit.h"

#define COUNTER_END	(1ULL << 63)

void commit_word(struct mapping *m, u32 slot, u64 word)
{
	m->slots.word[slot] = word;
	__set_bit(slot / OPTCACHE_ENTRIES_PER_PAGE, m->rp.touched);
}

/* @hide: bit a slot, its entry is empty; may be NULL */
static int write_page(const struct dev *d, const struct mapping *m, u32 nr, unsigned int place,
		      u64 seq, const unsigned long *hide, struct optcache_table_page *page)
{
	const u32 first = nr * OPTCACHE_ENTRIES_PER_PAGE;
	const u32 n = min_t(u32, OPTCACHE_ENTRIES_PER_PAGE, m->slots.nr - first);
	u32 i;

	memset(page, 0, sizeof(*page));
	for (i = 0; i < n; i++)
		if (!hide || !test_bit(first + i, hide))
			page->entry[i] = cpu_to_le64(oc_entry_encode(m->slots.word[first + i]));
	oc_page_seal(page, m->sb->uuid, nr, m->rp.lsn, seq);
	return dev_write(d, page, sizeof(*page), oc_page_offset(&m->sb->geo, nr, place));
}

/* The pages of slots that lose their block to an INTENT, before those of the winners. */
static int write_losers(const struct dev *d, struct mapping *m, void *buf)
{
	unsigned long *hide = calloc(BITS_TO_LONGS(m->slots.nr), sizeof(long));
	unsigned long *pages = calloc(BITS_TO_LONGS(m->sb->geo.nr_pages), sizeof(long));
	const struct oc_intent *in;
	int err = hide && pages ? 0 : -ENOMEM;
	u32 nr;

	for (in = m->rp.intent; !err && in < m->rp.intent + m->rp.nr_intents; in++) {
		if (!in->extends)
			__set_bit(from_slot(in->slot), hide);
		if (in->old != OC_NO_SLOT)
			__set_bit(from_slot(in->old) / OPTCACHE_ENTRIES_PER_PAGE, pages);
	}
	for (nr = 0; !err && nr < m->sb->geo.nr_pages; nr++) {
		if (!test_bit(nr, pages))
			continue;
		err = write_page(d, m, nr, !test_bit(nr, m->rp.place), ++m->rp.page_seq[nr], hide,
				 buf);
		if (test_bit(nr, m->rp.place))
			__clear_bit(nr, m->rp.place);
		else
			__set_bit(nr, m->rp.place);
	}
	free(hide);
	free(pages);
	return err ? err : dev_sync(d);
}

static int write_pages(const struct dev *d, const struct mapping *m, const unsigned long *both,
		       void *buf)
{
	const u32 nr_pages = m->sb->geo.nr_pages;
	unsigned int place;
	int err = 0;
	u64 seq;
	u32 nr;

	for (nr = find_next_bit(m->rp.touched, nr_pages, 0); !err && nr < nr_pages;
	     nr = find_next_bit(m->rp.touched, nr_pages, nr + 1)) {
		place = !test_bit(nr, m->rp.place);
		seq = m->rp.page_seq[nr] + 1;
		if (seq >= COUNTER_END)
			return -EOVERFLOW;
		err = write_page(d, m, nr, place, seq, NULL, buf);
		if (!err && both && test_bit(nr, both))
			err = write_page(d, m, nr, !place, seq + 1, NULL, buf);
	}
	return err ? err : dev_sync(d);
}

static int write_supers(const struct dev *d, const struct supers *s, struct oc_super *sb,
			void *buf)
{
	unsigned int i, copy;
	int err = 0;

	for (i = 0; !err && i < OPTCACHE_SUPER_COPIES; i++) {
		copy = i ? s->which : !s->which;
		sb->seq++;
		oc_super_encode(sb, buf);
		err = dev_write(d, buf, OPTCACHE_PAGE_SIZE, (u64)copy * OPTCACHE_PAGE_SIZE);
		if (!err)
			err = dev_sync(d);
	}
	return err;
}

int commit_forget_fingerprint(const struct dev *d, struct supers *s, bool stale)
{
	void *buf;
	int err;

	s->sb.nr_samples = 0;
	if (stale)
		s->sb.flags |= OPTCACHE_SUPER_STALE;
	if (s->sb.seq >= COUNTER_END)
		return -EOVERFLOW;
	buf = dev_buffer(OPTCACHE_PAGE_SIZE);
	if (!buf)
		return -ENOMEM;
	err = write_supers(d, s, &s->sb, buf);
	free(buf);
	return err;
}

static int erase_tail(const struct dev *d, const struct oc_super *sb, void *buf)
{
	int err;

	memset(buf, 0, OPTCACHE_PAGE_SIZE);
	err = dev_write(d, buf, sb->geo.journal_unit, sb->geo.journal_start + sb->tail_offset);
	return err ? err : dev_sync(d);
}

int commit(const struct dev *d, const struct supers *s, struct mapping *m, u64 epoch,
	   const unsigned long *both)
{
	struct oc_super sb = s->sb;
	void *buf;
	int err;

	sb.epoch = epoch + 1;
	sb.generation++;
	sb.tail_epoch = sb.epoch;
	sb.tail_lsn = m->rp.lsn;
	sb.tail_offset = m->rp.offset;
	sb.flags |= OPTCACHE_SUPER_CLEAN_STOP;
	if (epoch >= COUNTER_END || sb.seq >= COUNTER_END || sb.generation >= COUNTER_END ||
	    sb.tail_lsn >= COUNTER_END)
		return -EOVERFLOW;

	buf = dev_buffer(OPTCACHE_PAGE_SIZE);
	if (!buf)
		return -ENOMEM;
	err = m->rp.nr_intents ? write_losers(d, m, buf) : 0;
	if (!err)
		err = write_pages(d, m, both, buf);
	if (!err)
		err = write_supers(d, s, &sb, buf);
	if (!err)
		err = erase_tail(d, &sb, buf);
	free(buf);
	return err;
}
