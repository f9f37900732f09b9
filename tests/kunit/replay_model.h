/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The writer of replay_test.c: a small cache as the module would write it, from an
 * array of words, with a snapshot after each journal block to compare with.
 */
#ifndef _OPTCACHE_REPLAY_MODEL_H
#define _OPTCACHE_REPLAY_MODEL_H

#include <optcache/replay.h>

#include "test.h"

#define NR		1200		/* slots: three pages, the last one partly used */
#define PAGES		3
#define RING		(16 * 1024)
#define MAX_BLOCKS	(RING / 512)
#define FULL_BLOCK	OPTCACHE_RECORDS_IN(4096)

static const u8 uuid[OPTCACHE_UUID_SIZE] = "replayed cache.";

/* One journal block as the model wrote it. */
struct model_block {
	u64 lsn;		/* of its first record */
	u64 offset;
	u32 nr;
	u32 size;
};

struct replay_test {
	struct oc_super sb;	/* tail: blocks[0] */
	u8 ring[RING];
	struct optcache_table_page page[PAGES][2];
	u64 page_lsn[PAGES];
	u64 page_seq[PAGES];

	u64 word[NR];		/* now */
	u64 snap[MAX_BLOCKS + 1][NR];	/* before blocks[i] */
	struct oc_record intent[NR];	/* that stand; count 0: none */
	struct oc_record intents[MAX_BLOCKS + 1][NR];
	struct model_block blocks[MAX_BLOCKS];
	u32 nr_blocks;		/* since the tail */
	u64 epoch;
	u64 lsn;
	u64 offset;
	u64 used;
	u64 seed;

	struct oc_record pending[FULL_BLOCK];
	u32 nr_pending;

	struct oc_slots slots;
	struct oc_index ix;
	struct oc_replay rp;
};

/* Writes page @nr as it is now, over the older of its places. */
static void write_page(struct replay_test *t, u32 nr)
{
	const u32 first = nr * OPTCACHE_ENTRIES_PER_PAGE;
	struct optcache_table_page *page = &t->page[nr][++t->page_seq[nr] & 1];
	u32 i;

	memset(page, 0, sizeof(*page));
	for (i = 0; i < OPTCACHE_ENTRIES_PER_PAGE && first + i < NR; i++)
		page->entry[i] = cpu_to_le64(oc_entry_encode(t->word[first + i]));
	oc_page_seal(page, uuid, nr, t->lsn, t->page_seq[nr]);
	t->page_lsn[nr] = t->lsn;
}

/* The tail moves to where the next block goes. */
static void move_tail(struct replay_test *t)
{
	t->sb.tail_lsn = t->lsn;
	t->sb.tail_offset = t->offset;
	t->sb.tail_epoch = t->epoch;
	t->used = 0;
	t->nr_blocks = 0;
	memcpy(t->snap[0], t->word, sizeof(t->word));
	memcpy(t->intents[0], t->intent, sizeof(t->intent));
}

/* What stands must be before the tail no more. */
static void resolve_intents(struct replay_test *t);

static void checkpoint(struct replay_test *t)
{
	u32 nr;

	resolve_intents(t);
	for (nr = 0; nr < PAGES; nr++)
		write_page(t, nr);
	move_tail(t);
}

static void model_apply(struct replay_test *t, const struct oc_record *r)
{
	u32 i;

	for (i = 0; i < r->count; i++) {
		u64 *word = &t->word[from_slot(r->slot) + i];

		if (r->type == OPTCACHE_REC_INTENT) {
			t->intent[from_slot(r->slot)] = *r;
			continue;
		}
		if (r->type != OPTCACHE_REC_CLEAN)
			t->intent[from_slot(r->slot) + i].count = 0;
		if (r->type == OPTCACHE_REC_UNMAP)
			*word = 0;
		else if (r->type == OPTCACHE_REC_CLEAN)
			*word &= ~OC_WORD_DIRTY;
		else
			*word = oc_word_make(oblock_add(r->block, i), r->valid, OC_LIVE) |
				(r->dirty ? OC_WORD_DIRTY : 0);
	}
}

static void add_record(struct replay_test *t, const struct oc_record *r)
{
	t->pending[t->nr_pending++] = *r;
	model_apply(t, r);
}

/* A block belongs to one slot for ever: so no two slots ever claim one. */
static void add_map(struct replay_test *t, u32 slot, u32 count, u32 lap, bool dirty)
{
	struct oc_record r = {
		.type = OPTCACHE_REC_MAP, .dirty = dirty, .valid = 1 + lap % 255,
		.slot = to_slot(slot), .count = count,
		.block = to_oblock((u64)lap * 4096 + slot),
	};

	add_record(t, &r);
}

static void add_end(struct replay_test *t, u8 type, u32 slot, u32 count)
{
	struct oc_record r = { .type = type, .slot = to_slot(slot), .count = count };

	add_record(t, &r);
}

/* Only of a slot that is free. */
static void add_intent(struct replay_test *t, u32 slot, u64 lap, u8 valid, u32 crc)
{
	struct oc_record r = {
		.type = OPTCACHE_REC_INTENT, .valid = valid, .slot = to_slot(slot), .count = 1,
		.block = to_oblock(lap * 4096 + slot), .crc = crc,
	};

	add_record(t, &r);
}

static u32 block_size(u32 nr)
{
	return ALIGN(sizeof(struct optcache_journal_header) +
		     nr * sizeof(struct optcache_record), 512);
}

/* Seals what is pending at the head, which must have room. */
static void write_block(struct replay_test *t)
{
	struct model_block *b = &t->blocks[t->nr_blocks];
	u8 *at = t->ring + t->offset;
	struct optcache_record *disk = (void *)at + sizeof(struct optcache_journal_header);
	u32 i;

	*b = (struct model_block){ t->lsn, t->offset, t->nr_pending, block_size(t->nr_pending) };
	for (i = 0; i < t->nr_pending; i++)
		oc_record_encode(&t->pending[i], &disk[i]);
	oc_journal_seal(at, b->size, uuid, t->epoch, t->lsn, t->nr_pending);
	t->nr_pending = 0;
	t->lsn += b->nr;
	t->used += b->size;
	t->offset = (t->offset + b->size) % RING;
	memcpy(t->snap[++t->nr_blocks], t->word, sizeof(t->word));
	memcpy(t->intents[t->nr_blocks], t->intent, sizeof(t->intent));
}

static void resolve_intents(struct replay_test *t)
{
	u32 i;

	/* by records that the pages have, and that are behind the tail or nowhere */
	for (i = 0; i < NR; i++)
		t->intent[i].count = 0;
}

static void add_random(struct replay_test *t)
{
	u32 count = test_below(&t->seed, 4) ? 1 : 1 + test_below(&t->seed, 256);
	u32 slot = test_below(&t->seed, NR - count + 1);

	if (!test_below(&t->seed, 3) && !t->word[slot] && !t->intent[slot].count) {
		add_intent(t, slot, test_below(&t->seed, 100000),
			   1 + test_below(&t->seed, 255), test_random(&t->seed));
		return;
	}
	switch (test_below(&t->seed, 4)) {
	case 0:
		add_end(t, OPTCACHE_REC_UNMAP, slot, count);
		break;
	case 1:
		add_end(t, OPTCACHE_REC_CLEAN, slot, count);
		break;
	default:
		add_map(t, slot, count, test_below(&t->seed, 100000), test_below(&t->seed, 2));
		break;
	}
}

/* Room for a block that ends neither behind the ring nor behind the tail. */
static u32 room(const struct replay_test *t)
{
	return min_t(u64, min_t(u64, RING - t->offset, RING - t->used), 4096);
}

static void write_random_block(struct replay_test *t)
{
	u32 nr;

	if (!room(t))
		checkpoint(t);
	nr = 1 + test_below(&t->seed, OPTCACHE_RECORDS_IN(room(t)));
	if (test_below(&t->seed, 4))
		nr = min_t(u32, nr, 1 + test_below(&t->seed, 5));
	while (t->nr_pending < nr)
		add_random(t);
	write_block(t);
}

#endif /* _OPTCACHE_REPLAY_MODEL_H */
