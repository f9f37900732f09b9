// SPDX-License-Identifier: GPL-2.0-only
/*
 * A journal block and its records.  First byte: bit 0, magic, uuid and number are made
 * right; bit 1, the checksum too.
 */
#include "fuzz.h"

static void check_records(const struct oc_super *sb, const u8 *block, u32 nr)
{
	const struct optcache_record *disk;
	struct optcache_record again;
	struct oc_record r;
	u32 i;

	disk = (const void *)(block + sizeof(struct optcache_journal_header));
	for (i = 0; i < nr; i++) {
		if (oc_record_decode(&r, &disk[i], &sb->geo))
			continue;
		must(r.count && from_slot(r.slot) + r.count <= sb->geo.nr_slots);
		must(r.type != OPTCACHE_REC_MAP || from_oblock(r.block) + r.count <= SMALL_BLOCKS);
		oc_record_encode(&r, &again);
		must(!memcmp(&again, &disk[i], sizeof(again)));
	}
}

static void check_block(const struct oc_super *sb, const u8 *block, size_t avail)
{
	const struct optcache_journal_header *h = (const void *)block;
	u64 lsn, epoch;
	u32 block_size, nr;
	u8 *again;
	int err;

	/* less than a unit is never looked at */
	lsn = avail >= sizeof(*h) ? le64_to_cpu(h->lsn) : 1;
	err = oc_journal_open(block, avail, &sb->geo, sb->uuid, 1, 1000, lsn, &block_size, &nr,
			      &epoch);
	must(!err || err == -ENODATA || err == -EUCLEAN);
	if (err == -ENODATA)
		return;
	must(block_size <= avail && block_size <= OPTCACHE_JOURNAL_BLOCK_MAX);
	must(nr && nr <= OPTCACHE_RECORDS_IN(block_size));
	must((epoch > 1000) == (err == -EUCLEAN));
	must(oc_journal_open(block, avail, &sb->geo, sb->uuid, 1, 1000, lsn + 1, &block_size, &nr,
			     &epoch) == -ENODATA);
	check_records(sb, block, nr);

	again = malloc(block_size);
	memcpy(again, block, block_size);
	oc_journal_seal(again, block_size, sb->uuid, epoch, lsn, nr);
	must(!oc_journal_open(again, block_size, &sb->geo, sb->uuid, 1, ~0ULL, lsn, &block_size,
			      &nr, &epoch));
	free(again);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct in in = { data, data + size };
	struct optcache_journal_header *h;
	const u8 flags = in_u8(&in);
	const size_t avail = in_left(&in);
	struct oc_super sb;
	size_t used;
	u8 *block;

	if (!avail)
		return 0;
	small_super(&sb);
	block = malloc(avail);
	in_bytes(&in, block, avail);
	h = (void *)block;
	if (flags & 1 && avail >= sizeof(*h)) {
		h->magic = cpu_to_le32(OPTCACHE_JOURNAL_MAGIC);
		memcpy(h->uuid, sb.uuid, sizeof(h->uuid));
		used = sizeof(*h) + le16_to_cpu(h->nr) * sizeof(struct optcache_record);
		if (flags & 2 && used <= avail)
			fix_crc(block, used, offsetof(struct optcache_journal_header, crc));
	}
	check_block(&sb, block, avail);
	free(block);
	return 0;
}
