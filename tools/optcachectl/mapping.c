// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading a mapping:
 *
 *	1. every page of the table, 128 at a time; where a large read fails, place
 *	   by place
 *	2. the journal ring in one piece; or page by page as well
 *	3. replay from the superblock's tail to the journal's end
 *	4. the data of writes that were under way there is compared with their checksums
 *	5. the core builds its index and finds what contradicts itself
 *	6. what was decided in 4 looks as if the journal had said so
 */
#include "mapping.h"

#define PAGES_A_READ	128
#define PLACE_SIZE	OPTCACHE_PAGE_SIZE

struct loader {
	struct mapping *m;
	const struct dev *dev;
	const struct mapping_hooks *hooks;
};

static void load_page(struct loader *l, u32 nr, const struct optcache_table_page *place[2])
{
	const struct mapping_hooks *hooks = l->hooks;
	const struct optcache_table_page *mended = NULL;
	int err = oc_replay_page(&l->m->rp, nr, place[0], place[1]);

	if (hooks->seen)
		hooks->seen(hooks->arg, nr, place, err);
	if (err && hooks->mend)
		mended = hooks->mend(hooks->arg, nr, place, err);
	if (mended)
		err = oc_replay_page(&l->m->rp, nr, mended, NULL);
	if (err)
		l->m->bad_pages++;
}

static void load_pages_singly(struct loader *l, u32 first, u32 nr, char *buf)
{
	const struct oc_geometry *geo = &l->m->sb->geo;
	const struct optcache_table_page *place[2];
	unsigned int p;
	char *at;
	u32 i;

	for (i = first; i < first + nr; i++) {
		for (p = 0; p < 2; p++) {
			at = buf + p * PLACE_SIZE;
			place[p] = dev_read(l->dev, at, PLACE_SIZE, oc_page_offset(geo, i, p)) ?
				   NULL : (const void *)at;
		}
		load_page(l, i, place);
	}
}

static int load_table(struct loader *l)
{
	const struct oc_geometry *geo = &l->m->sb->geo;
	const struct optcache_table_page *place[2];
	char *buf = dev_buffer(PAGES_A_READ * 2 * PLACE_SIZE);
	u32 first, nr, i;

	if (!buf)
		return -ENOMEM;
	for (first = 0; first < geo->nr_pages; first += nr) {
		nr = min_t(u32, geo->nr_pages - first, PAGES_A_READ);
		if (dev_read(l->dev, buf, (size_t)nr * 2 * PLACE_SIZE,
			     oc_page_offset(geo, first, 0))) {
			load_pages_singly(l, first, nr, buf);
			continue;
		}
		for (i = 0; i < nr; i++) {
			place[0] = (const void *)(buf + (size_t)i * 2 * PLACE_SIZE);
			place[1] = (const void *)(buf + ((size_t)i * 2 + 1) * PLACE_SIZE);
			load_page(l, first + i, place);
		}
	}
	free(buf);
	return 0;
}

/* Whole if it can be; else page by page, with zeroes for those that cannot be read. */
static void load_journal(struct loader *l)
{
	const struct oc_geometry *geo = &l->m->sb->geo;
	u64 at;

	if (!dev_read(l->dev, l->m->journal, geo->journal_size, geo->journal_start))
		return;
	for (at = 0; at < geo->journal_size; at += OPTCACHE_PAGE_SIZE) {
		if (!dev_read(l->dev, l->m->journal + at, OPTCACHE_PAGE_SIZE,
			      geo->journal_start + at))
			continue;
		memset(l->m->journal + at, 0, OPTCACHE_PAGE_SIZE);
		__set_bit(at / OPTCACHE_PAGE_SIZE, l->m->unreadable);
		l->m->journal_unreadable++;
	}
}

/* Replay does not get past an unreadable page, and must not take it for the end. */
static bool ends_unreadable(const struct mapping *m)
{
	return m->rp.used < m->sb->geo.journal_size &&
	       test_bit(m->rp.offset / OPTCACHE_PAGE_SIZE, m->unreadable);
}

void mapping_replay(struct mapping *m)
{
	u64 size = m->sb->geo.journal_size;
	int err = 0;

	/* A ring full of valid blocks has at most one lap to replay. */
	while (!err && m->rp.used < size) {
		err = oc_replay_block(&m->rp, m->journal + m->rp.offset, size - m->rp.offset);
		m->journal_blocks += !err;
	}
	m->journal_err = err == -EUCLEAN ? err : ends_unreadable(m) ? -EIO : 0;
}

static int judge(struct loader *l)
{
	struct oc_replay *rp = &l->m->rp;
	struct oc_intent *in;
	void *data;
	int err;

	err = oc_replay_collect(rp);
	if (err || !rp->nr_intents)
		return err;
	data = dev_buffer(OPTCACHE_BLOCK_SIZE);
	if (!data)
		return -ENOMEM;
	for (in = rp->intent; in < rp->intent + rp->nr_intents; in++) {
		if (!dev_read(l->dev, data, OPTCACHE_BLOCK_SIZE,
			      oc_slot_sector(&l->m->sb->geo, in->slot) << 9)) {
			in->landed = oc_intent_landed(in, data);
			continue;
		}
		l->m->undecided++;
		if (l->hooks->undecided)
			l->hooks->undecided(l->hooks->arg, in);
	}
	free(data);
	return 0;
}

static void set_word(struct mapping *m, oc_slot_t slot, u64 word)
{
	m->slots.word[from_slot(slot)] = word;
	__set_bit(from_slot(slot) / OPTCACHE_ENTRIES_PER_PAGE, m->rp.touched);
}

/* What the slot of @in holds, whether oc_replay_finish() came to it or not. */
static u64 settled_word(const struct mapping *m, const struct oc_intent *in)
{
	const u64 valid = in->landed ? (u64)in->valid << OC_WORD_VALID_SHIFT : 0;

	if (in->extends)
		return oc_word_with_state(oc_slot_read(&m->slots, in->slot), OC_LIVE) | valid;
	return in->landed ? oc_word_make(in->block, in->valid, OC_LIVE) | OC_WORD_DIRTY : 0;
}

static void settle(struct mapping *m)
{
	const struct oc_intent *in;

	for (in = m->rp.intent; in < m->rp.intent + m->rp.nr_intents; in++) {
		set_word(m, in->slot, settled_word(m, in));
		if (in->old != OC_NO_SLOT)
			set_word(m, in->old, 0);
	}
	oc_slots_recount(&m->slots);
}

int mapping_decide(struct mapping *m, const struct dev *d, const struct mapping_hooks *hooks)
{
	struct loader l = { .m = m, .dev = d, .hooks = hooks };
	int err;

	oc_free(m->rp.intent);
	m->rp.intent = NULL;
	err = judge(&l);
	if (!err)
		settle(m);
	return err;
}

int mapping_load(struct mapping *m, const struct dev *d, const struct oc_super *sb,
		 const struct mapping_hooks *hooks)
{
	static const struct mapping_hooks none;
	struct loader l = { .m = m, .dev = d, .hooks = hooks ?: &none };
	int err;

	*m = (struct mapping){ .sb = sb, .bad_slot = OC_NO_SLOT };
	err = oc_slots_init(&m->slots, sb->geo.nr_slots);
	if (err)
		return err;
	err = oc_index_init(&m->index, &m->slots);
	if (err)
		goto out_slots;
	err = oc_replay_init(&m->rp, sb, &m->slots);
	if (err)
		goto out_index;
	err = -ENOMEM;
	m->journal = dev_buffer(sb->geo.journal_size);
	m->unreadable = calloc(BITS_TO_LONGS(sb->geo.journal_size / OPTCACHE_PAGE_SIZE),
			       sizeof(long));
	if (!m->journal || !m->unreadable)
		goto out_journal;

	err = load_table(&l);
	if (err)
		goto out_journal;
	load_journal(&l);
	mapping_replay(m);
	err = judge(&l);
	if (err)
		goto out_journal;
	m->finish_err = oc_replay_finish(&m->rp, &m->index, &m->bad_slot);
	settle(m);
	return 0;

out_journal:
	free(m->unreadable);
	free(m->journal);
	oc_replay_exit(&m->rp);
out_index:
	oc_index_exit(&m->index);
out_slots:
	oc_slots_exit(&m->slots);
	return err;
}

void mapping_free(struct mapping *m)
{
	free(m->unreadable);
	free(m->journal);
	oc_replay_exit(&m->rp);
	oc_index_exit(&m->index);
	oc_slots_exit(&m->slots);
}

#define WORD_SHOWN	(OC_WORD_STATE | OC_WORD_DIRTY | 0xffULL << OC_WORD_VALID_SHIFT)

bool mapping_next_run(const struct mapping *m, u32 from, struct mapping_run *run)
{
	u64 w, next;
	u32 i, end;

	for (i = from; i < m->slots.nr; i++)
		if (oc_word_current(oc_slot_read(&m->slots, to_slot(i))))
			break;
	if (i == m->slots.nr)
		return false;

	w = oc_slot_read(&m->slots, to_slot(i));
	for (end = i + 1; end < m->slots.nr; end++) {
		next = oc_slot_read(&m->slots, to_slot(end));
		if ((next & WORD_SHOWN) != (w & WORD_SHOWN) ||
		    from_oblock(oc_word_block(next)) != from_oblock(oc_word_block(w)) + end - i)
			break;
	}
	*run = (struct mapping_run){
		.slot = i,
		.block = from_oblock(oc_word_block(w)),
		.count = end - i,
		.valid = oc_word_valid(w),
		.dirty = w & OC_WORD_DIRTY,
	};
	return true;
}
