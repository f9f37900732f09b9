// SPDX-License-Identifier: GPL-2.0-only
/*
 * A whole recovery.  The input is a program that changes an image of a small device;
 * most of it is sealed at the end, so that the checksums do not keep the fuzzer out.
 *
 *	0 place index value	an entry of one of the four places
 *	1 place lsn seq		a page's head
 *	2 epoch lsn nr record...	the next journal block
 *	3 offset value		a byte anywhere, after the sealing
 *	4 tail epochs		the superblock
 *
 * Whether the data of an INTENT arrived its checksum says: if it is odd.
 */
#include <optcache/replay.h>

#include "fuzz.h"

#define PLACES		4
#define POKES_MAX	16

struct image {
	struct oc_super sb;
	struct optcache_table_page place[PLACES];
	u8 journal[16384];
};

struct result {
	int page[2], journal, finish;
	u64 lsn, records, mapped, dirty;
	u64 *word;
};

/* ---- the image ----------------------------------------------------------- */

static void fresh(struct image *im)
{
	memset(im, 0, sizeof(*im));
	small_super(&im->sb);
	im->sb.epoch = 5;
	im->sb.tail_lsn = 10;
	im->place[0].lsn = cpu_to_le64(10);
	im->place[2].lsn = cpu_to_le64(10);
	im->place[0].seq = cpu_to_le64(1);
	im->place[2].seq = cpu_to_le64(1);
}

/* At @at, behind the block before; it says to be of the number after it, or nearly. */
static u32 put_block(struct image *im, struct in *in, u32 at, u64 *lsn)
{
	const u64 epoch = in_u8(in) & 7;
	const u64 skew = in_u8(in);
	const u32 nr = 1 + in_u8(in) % 29;
	u8 block[OPTCACHE_JOURNAL_BLOCK_MAX] = { 0 };

	in_bytes(in, block + sizeof(struct optcache_journal_header),
		 nr * sizeof(struct optcache_record));
	oc_journal_seal(block, 512, im->sb.uuid, epoch, skew < 250 ? *lsn : *lsn + skew - 252, nr);
	memcpy(im->journal + at, block, 512);
	*lsn += nr;
	return (at + 512) % sizeof(im->journal);
}

static void put_head(struct image *im, struct in *in)
{
	struct optcache_table_page *p = &im->place[in_u8(in) % PLACES];

	p->lsn = cpu_to_le64(in_u16(in));
	p->seq = cpu_to_le64(in_u8(in));
}

static void put_entry(struct image *im, struct in *in)
{
	struct optcache_table_page *p = &im->place[in_u8(in) % PLACES];
	const u32 i = in_u16(in) % OPTCACHE_ENTRIES_PER_PAGE;

	p->entry[i] = cpu_to_le64(in_u64(in));
}

static void put_super(struct image *im, struct in *in)
{
	im->sb.tail_offset = (u64)in_u8(in) % 32 * 512;
	im->sb.tail_lsn = in_u16(in);
	im->sb.tail_epoch = in_u8(in) & 7;
	im->sb.epoch = in_u8(in) & 7;
}

static void make(struct image *im, struct in *in)
{
	struct {
		u32 at;
		u8 value;
	} poke[POKES_MAX];
	u32 pokes = 0, at = 0, i;
	u64 lsn = 10;

	fresh(im);
	while (in_left(in)) {
		switch (in_u8(in) % 5) {
		case 0:
			put_entry(im, in);
			break;
		case 1:
			put_head(im, in);
			break;
		case 2:
			at = put_block(im, in, at, &lsn);
			break;
		case 3:
			poke[pokes % POKES_MAX].at = in_u16(in);
			poke[pokes++ % POKES_MAX].value = in_u8(in);
			break;
		case 4:
			put_super(im, in);
			at = im->sb.tail_offset;
			lsn = im->sb.tail_lsn;
			break;
		}
	}
	for (i = 0; i < PLACES; i++)
		if (le64_to_cpu(im->place[i].seq))
			oc_page_seal(&im->place[i], im->sb.uuid, i / 2,
				     le64_to_cpu(im->place[i].lsn), le64_to_cpu(im->place[i].seq));
	for (i = 0; i < min_t(u32, pokes, POKES_MAX); i++)
		((u8 *)im->place)[poke[i].at % (sizeof(im->place) + sizeof(im->journal))] =
			poke[i].value;
}

/* ---- recovery ---------------------------------------------------------------- */

/* A block of the journal where it is, in memory that ends where the ring ends. */
static int replay_block(struct oc_replay *rp, const struct image *im)
{
	const size_t avail = sizeof(im->journal) - rp->offset;
	u8 *buf = malloc(avail);
	int err;

	must(rp->offset < sizeof(im->journal));
	memcpy(buf, im->journal + rp->offset, avail);
	err = oc_replay_block(rp, buf, avail);
	free(buf);
	return err;
}

static void check_slots(const struct oc_slots *s, struct oc_index *ix, bool sound)
{
	u64 w, mapped = 0, dirty = 0, dead = 0;
	bool ending;
	u32 i;

	for (i = 0; i < s->nr; i++) {
		w = oc_slot_read(s, to_slot(i));
		if (!w)
			continue;
		must(oc_word_valid(w) && from_oblock(oc_word_block(w)) < SMALL_BLOCKS);
		if (oc_word_state(w) == OC_DEAD) {	/* it did not arrive, or was ended */
			dead++;
			continue;
		}
		must(oc_word_state(w) == OC_LIVE ||
		     (oc_word_state(w) == OC_SEALED && w & OC_WORD_DIRTY));
		mapped++;
		dirty += !!(w & OC_WORD_DIRTY);
		if (sound)
			must(from_slot(oc_index_find_locked(ix, oc_word_block(w), &ending)) == i);
	}
	if (!sound)
		return;
	must(mapped == (u64)atomic64_read(&s->nr_mapped));
	must(dirty == (u64)atomic64_read(&s->nr_dirty));
	must(oc_slots_nr_free(s) == s->nr - mapped - dead);
}

/* The pages that replay makes, and a journal that starts behind: the same, without replay. */
static void checkpoint(const struct image *im, const struct oc_replay *rp, const struct oc_slots *s,
		       struct image *next)
{
	struct optcache_table_page *p;
	u32 nr, i, slot;

	*next = *im;
	next->sb.tail_lsn = rp->lsn;
	next->sb.tail_offset = rp->offset;
	next->sb.epoch++;
	next->sb.tail_epoch = next->sb.epoch;
	for (nr = 0; nr < 2; nr++) {
		p = &next->place[2 * nr + !test_bit(nr, rp->place)];
		memset(p, 0, sizeof(*p));
		for (i = 0; i < OPTCACHE_ENTRIES_PER_PAGE; i++) {
			slot = nr * OPTCACHE_ENTRIES_PER_PAGE + i;
			if (slot < s->nr)
				p->entry[i] = cpu_to_le64(oc_entry_encode(s->word[slot]));
		}
		oc_page_seal(p, im->sb.uuid, nr, rp->lsn, rp->page_seq[nr] + 1);
	}
}

static void recover(const struct image *im, struct result *r, struct image *next)
{
	struct oc_slots slots = { 0 };
	struct oc_index index;
	struct oc_replay rp;
	oc_slot_t bad;
	u32 nr;

	memset(r, 0, sizeof(*r));
	must(!oc_slots_init(&slots, im->sb.geo.nr_slots) && !oc_index_init(&index, &slots));
	must(!oc_replay_init(&rp, &im->sb, &slots));
	for (nr = 0; nr < 2; nr++)
		r->page[nr] = oc_replay_page(&rp, nr, &im->place[2 * nr], &im->place[2 * nr + 1]);
	while (!(r->journal = replay_block(&rp, im)))
		must(rp.used <= sizeof(im->journal));
	must(r->journal == -ENODATA || r->journal == -EUCLEAN);
	must(!oc_replay_collect(&rp));
	for (nr = 0; nr < rp.nr_intents; nr++)
		rp.intent[nr].landed = rp.intent[nr].crc & 1;
	r->finish = oc_replay_finish(&rp, &index, &bad);
	r->lsn = rp.lsn;
	r->records = rp.nr_records;
	r->word = malloc(slots.nr * sizeof(u64));
	for (nr = 0; nr < slots.nr; nr++)	/* as a page would say it */
		r->word[nr] = oc_entry_word(oc_entry_encode(slots.word[nr]));
	check_slots(&slots, &index, !r->finish);
	if (!r->page[0] && !r->page[1] && r->journal == -ENODATA && !r->finish)
		checkpoint(im, &rp, &slots, next);
	oc_replay_exit(&rp);
	oc_index_exit(&index);
	oc_slots_exit(&slots);
}

static bool same_words(const struct result *a, const struct result *b)
{
	return !memcmp(a->word, b->word, 600 * sizeof(u64));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct image im, next, unused;
	struct in in = { data, data + size };
	struct result first, again, after;
	struct optcache_super disk;
	struct oc_super sb;
	const char *why;

	make(&im, &in);
	oc_super_encode(&im.sb, &disk);
	if (oc_super_decode(&sb, &disk, &why))
		return 0;	/* nobody would go on */
	next.sb.epoch = 0;
	recover(&im, &first, &next);
	recover(&im, &again, &unused);
	must(first.page[0] == again.page[0] && first.page[1] == again.page[1]);
	must(first.journal == again.journal && first.finish == again.finish);
	must(first.lsn == again.lsn && first.records == again.records);
	must(same_words(&first, &again));
	if (next.sb.epoch) {
		recover(&next, &after, &unused);
		must(!after.page[0] && !after.page[1] && !after.finish);
		must(after.journal == -ENODATA && !after.records && after.lsn == first.lsn);
		must(same_words(&first, &after));
		free(after.word);
	}
	free(first.word);
	free(again.word);
	return 0;
}
