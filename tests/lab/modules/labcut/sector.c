// SPDX-License-Identifier: GPL-2.0
/*
 * What a value looks like: each sector says which sector, value and seed it is of, and the
 * rest follows from these.
 */
#include <linux/blk_types.h>
#include <linux/string.h>

#include "labcut.h"
#include "random.h"

#define CUT_MAGIC	0x6c61626375742121ULL
#define CUT_WORDS	(SECTOR_SIZE / sizeof(u64))
#define CUT_STEP	0x9e3779b97f4a7c15ULL

static u64 cut_key(const u64 *head)
{
	return lab_mix(head[1] ^ lab_mix(head[2] ^ lab_mix(head[3])));
}

void cut_sector_fill(void *to, u64 seed, u32 sector, u32 value)
{
	u64 *word = to, key;
	unsigned int i;

	if (value == CUT_ZERO) {
		memset(to, 0, SECTOR_SIZE);
		return;
	}
	word[0] = CUT_MAGIC;
	word[1] = sector;
	word[2] = value;
	word[3] = seed;
	key = cut_key(word);
	for (i = 4; i < CUT_WORDS; i++) {
		key += CUT_STEP;
		word[i] = key;
	}
}

u32 cut_sector_value(const void *from, u64 seed, u32 sector, u32 *got_sector)
{
	const u64 *word = from;
	unsigned int i;
	u64 key;

	*got_sector = ~0u;
	if (!memchr_inv(from, 0, SECTOR_SIZE))
		return CUT_ZERO;
	if (word[0] != CUT_MAGIC)
		return CUT_GARBAGE;
	key = cut_key(word);
	for (i = 4; i < CUT_WORDS; i++) {
		key += CUT_STEP;
		if (word[i] != key)
			return CUT_GARBAGE;
	}
	*got_sector = word[1];
	return word[1] == sector && word[3] == seed ? word[2] : CUT_GARBAGE;
}
