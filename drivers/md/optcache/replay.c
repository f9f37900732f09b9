// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery without I/O.
 *
 * Words are written straight into the slots, which nobody else uses yet; only
 * oc_replay_finish() makes counters, free map and index agree with them.  All
 * decisions are made in memory, so a recovery that is cut starts again from the
 * same bytes.
 */
#include <optcache/replay.h>

/* ---- life ------------------------------------------------------------ */

int oc_replay_init(struct oc_replay *rp, const struct oc_super *sb, struct oc_slots *slots)
{
	const u32 pages = sb->geo.nr_pages;

	memset(rp, 0, sizeof(*rp));
	rp->sb = sb;
	rp->slots = slots;
	rp->offset = sb->tail_offset;
	rp->lsn = sb->tail_lsn;
	rp->epoch = sb->tail_epoch;
	rp->page_lsn = oc_zalloc((size_t)pages * sizeof(*rp->page_lsn));
	rp->page_seq = oc_zalloc((size_t)pages * sizeof(*rp->page_seq));
	rp->place = oc_zalloc(BITS_TO_LONGS(pages) * sizeof(long));
	rp->touched = oc_zalloc(BITS_TO_LONGS(pages) * sizeof(long));
	if (!rp->page_lsn || !rp->page_seq || !rp->place || !rp->touched) {
		oc_replay_exit(rp);
		return -ENOMEM;
	}
	return 0;
}

void oc_replay_exit(struct oc_replay *rp)
{
	oc_free(rp->intent);
	oc_free(rp->touched);
	oc_free(rp->place);
	oc_free(rp->page_seq);
	oc_free(rp->page_lsn);
	memset(rp, 0, sizeof(*rp));
}

/* ---- table ----------------------------------------------------------- */

static int place_check(const struct oc_replay *rp, u32 nr, const struct optcache_table_page *page)
{
	return page ? oc_page_check(page, &rp->sb->geo, rp->sb->uuid, nr) : -EBADMSG;
}

static void page_load(struct oc_replay *rp, u32 nr, const struct optcache_table_page *page)
{
	struct oc_slots *s = rp->slots;
	const u32 first = nr * OPTCACHE_ENTRIES_PER_PAGE;
	const u32 n = min_t(u32, OPTCACHE_ENTRIES_PER_PAGE, s->nr - first);
	u32 i;

	for (i = 0; i < n; i++)
		s->word[first + i] = oc_entry_word(le64_to_cpu(page->entry[i]));
	rp->page_lsn[nr] = le64_to_cpu(page->lsn);
	rp->page_seq[nr] = le64_to_cpu(page->seq);
}

/*
 * The place with the higher seq wins among those whole by their checksum.  If it
 * then has senseless entries the older one is no way out: the journal reaches back
 * to the newer one only.
 */
int oc_replay_page(struct oc_replay *rp, u32 nr, const struct optcache_table_page *place0,
		   const struct optcache_table_page *place1)
{
	const int err0 = place_check(rp, nr, place0);
	const int err1 = place_check(rp, nr, place1);
	bool second;

	if (err0 == -EBADMSG && err1 == -EBADMSG)
		return -EBADMSG;
	if (err0 == -EBADMSG || err1 == -EBADMSG)
		second = err0 == -EBADMSG;
	else
		second = le64_to_cpu(place1->seq) > le64_to_cpu(place0->seq);

	if (second ? err1 : err0)
		return second ? err1 : err0;
	page_load(rp, nr, second ? place1 : place0);
	if (second)
		__set_bit(nr, rp->place);
	return 0;
}

/* ---- journal --------------------------------------------------------- */

/* The word of @slot after @r, which names it as its number @i. */
static u64 record_word(const struct oc_record *r, u32 i, u64 word)
{
	switch (r->type) {
	case OPTCACHE_REC_MAP:
		word = oc_word_make(oblock_add(r->block, i), r->valid, OC_LIVE);
		return r->dirty ? word | OC_WORD_DIRTY : word;
	case OPTCACHE_REC_UNMAP:
		return 0;
	default:	/* CLEAN: oc_record_decode() lets nothing else through */
		return word & ~OC_WORD_DIRTY;
	}
}

#define WAITING_SHIFT	OC_WORD_FREQ_SHIFT	/* 8 bits: sectors of an INTENT that extends */
#define WAITING		(0xffULL << WAITING_SHIFT)

static_assert(!(WAITING & (OC_WORD_BLOCK | OC_WORD_STATE | OC_WORD_DIRTY)));

/* An INTENT stands for this slot, which holds nothing, */
static bool intended(u64 word)
{
	return oc_word_state(word) == OC_DEAD;
}

/* or other sectors. */
static bool waiting(u64 word)
{
	return word & WAITING;
}

/* Return: false if it names a slot that cannot have been written to so. */
static bool intent_apply(struct oc_replay *rp, const struct oc_record *r, u64 lsn)
{
	const u32 slot = from_slot(r->slot);
	const u32 page = slot / OPTCACHE_ENTRIES_PER_PAGE;
	const bool contained = lsn < rp->page_lsn[page];
	u64 *word = &rp->slots->word[slot];

	if (intended(*word) || waiting(*word))
		return false;
	if (!*word)
		*word = oc_word_make(r->block, r->valid, OC_DEAD);
	else if (oc_word_block(*word) == r->block && *word & OC_WORD_DIRTY &&
		 (contained || !(oc_word_valid(*word) & r->valid)))
		*word |= (u64)r->valid << WAITING_SHIFT;
	else
		return contained;	/* it was followed by what the page says */
	rp->slots->next[slot] = r->crc;
	__set_bit(page, rp->touched);
	return true;
}

/* @r is contained in the page; what the page does not know is the INTENT that it follows. */
static u64 resolved(const struct oc_record *r, u64 word)
{
	if (r->type == OPTCACHE_REC_CLEAN)
		return word;
	return intended(word) ? 0 : word & ~WAITING;
}

static void record_apply(struct oc_replay *rp, const struct oc_record *r, u64 lsn)
{
	u32 i;

	for (i = 0; i < r->count; i++) {
		const u32 slot = from_slot(r->slot) + i;
		const u32 page = slot / OPTCACHE_ENTRIES_PER_PAGE;
		u64 *word = &rp->slots->word[slot];
		const u64 new = lsn < rp->page_lsn[page] ? resolved(r, *word)
							 : record_word(r, i, *word);

		if (new == *word)
			continue;
		*word = new;
		__set_bit(page, rp->touched);
	}
}

int oc_replay_block(struct oc_replay *rp, const void *buf, size_t avail)
{
	const struct oc_super *sb = rp->sb;
	const struct optcache_record *disk = buf + sizeof(struct optcache_journal_header);
	struct oc_record r;
	u32 size, nr, i;
	u64 epoch;
	int err;

	avail = min_t(u64, avail, sb->geo.journal_size - rp->offset);
	err = oc_journal_open(buf, avail, &sb->geo, sb->uuid, rp->epoch, sb->epoch, rp->lsn,
			      &size, &nr, &epoch);
	if (err)
		return err;
	if (size > sb->geo.journal_size - rp->used)
		return -ENODATA;

	for (i = 0; i < nr; i++)
		if (oc_record_decode(&r, &disk[i], &sb->geo))
			return -EUCLEAN;
	for (i = 0; i < nr; i++) {
		oc_record_decode(&r, &disk[i], &sb->geo);
		if (r.type != OPTCACHE_REC_INTENT)
			record_apply(rp, &r, rp->lsn + i);
		else if (!intent_apply(rp, &r, rp->lsn + i))
			return -EUCLEAN;
	}

	rp->lsn += nr;
	rp->nr_records += nr;
	rp->epoch = epoch;
	rp->used += size;
	rp->offset += size;
	if (rp->offset == sb->geo.journal_size)
		rp->offset = 0;
	return 0;
}

/* ---- end ------------------------------------------------------------- */

/*
 * A page that stands for records beyond the end of the journal: a part of the
 * journal that was durable is lost, and new records with the same numbers would
 * be taken for contained in the page.
 */
static bool replay_lost_journal(const struct oc_replay *rp)
{
	u32 page;

	for (page = 0; page < rp->sb->geo.nr_pages; page++)
		if (rp->page_lsn[page] > rp->lsn)
			return true;
	return false;
}

static struct oc_intent intent_of(const struct oc_slots *s, u32 slot)
{
	const u64 w = s->word[slot];

	return (struct oc_intent) {
		.slot = to_slot(slot),
		.old = OC_NO_SLOT,
		.block = oc_word_block(w),
		.crc = s->next[slot],
		.valid = waiting(w) ? w >> WAITING_SHIFT : oc_word_valid(w),
		.extends = waiting(w),
	};
}

/* Of one page, from intent[nr] on.  @intent: NULL to count only.  Return: how many then. */
static u32 collect_page(const struct oc_replay *rp, u32 page, struct oc_intent *intent, u32 nr)
{
	const struct oc_slots *s = rp->slots;
	u32 i = page * OPTCACHE_ENTRIES_PER_PAGE;
	const u32 end = min_t(u32, i + OPTCACHE_ENTRIES_PER_PAGE, s->nr);

	for (; i < end; i++) {
		if (!intended(s->word[i]) && !waiting(s->word[i]))
			continue;
		if (intent)
			intent[nr] = intent_of(s, i);
		nr++;
	}
	return nr;
}

static u32 collect(const struct oc_replay *rp, struct oc_intent *intent)
{
	u32 page, nr = 0;

	for_each_set_bit(page, rp->touched, rp->sb->geo.nr_pages) {
		nr = collect_page(rp, page, intent, nr);
		cond_resched();
	}
	return nr;
}

int oc_replay_collect(struct oc_replay *rp)
{
	u32 i, slot;

	rp->nr_intents = collect(rp, NULL);
	if (!rp->nr_intents)
		return 0;
	rp->intent = oc_zalloc((size_t)rp->nr_intents * sizeof(*rp->intent));
	if (!rp->intent)
		return -ENOMEM;
	collect(rp, rp->intent);
	for (i = 0; i < rp->nr_intents; i++) {
		slot = from_slot(rp->intent[i].slot);
		rp->slots->next[slot] = 0;
		rp->slots->word[slot] &= ~WAITING;
	}
	return 0;
}

u32 oc_intent_crc(const struct oc_intent *in, const void *data)
{
	u32 crc = ~0U, i, n;

	for (i = 0; i < OPTCACHE_SECTORS_PER_BLOCK; i += n) {
		for (n = 0; i + n < OPTCACHE_SECTORS_PER_BLOCK && in->valid & (1U << (i + n));)
			n++;
		crc = oc_data_crc(crc, data + (i << 9), n << 9);
		n += !n;
	}
	return crc;
}

/* What the slot holds beside is mapped by records of its own. */
static bool settle_extending(struct oc_replay *rp, const struct oc_intent *in)
{
	u64 *word = &rp->slots->word[from_slot(in->slot)];

	*word = oc_word_with_state(*word, OC_SEALED);
	if (in->landed)
		*word |= (u64)in->valid << OC_WORD_VALID_SHIFT;
	return true;
}

/*
 * Its write held the block until a MAP or UNMAP was appended, and none was: so it is newer
 * than whatever maps the block, and that is clean.  Return: false if not so.
 */
static bool settle(struct oc_replay *rp, struct oc_index *ix, struct oc_intent *in)
{
	struct oc_slots *s = rp->slots;
	bool ending;
	u64 was;

	if (in->extends)
		return settle_extending(rp, in);
	if (!in->landed) {
		oc_index_insert(ix, in->slot);
		return true;
	}
	in->old = oc_index_find_locked(ix, in->block, &ending);
	if (in->old != OC_NO_SLOT) {
		if (oc_slot_read(s, in->old) & OC_WORD_DIRTY)
			return false;
		oc_slot_kill(s, in->old, 0, &was);
	}
	oc_slot_install(s, in->slot,
			oc_word_make(in->block, in->valid, OC_SEALED) | OC_WORD_DIRTY);
	oc_index_insert(ix, in->slot);
	return true;
}

int oc_replay_finish(struct oc_replay *rp, struct oc_index *ix, oc_slot_t *bad_slot)
{
	int err;
	u32 i;

	*bad_slot = OC_NO_SLOT;
	if (replay_lost_journal(rp))
		return -EUCLEAN;
	oc_slots_recount(rp->slots);
	err = oc_index_build(ix, bad_slot);
	for (i = 0; !err && i < rp->nr_intents; i++) {
		if (settle(rp, ix, &rp->intent[i]))
			continue;
		*bad_slot = rp->intent[i].slot;
		err = -EUCLEAN;
	}
	return err;
}
