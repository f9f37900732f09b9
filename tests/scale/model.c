// SPDX-License-Identifier: GPL-2.0-only
/* What a generated cache holds; see model.h. */
#include "model.h"

#define LSN_START	100000		/* of the first record in the journal */
#define EVENT_RUN_MAX	4
#define EVENT_KINDS	4
#define CYCLE_RECORDS	5		/* of four events */
#define EVENT_BLOCKS	8		/* room for the new blocks of an event */
#define EPOCHS		3
#define RING_REST	65536		/* the tail is so far from the ring's end: it wraps */

enum { CLEAN, MOVE, FILL, DROP };

enum { H_UUID, H_ORIGIN, H_DIRTY, H_VALID, H_RUN, H_PLACE, H_OTHER, H_AHEAD, H_SEQ, H_SAMPLE,
	H_DATA };

u64 model_hash(const struct model *m, u64 what, u64 n)
{
	u64 h = (n + m->seed * 0x9e3779b97f4a7c15ULL) ^ what << 56;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ULL;
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ULL;
	return h ^ h >> 32;
}

/* ---- before the journal ---------------------------------------------- */

/* Each step can be undone, so no two numbers below 2^bits become one. */
static u64 scatter(const struct model *m, u64 n)
{
	const u64 mask = (1ULL << m->bits) - 1;

	n = (n * 0x9e3779b97f4a7c15ULL + m->seed) & mask;
	n ^= n >> (m->bits / 2);
	n = (n * 0xd6e8feb86659fd93ULL) & mask;
	n ^= n >> (m->bits / 2);
	return n;
}

static u64 first_word(const struct model *m, u32 slot, u8 valid)
{
	u64 word = oc_word_make(to_oblock(scatter(m, slot)), valid, OC_LIVE);

	return model_hash(m, H_DIRTY, slot) % 100 < m->dirty ? word | OC_WORD_DIRTY : word;
}

/* ---- the journal ------------------------------------------------------ */

struct event {
	u32 nr;
	u32 kind;
	u32 slot;
	u32 run;
	u64 block;		/* MOVE */
	u64 record;		/* number of its first one */
};

static struct event event_get(const struct model *m, u32 nr)
{
	static const u32 record[EVENT_KINDS] = { 0, 1, 3, 4 };
	struct event e = {
		.nr = nr,
		.kind = nr % EVENT_KINDS,
		.slot = nr * m->stride,
		.record = (u64)nr / EVENT_KINDS * CYCLE_RECORDS + record[nr % EVENT_KINDS],
		.block = (1ULL << m->bits) + (u64)nr * EVENT_BLOCKS,
	};

	/* f is not contiguous, so a record of its blocks is one of a single slot */
	e.run = e.kind == FILL ? 1 : 1 + model_hash(m, H_RUN, nr) % EVENT_RUN_MAX;
	return e;
}

/* The event that @slot lies in. */
static bool event_of(const struct model *m, u32 slot, struct event *e)
{
	if (!m->events || slot / m->stride >= m->events)
		return false;
	*e = event_get(m, slot / m->stride);
	return slot - e->slot < e->run;
}

static u64 event_word(const struct event *e, u32 slot, u64 word, u64 done)
{
	switch (e->kind) {
	case CLEAN:
		return word & ~OC_WORD_DIRTY;
	case MOVE:
		if (done < 2)
			return 0;
		return oc_word_make(to_oblock(e->block + slot - e->slot), OPTCACHE_VALID_ALL,
				    OC_LIVE) | OC_WORD_DIRTY;
	case FILL:
		return word | (u64)OPTCACHE_VALID_ALL << OC_WORD_VALID_SHIFT | OC_WORD_DIRTY;
	default:
		return 0;
	}
}

u64 model_word(const struct model *m, u32 slot, u64 lsn)
{
	bool part = !(model_hash(m, H_VALID, slot) % 64);
	struct event e;
	u64 word;

	if (!m->full)
		return 0;
	if (!event_of(m, slot, &e))
		return first_word(m, slot, part ? 0x3c : OPTCACHE_VALID_ALL);
	word = first_word(m, slot, part || e.kind == FILL ? 0x0f : OPTCACHE_VALID_ALL);
	if (LSN_START + e.record >= lsn)
		return word;
	return event_word(&e, slot, word, lsn - LSN_START - e.record);
}

bool model_old_block(const struct model *m, u32 slot, u64 *block)
{
	struct event e;

	if (!m->full || !event_of(m, slot, &e) || (e.kind != MOVE && e.kind != DROP))
		return false;
	*block = scatter(m, slot);
	return true;
}

/* The event and its first record's number, for record @nr. */
static struct event record_event(const struct model *m, u64 nr)
{
	static const u32 event[CYCLE_RECORDS] = { 0, 1, 1, 2, 3 };

	return event_get(m, nr / CYCLE_RECORDS * EVENT_KINDS + event[nr % CYCLE_RECORDS]);
}

void model_record(const struct model *m, u64 nr, struct optcache_record *disk)
{
	const struct event e = record_event(m, nr);
	struct oc_record r = { .slot = to_slot(e.slot), .count = e.run };
	u64 word;

	if (e.kind == CLEAN) {
		r.type = OPTCACHE_REC_CLEAN;
	} else if (e.kind == DROP || (e.kind == MOVE && nr == e.record)) {
		r.type = OPTCACHE_REC_UNMAP;
	} else {
		word = model_word(m, e.slot, ~0ULL);
		r.type = OPTCACHE_REC_MAP;
		r.block = oc_word_block(word);
		r.valid = oc_word_valid(word);
		r.dirty = true;
	}
	oc_record_encode(&r, disk);
}

/* ---- the table -------------------------------------------------------- */

static void page_fill(const struct model *m, u32 nr, u64 lsn, u64 seq,
		      struct optcache_table_page *page)
{
	const u32 first = nr * OPTCACHE_ENTRIES_PER_PAGE;
	const u32 n = min_t(u32, OPTCACHE_ENTRIES_PER_PAGE, m->sb.geo.nr_slots - first);
	u32 i;

	memset(page, 0, sizeof(*page));
	for (i = 0; m->full && i < n; i++)
		page->entry[i] = cpu_to_le64(oc_entry_encode(model_word(m, first + i, lsn)));
	oc_page_seal(page, m->sb.uuid, nr, lsn, seq);
}

/*
 * The place that does not count: older and with all dirty marks the other way round, or
 * torn, or never written.
 */
static void page_other(const struct model *m, u32 nr, const struct optcache_table_page *page,
		       struct optcache_table_page *other)
{
	const u32 how = model_hash(m, H_OTHER, nr) % 8;
	u32 i;

	memset(other, 0, sizeof(*other));
	if (!m->full || !how)
		return;
	*other = *page;
	for (i = 0; i < OPTCACHE_ENTRIES_PER_PAGE; i++)
		if (other->entry[i])
			other->entry[i] ^= cpu_to_le64(OPTCACHE_ENTRY_DIRTY);
	oc_page_seal(other, m->sb.uuid, nr, le64_to_cpu(page->lsn) - 1,
		     le64_to_cpu(page->seq) - 1);
	if (how == 1)
		memset(&other->entry[OPTCACHE_ENTRIES_PER_PAGE / 2], 0xff, 512);
}

void model_page(const struct model *m, u32 nr, struct optcache_table_page place[2])
{
	const bool second = m->full && model_hash(m, H_PLACE, nr) & 1;
	const u64 seq = m->full ? 2 + model_hash(m, H_SEQ, nr) % 100 : 1;
	u64 lsn = LSN_START - (m->full ? model_hash(m, H_SEQ, nr) % 1000 : 0);

	if (m->records && !(model_hash(m, H_AHEAD, nr) % 4))
		lsn = LSN_START + m->records / 2;
	page_fill(m, nr, lsn, seq, &place[second]);
	page_other(m, nr, &place[second], &place[!second]);
}

/* ---- the rest --------------------------------------------------------- */

u32 model_sample(const struct model *m, u32 i)
{
	const u64 h = model_hash(m, H_SAMPLE, i);

	if (i & 1 && m->events)
		return (u32)(h % m->events) * m->stride;
	return h % m->sb.geo.nr_slots;
}

void model_data(const struct model *m, u64 block, void *to)
{
	const u64 key = model_hash(m, H_DATA, block);
	u64 *word = to;
	u32 i;

	for (i = 0; i < OPTCACHE_BLOCK_SIZE / sizeof(*word); i++)
		word[i] = key + i * 0x9e3779b97f4a7c15ULL;
}

static void make_super(struct model *m, const struct oc_geometry *geo, bool clean_stop)
{
	struct oc_super *sb = &m->sb;
	u64 uuid[2] = { model_hash(m, H_UUID, 0), model_hash(m, H_UUID, 1) };
	u64 origin[2] = { model_hash(m, H_ORIGIN, 0), model_hash(m, H_ORIGIN, 1) };

	oc_super_new(sb, geo, (u8 *)uuid, (u8 *)origin);
	sb->seq = 100;
	sb->generation = 7;
	sb->epoch = 7;
	sb->tail_epoch = sb->epoch - EPOCHS + 1;
	sb->tail_lsn = LSN_START;
	sb->tail_offset = geo->journal_size > 2 * RING_REST ? geo->journal_size - RING_REST : 0;
	if (clean_stop)
		sb->flags |= OPTCACHE_SUPER_CLEAN_STOP;
}

const char *model_init(struct model *m, const struct oc_geometry *geo, bool clean_stop)
{
	const u64 blocks = geo->origin_sectors / OPTCACHE_SECTORS_PER_BLOCK;

	while (2ULL << (m->bits + 1) <= blocks)
		m->bits++;
	if (m->full && 1ULL << m->bits < geo->nr_slots)
		return "the origin is too small for so many slots";
	m->events -= m->events % EVENT_KINDS;
	if (!m->full)
		m->events = 0;
	if (m->events) {
		m->stride = geo->nr_slots / m->events;
		if (m->stride < EVENT_RUN_MAX)
			return "too many events for so few slots";
		if ((u64)m->events * EVENT_BLOCKS > 1ULL << m->bits)
			return "too many events for so small an origin";
	}
	m->records = (u64)m->events / EVENT_KINDS * CYCLE_RECORDS;
	make_super(m, geo, clean_stop);
	return NULL;
}
