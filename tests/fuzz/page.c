// SPDX-License-Identifier: GPL-2.0-only
/* A page of the table.  First byte: bit 0, its checksum is made right; bit 1, its number. */
#include <optcache/slots.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct in in = { data, data + size };
	const u8 flags = in_u8(&in);
	const u32 nr = flags >> 1 & 1;
	struct optcache_table_page *page = malloc(sizeof(*page)), again;
	struct oc_super sb;
	u64 entry;
	u32 i;

	small_super(&sb);
	in_bytes(&in, page, sizeof(*page));
	if (flags & 1) {
		page->magic = cpu_to_le32(OPTCACHE_TABLE_MAGIC);
		memcpy(page->uuid, sb.uuid, sizeof(page->uuid));
		page->page = cpu_to_le32(nr);
		fix_crc(page, sizeof(*page), offsetof(struct optcache_table_page, crc));
	}
	if (!oc_page_check(page, &sb.geo, sb.uuid, nr)) {
		for (i = 0; i < OPTCACHE_ENTRIES_PER_PAGE; i++) {
			entry = le64_to_cpu(page->entry[i]);
			must(oc_entry_encode(oc_entry_word(entry)) == entry);
			must(!entry || nr * OPTCACHE_ENTRIES_PER_PAGE + i < sb.geo.nr_slots);
			must(from_oblock(oc_word_block(oc_entry_word(entry))) < SMALL_BLOCKS);
		}
		again = *page;
		oc_page_seal(&again, sb.uuid, nr, le64_to_cpu(page->lsn),
			     le64_to_cpu(page->seq));
		must(page->reserved || !memcmp(&again, page, sizeof(again)));
		must(oc_page_check(page, &sb.geo, sb.uuid, !nr) == -EBADMSG);
	}
	free(page);
	return 0;
}
