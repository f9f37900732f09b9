// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mending:
 *
 *	1. the superblock gets the highest epoch that a block of the journal carries: those
 *	   blocks are good, only the latest superblock is lost
 *	2. the table is read; senseless entries are taken out of their pages, pages without
 *	   a good place become empty, slots of outdated pages are in doubt
 *	3. the journal is replayed; over a hole it goes on behind it, and then every slot is
 *	   in doubt that neither its page nor a record behind the hole makes certain
 *	4. of two slots with one block the certain one stays
 */
#include <optcache/order.h>

#include "commit.h"
#include "exits.h"
#include "mending.h"
#include "say.h"

/* ---- table ------------------------------------------------------------- */

static bool page_is_whole(const struct mending *md, u32 nr, const struct optcache_table_page *p)
{
	return p && oc_page_check(p, &md->s.sb.geo, md->s.sb.uuid, nr) != -EBADMSG;
}

static u32 page_slots(const struct mending *md, u32 nr)
{
	return min_t(u32, OPTCACHE_ENTRIES_PER_PAGE,
		     md->s.sb.geo.nr_slots - nr * OPTCACHE_ENTRIES_PER_PAGE);
}

static void seal(const struct mending *md, u32 nr, const struct optcache_table_page *as)
{
	oc_page_seal(md->page, md->s.sb.uuid, nr, le64_to_cpu(as->lsn), le64_to_cpu(as->seq));
}

/* The entries of @from that can stand alone. */
static void take_sane_entries(struct mending *md, u32 nr, const struct optcache_table_page *from)
{
	__le64 good[OPTCACHE_ENTRIES_PER_PAGE] = { 0 };
	u32 i;

	memset(md->page, 0, sizeof(*md->page));
	for (i = 0; i < OPTCACHE_ENTRIES_PER_PAGE; i++) {
		if (!from->entry[i])
			continue;
		md->page->entry[i] = from->entry[i];
		seal(md, nr, from);
		if (!oc_page_check(md->page, &md->s.sb.geo, md->s.sb.uuid, nr))
			good[i] = from->entry[i];
		else if (le64_to_cpu(from->entry[i]) & OPTCACHE_ENTRY_DIRTY)
			md->lost_entries++;
		md->page->entry[i] = 0;
	}
	memcpy(md->page->entry, good, sizeof(good));
	seal(md, nr, from);
}

static const struct optcache_table_page *mend_page(void *arg, u32 nr,
						   const struct optcache_table_page *place[2],
						   int err)
{
	struct mending *md = arg;
	unsigned int p;

	__set_bit(nr, md->both);
	if (err == -EUCLEAN) {
		p = page_is_whole(md, nr, place[1]) &&
		    (!page_is_whole(md, nr, place[0]) ||
		     le64_to_cpu(place[1]->seq) > le64_to_cpu(place[0]->seq));
		take_sane_entries(md, nr, place[p]);
		return md->page;
	}
	/* empty, and older than every record: what the journal says of it is all there is */
	memset(md->page, 0, sizeof(*md->page));
	oc_page_seal(md->page, md->s.sb.uuid, nr, 0, 0);
	md->lost_slots += page_slots(md, nr);
	return md->page;
}

static void doubt_page(struct mending *md, u32 nr)
{
	const u32 first = nr * OPTCACHE_ENTRIES_PER_PAGE;
	u32 i;

	for (i = 0; i < page_slots(md, nr); i++)
		__set_bit(first + i, md->doubt);
}

static void see_page(void *arg, u32 nr, const struct optcache_table_page *place[2], int err)
{
	struct mending *md = arg;
	const u32 first = nr * OPTCACHE_ENTRIES_PER_PAGE;
	unsigned int p;

	if (!err && check_page_outdated(&md->s.sb, nr, place)) {
		doubt_page(md, nr);
		memcpy(&md->before[first], &md->m.slots.word[first],
		       page_slots(md, nr) * sizeof(u64));
		md->lost_slots += page_slots(md, nr);
	}
	/* a bad place is written anew */
	for (p = 0; p < 2; p++)
		if (!err && !page_is_whole(md, nr, place[p]))
			__set_bit(nr, md->m.rp.touched);
}

/* ---- journal ----------------------------------------------------------- */

static void see_undecided(void *arg, const struct oc_intent *in)
{
	struct mending *md = arg;

	ranges_add_block(&md->undecided, &md->s.sb.geo, in->block, in->valid);
}

static void doubt_before(struct mending *md, u64 lsn)
{
	u32 nr;

	for (nr = 0; nr < md->s.sb.geo.nr_pages; nr++)
		if (md->m.rp.page_lsn[nr] < lsn)
			doubt_page(md, nr);
}

/*
 * A slot that records have changed since says what they say.  But for CLEAN, which speaks
 * of whatever the slot held.
 */
static void clear_doubt(struct mending *md)
{
	u32 i;

	for (i = 0; i < md->m.slots.nr; i++)
		if (test_bit(i, md->doubt) &&
		    (md->before[i] ^ md->m.slots.word[i]) & ~OC_WORD_DIRTY)
			__clear_bit(i, md->doubt);
}

static void cross_hole(struct mending *md)
{
	const u64 ring = md->s.sb.geo.journal_size;
	struct oc_replay *rp = &md->m.rp;

	doubt_before(md, md->end.next_lsn);
	md->lost_records += md->end.next_lsn - rp->lsn;
	rp->lsn = md->end.next_lsn;
	rp->offset = md->end.next_offset;
	rp->used = (md->end.next_offset + ring - md->s.sb.tail_offset) % ring;
	memcpy(md->before, md->m.slots.word, (size_t)md->m.slots.nr * sizeof(u64));
	mapping_replay(&md->m);
	clear_doubt(md);
}

/* Pages that stand for records behind the last one: these are gone. */
static void check_lost_end(struct mending *md)
{
	struct oc_replay *rp = &md->m.rp;
	u64 lsn = rp->lsn;
	u32 nr;

	for (nr = 0; nr < md->s.sb.geo.nr_pages; nr++)
		lsn = max(lsn, rp->page_lsn[nr]);
	if (lsn == rp->lsn)
		return;
	doubt_before(md, lsn);
	md->lost_records += lsn - rp->lsn;
	rp->lsn = lsn;
}

static int mend_journal(struct mending *md, const struct mapping_hooks *hooks)
{
	bool crossed;
	const bool stopped = md->s.sb.flags & OPTCACHE_SUPER_CLEAN_STOP;

	clear_doubt(md);
	journal_end_find(&md->m, &md->end);
	crossed = md->end.kind == JOURNAL_END_HOLE;
	while (md->end.kind == JOURNAL_END_HOLE) {
		cross_hole(md);
		/* two blocks with one number: one of them leads nowhere */
		if (md->m.rp.lsn == md->end.next_lsn)
			break;
		journal_end_find(&md->m, &md->end);
	}
	/* nothing follows, and something was there */
	if (md->m.journal_err || md->end.kind == JOURNAL_END_ODD ||
	    (md->end.kind == JOURNAL_END_TORN && stopped)) {
		md->lost_records++;
		doubt_before(md, ~0ULL);
	}
	check_lost_end(md);
	return crossed ? mapping_decide(&md->m, md->dev, hooks) : 0;
}

/* ---- contradictions ------------------------------------------------------ */

/* Slots @a and @b claim the same block. */
static void resolve(struct mending *md, u32 a, u32 b)
{
	if (test_bit(a, md->doubt) || !test_bit(b, md->doubt))
		__set_bit(a, md->drop);
	if (test_bit(b, md->doubt) || !test_bit(a, md->doubt))
		__set_bit(b, md->drop);
}

static int find_contradictions(struct mending *md)
{
	struct mapping *m = &md->m;
	oc_slot_t other;
	bool ending;
	int err;
	u32 i;

	oc_index_exit(&m->index);
	err = oc_index_init(&m->index, &m->slots);
	for (i = 0; !err && i < m->slots.nr; i++) {
		if (!oc_word_current(m->slots.word[i]))
			continue;
		other = oc_index_find_locked(&m->index, oc_word_block(m->slots.word[i]), &ending);
		if (other != OC_NO_SLOT)
			resolve(md, from_slot(other), i);
		if (other == OC_NO_SLOT || test_bit(from_slot(other), md->doubt))
			oc_index_insert(&m->index, to_slot(i));
	}
	return err;
}

/* ---- all of it ------------------------------------------------------------- */

static void sum_up(struct mending *md)
{
	const struct mapping *m = &md->m;
	u32 i;

	for (i = 0; i < m->slots.nr; i++)
		if (oc_word_current(m->slots.word[i]) && !(m->slots.word[i] & OC_WORD_DIRTY) &&
		    (test_bit(i, md->drop) || test_bit(i, md->doubt)))
			md->dropped_clean++;
}

static int list_dirty(struct mending *md)
{
	const struct oc_geometry *geo = &md->s.sb.geo;
	struct oc_order order;
	struct ranges *to;
	u32 i, slot;

	if (oc_order_init(&order, 1U << 16))
		return -ENOMEM;
	while (oc_order_collect(&order, &md->m.slots, true)) {
		for (i = 0; i < order.nr; i++) {
			slot = from_slot(order.item[i].slot);
			to = test_bit(slot, md->drop) ? &md->dropped : &md->doubtful;
			if (test_bit(slot, md->drop) || test_bit(slot, md->doubt))
				ranges_add_block(to, geo, order.item[i].block,
						 oc_word_valid(md->m.slots.word[slot]));
		}
	}
	oc_order_exit(&order);
	return md->dropped.full || md->doubtful.full ? -ENOMEM : 0;
}

/* Replay must reach the blocks of the latest epoch. */
static int find_epoch(struct mending *md)
{
	struct mapping m;
	struct journal_end end;
	int err = mapping_load(&m, md->dev, &md->s.sb, NULL);

	if (err)
		return err;
	journal_end_find(&m, &end);
	mapping_free(&m);
	/* of an earlier stop: the cache itself has written the origin since */
	if (end.max_epoch > md->s.sb.epoch)
		md->s.sb.nr_samples = 0;
	md->s.sb.epoch = max(md->s.sb.epoch, end.max_epoch);
	md->epoch = md->s.sb.epoch;
	return 0;
}

static int load(struct mending *md)
{
	const struct mapping_hooks hooks = {
		.seen = see_page, .mend = mend_page, .undecided = see_undecided, .arg = md,
	};
	const struct oc_geometry *geo = &md->s.sb.geo;
	int err;

	md->doubt = calloc(BITS_TO_LONGS(geo->nr_slots), sizeof(long));
	md->before = calloc(geo->nr_slots, sizeof(u64));
	md->drop = calloc(BITS_TO_LONGS(geo->nr_slots), sizeof(long));
	md->both = calloc(BITS_TO_LONGS(geo->nr_pages), sizeof(long));
	md->page = dev_buffer(sizeof(*md->page));
	if (!md->doubt || !md->before || !md->drop || !md->both || !md->page)
		return -ENOMEM;
	err = find_epoch(md);
	if (!err)
		err = mapping_load(&md->m, md->dev, &md->s.sb, &hooks);
	if (err)
		return err;
	md->loaded = true;
	err = mend_journal(md, &hooks);
	oc_slots_recount(&md->m.slots);
	if (!err)
		err = find_contradictions(md);
	if (!err)
		err = list_dirty(md);
	sum_up(md);
	return err;
}

int mending_load(struct mending *md, const struct dev *d)
{
	int code, err;

	*md = (struct mending){ .dev = d };
	code = supers_need(d, &md->s);
	if (code)
		return code;
	err = load(md);
	if (!err)
		return 0;
	mending_free(md);
	return fail(OC_EXIT_OS, "Free some memory and try again",
		    "cannot read the mapping of %s (%s)", d->path, strerror(-err));
}

void mending_free(struct mending *md)
{
	if (md->loaded)
		mapping_free(&md->m);
	md->loaded = false;
	free(md->doubt);
	free(md->before);
	free(md->drop);
	free(md->both);
	free(md->page);
	ranges_free(&md->doubtful);
	ranges_free(&md->dropped);
	ranges_free(&md->undecided);
}

int mending_commit(struct mending *md, bool keep_dirty)
{
	struct mapping *m = &md->m;
	u64 word;
	u32 i;

	for (i = 0; i < m->slots.nr; i++) {
		word = m->slots.word[i];
		if (!oc_word_current(word))
			continue;
		if (test_bit(i, md->drop) ||
		    (test_bit(i, md->doubt) && !(keep_dirty && word & OC_WORD_DIRTY)))
			commit_word(m, i, 0);
	}
	for (i = 0; i < md->s.sb.geo.nr_pages; i++)
		if (test_bit(i, md->both))
			__set_bit(i, m->rp.touched);
	return commit(md->dev, &md->s, m, md->epoch, md->both);
}
