// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading a mapping:
 *
 *	1. every page of the table, 128 at a time; where a large read fails, place
 *	   by place
 *	2. the journal ring in one piece
 *	3. replay from the superblock's tail to the journal's end
 *	4. the core builds its index and finds what contradicts itself
 */
#include "mapping.h"

#define PAGES_A_READ	128
#define PLACE_SIZE	OPTCACHE_PAGE_SIZE

struct loader {
	struct mapping *m;
	const struct dev *dev;
	mapping_page_fn page;
	void *arg;
};

static void load_page(struct loader *l, u32 nr, const struct optcache_table_page *place[2])
{
	int err = oc_replay_page(&l->m->rp, nr, place[0], place[1]);

	if (err)
		l->m->bad_pages++;
	if (l->page)
		l->page(l->arg, nr, place, err);
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

static void replay(struct mapping *m)
{
	u64 size = m->sb->geo.journal_size;
	int err;

	/* A ring full of valid blocks has at most one lap to replay. */
	while (m->rp.used < size) {
		err = oc_replay_block(&m->rp, m->journal + m->rp.offset, size - m->rp.offset);
		if (err == -ENODATA)
			return;
		if (err) {
			m->journal_err = err;
			return;
		}
		m->journal_blocks++;
	}
}

/* What stands undecided at the journal's end: did the data arrive? */
static void judge(struct mapping *m, const struct dev *d)
{
	struct oc_intent *in;
	void *data;
	u32 i;

	if (oc_replay_collect(&m->rp) || !m->rp.nr_intents)
		return;
	data = dev_buffer(OPTCACHE_BLOCK_SIZE);
	for (i = 0; i < m->rp.nr_intents; i++) {
		in = &m->rp.intent[i];
		if (!data || dev_read(d, data, OPTCACHE_BLOCK_SIZE,
				      oc_slot_sector(&m->sb->geo, in->slot) << 9))
			m->undecided++;
		else
			in->landed = oc_intent_landed(in, data);
	}
	free(data);
}

int mapping_load(struct mapping *m, const struct dev *d, const struct oc_super *sb,
		 mapping_page_fn page, void *arg)
{
	struct loader l = { .m = m, .dev = d, .page = page, .arg = arg };
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
	if (!m->journal)
		goto out_replay;

	err = load_table(&l);
	if (err)
		goto out_journal;
	m->journal_err = dev_read(d, m->journal, sb->geo.journal_size, sb->geo.journal_start);
	if (!m->journal_err)
		replay(m);
	judge(m, d);
	m->finish_err = oc_replay_finish(&m->rp, &m->index, &m->bad_slot);
	return 0;

out_journal:
	free(m->journal);
out_replay:
	oc_replay_exit(&m->rp);
out_index:
	oc_index_exit(&m->index);
out_slots:
	oc_slots_exit(&m->slots);
	return err;
}

void mapping_free(struct mapping *m)
{
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
