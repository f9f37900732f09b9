// SPDX-License-Identifier: GPL-2.0-only
/*
 * The worked examples of Documentation/on-disk-format.md, by the code that the module
 * and optcachectl use; the command that builds this is there.
 */
#include <stdio.h>
#include <optcache/format.h>

static const u8 uuid[OPTCACHE_UUID_SIZE] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
};

/* Blocks 100 to 163, whole and dirty, in slots 64 to 127: record 1 of epoch 2. */
static const struct oc_record record = {
	.type = OPTCACHE_REC_MAP,
	.dirty = true,
	.valid = OPTCACHE_VALID_ALL,
	.slot = (__force oc_slot_t)64,
	.block = (__force oc_block_t)100,
	.count = 64,
};

static void show(const char *what, const void *buf, size_t len)
{
	const u8 *p = buf;

	printf("%-8s", what);
	while (len--)
		printf(" %02x", *p++);
	putchar('\n');
}

int main(void)
{
	static struct optcache_table_page page;
	static u8 block[512];
	struct optcache_journal_header *head = (void *)block;
	struct optcache_record *disk = (void *)(block + sizeof(*head));

	printf("crc32c   %08x\n", crc32c(~0U, "123456789", 9));

	oc_page_seal(&page, uuid, 0, 1, 1);
	printf("page     %08x\n", le32_to_cpu(page.crc));

	oc_record_encode(&record, disk);
	oc_journal_seal(block, sizeof(block), uuid, 2, 1, 1);
	show("record", disk, sizeof(*disk));
	show("header", head, sizeof(*head));
	printf("journal  %08x\n", le32_to_cpu(head->crc));
	return 0;
}
