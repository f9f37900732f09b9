// SPDX-License-Identifier: GPL-2.0-only
/* What restore and salvage read. */
#include "../../tools/optcachectl/dumpfile.h"

#include "fuzz.h"

#define SLOTS_MAX	2000

static void check_dump(const struct dumpfile *df)
{
	const u64 blocks = DIV_ROUND_UP(df->sb.geo.origin_sectors, OPTCACHE_SECTORS_PER_BLOCK);
	struct optcache_super disk;
	u64 word, mapped = 0;
	struct oc_super sb;
	const char *why;
	u32 i;

	oc_super_encode(&df->sb, &disk);
	must(!oc_super_decode(&sb, &disk, &why) && !memcmp(&sb, &df->sb, sizeof(sb)));
	must(df->slots.nr == df->sb.geo.nr_slots && df->slots.nr <= SLOTS_MAX);
	for (i = 0; i < df->slots.nr; i++) {
		word = df->slots.word[i];
		must(oc_entry_word(oc_entry_encode(word)) == word);
		must(!word || (oc_word_valid(word) && from_oblock(oc_word_block(word)) < blocks));
		mapped += !!word;
	}
	must(mapped == (u64)atomic64_read(&df->slots.nr_mapped));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char why[DUMPFILE_WHY_MAX];
	struct dumpfile df;
	FILE *f;

	if (!size)
		return 0;
	f = fmemopen((void *)data, size, "r");
	must(f);
	if (dumpfile_read(&df, f, SLOTS_MAX, why)) {
		must(*why && strnlen(why, sizeof(why)) < sizeof(why));
	} else {
		check_dump(&df);
		dumpfile_free(&df);
	}
	fclose(f);
	return 0;
}
