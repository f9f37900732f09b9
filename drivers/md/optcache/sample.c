// SPDX-License-Identifier: GPL-2.0-only
/* Which parts of the origin tell whether it is still the one that was left. */
#include <optcache/sample.h>

#define SECTORS_PER_MIB	2048
#define PEEK_SECTORS	128	/* where something may begin */
#define SLOTS_EACH	16	/* dirty ones, and clean ones */
#define BREATH		65536	/* slots looked at in one go */

/* Partitions begin at 1 MiB, LUKS has its data at 2 or 16, f2fs its checkpoint at 2. */
static const u32 peek_at[] = { 1, 2, 4, 8, 16 };	/* MiB */

/* ---- slots ----------------------------------------------------------- */

static bool wanted(u64 word, bool dirty)
{
	return oc_word_current(word) && oc_word_state(word) != OC_FRESH &&
	       !!(word & OC_WORD_DIRTY) == dirty;
}

/* A file system's superblock is mostly in the first block, what else it always writes near. */
static u32 heat(u64 word)
{
	u64 block = from_oblock(oc_word_block(word));
	u32 head = !block ? 8 : block < SECTORS_PER_MIB / OPTCACHE_SECTORS_PER_BLOCK ? 4 : 0;

	return head + ((word & OC_WORD_FREQ) >> OC_WORD_FREQ_SHIFT);
}

static u64 nr_wanted(const struct oc_slots *slots, bool dirty)
{
	u64 nr_dirty = atomic64_read(&slots->nr_dirty);

	return dirty ? nr_dirty : atomic64_read(&slots->nr_mapped) - nr_dirty;
}

u32 oc_sample_slots(const struct oc_slots *slots, bool dirty, oc_slot_t *slot, u32 max)
{
	u64 window = div_u64(nr_wanted(slots, dirty) + max - 1, max);
	u64 seen = 0, word;
	u32 i, best = 0, nr = 0;

	for (i = 0; i < slots->nr && nr < max; i++) {
		if (!(i % BREATH))
			cond_resched();
		word = oc_slot_read(slots, to_slot(i));
		if (!wanted(word, dirty))
			continue;
		if (!seen || heat(word) > heat(oc_slot_read(slots, to_slot(best))))
			best = i;
		if (++seen < window)
			continue;
		slot[nr++] = to_slot(best);
		seen = 0;
	}
	/* FRESH ones were counted, too: the last window may not be full */
	if (seen && nr < max)
		slot[nr++] = to_slot(best);
	return nr;
}

/* ---- the plan -------------------------------------------------------- */

/* In its place by sector; not what overlaps something that is there. */
static void add(struct oc_super *sb, u64 sector, u32 sectors)
{
	struct oc_sample *s = sb->sample;
	u32 i, at = sb->nr_samples;

	if (sb->nr_samples == OPTCACHE_MAX_SAMPLES || sector >= sb->geo.origin_sectors)
		return;
	sectors = min_t(u64, sectors, sb->geo.origin_sectors - sector);
	for (i = 0; i < sb->nr_samples; i++) {
		if (sector < s[i].sector + s[i].sectors && s[i].sector < sector + sectors)
			return;
		if (sector < s[i].sector)
			at = min(at, i);
	}
	memmove(&s[at + 1], &s[at], (sb->nr_samples - at) * sizeof(*s));
	s[at] = (struct oc_sample){ .sector = sector, .sectors = sectors };
	sb->nr_samples++;
}

static void add_slots(struct oc_super *sb, const struct oc_slots *slots, bool dirty)
{
	oc_slot_t slot[SLOTS_EACH];
	u32 nr = oc_sample_slots(slots, dirty, slot, SLOTS_EACH), i;
	oc_block_t block;

	for (i = 0; i < nr; i++) {
		block = oc_word_block(oc_slot_read(slots, slot[i]));
		add(sb, from_oblock(block) * OPTCACHE_SECTORS_PER_BLOCK,
		    OPTCACHE_SECTORS_PER_BLOCK);
	}
}

void oc_sample_plan(struct oc_super *sb, const struct oc_slots *slots)
{
	u64 end = sb->geo.origin_sectors;
	u32 i;

	sb->nr_samples = 0;
	add(sb, 0, SECTORS_PER_MIB);
	for (i = 0; i < ARRAY_SIZE(peek_at); i++)
		add(sb, (u64)peek_at[i] * SECTORS_PER_MIB, PEEK_SECTORS);
	if (end > SECTORS_PER_MIB)
		add(sb, end - SECTORS_PER_MIB, SECTORS_PER_MIB);
	add_slots(sb, slots, true);
	add_slots(sb, slots, false);
}

/* ---- the hash -------------------------------------------------------- */

void oc_sample_hash_begin(struct oc_sample_hash *h, const u8 uuid[OPTCACHE_UUID_SIZE])
{
	__le64 part[2];

	memcpy(part, uuid, sizeof(part));
	h->key.key[0] = le64_to_cpu(part[0]);
	h->key.key[1] = le64_to_cpu(part[1]);
}

/* Each block's hash is a part of the next one's key. */
void oc_sample_hash_add(struct oc_sample_hash *h, const void *buf, size_t bytes)
{
	const u8 *p = buf;
	size_t n;

	for (; bytes; p += n, bytes -= n) {
		n = min_t(size_t, bytes, OPTCACHE_BLOCK_SIZE);
		h->key.key[0] ^= siphash(p, n, &h->key);
	}
}

u32 oc_sample_hash_end(const struct oc_sample_hash *h)
{
	return h->key.key[0] & 0xffffffff;
}
