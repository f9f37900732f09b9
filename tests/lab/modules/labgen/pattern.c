// SPDX-License-Identifier: GPL-2.0
/*
 * What verify=1 writes: each sector says which sector and which generation it
 * is, and the rest of it follows from the two.  A sector that is torn, foreign
 * or old is told from a right one by itself.
 */
#include <linux/string.h>

#include "labgen.h"
#include "random.h"

#define GEN_MAGIC	0x6c616267656e2121ULL
#define GEN_WORDS	(SECTOR_SIZE / sizeof(u64))

static u64 gen_word(u64 sector, u32 generation, unsigned int i)
{
	u64 key = lab_mix(sector ^ (u64)generation << 40);

	return key + i * 0x9e3779b97f4a7c15ULL;
}

void gen_pattern_fill(void *to, sector_t sector, unsigned int sectors,
		      u32 generation)
{
	u64 *word = to;
	unsigned int i;

	for (; sectors; sectors--, sector++, word += GEN_WORDS) {
		word[0] = GEN_MAGIC;
		word[1] = sector;
		word[2] = generation;
		for (i = 3; i < GEN_WORDS; i++)
			word[i] = gen_word(sector, generation, i);
	}
}

static bool gen_sector_right(const u64 *word, sector_t sector, u32 generation)
{
	unsigned int i;
	u32 found;

	if (generation == GEN_ANY && !memchr_inv(word, 0, SECTOR_SIZE))
		return true;
	found = word[2];
	if (word[0] != GEN_MAGIC || word[1] != sector || word[2] != found)
		return false;
	if (generation != GEN_ANY && generation != (found & ~GEN_SHADOW))
		return false;
	for (i = 3; i < GEN_WORDS; i++)
		if (word[i] != gen_word(sector, found, i))
			return false;
	return true;
}

/* The number of sectors that are not right, and the first of them. */
unsigned int gen_pattern_check(const void *from, sector_t sector,
			       unsigned int sectors, u32 generation,
			       sector_t *first_bad)
{
	const u64 *word = from;
	unsigned int bad = 0;

	for (; sectors; sectors--, sector++, word += GEN_WORDS) {
		if (gen_sector_right(word, sector, generation))
			continue;
		if (!bad++)
			*first_bad = sector;
	}
	return bad;
}
