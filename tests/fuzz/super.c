// SPDX-License-Identifier: GPL-2.0-only
/*
 * Both superblocks.  First byte: bits 0 and 1, of which copies the checksum is made
 * right; bit 2: the second copy is the first, and the input only goes over it.
 */
#include "fuzz.h"

#define CRC_AT	offsetof(struct optcache_super, crc)

/* What activation reads, in one go each. */
static void check_samples(const struct oc_super *sb)
{
	const struct oc_sample *s;
	u64 end = 0;

	must(sb->nr_samples <= OPTCACHE_MAX_SAMPLES);
	for (s = sb->sample; s < sb->sample + sb->nr_samples; s++) {
		must(s->sectors && s->sectors <= OPTCACHE_SAMPLE_SECTORS && s->sector >= end);
		end = s->sector + s->sectors;
		must(end <= sb->geo.origin_sectors);
	}
}

static void check_copy(const struct optcache_super *disk)
{
	struct optcache_super again;
	struct oc_super sb, same;
	const char *why = NULL;
	int err = oc_super_decode(&sb, disk, &why);

	if (err) {
		must(why);
		return;
	}
	must(sb.geo.nr_slots >= OPTCACHE_MIN_SLOTS && sb.geo.nr_slots <= OPTCACHE_MAX_SLOTS);
	must(sb.geo.data_start + (u64)sb.geo.nr_slots * sb.geo.slot_size <=
	     sb.geo.cache_sectors << 9);
	must(oc_page_offset(&sb.geo, sb.geo.nr_pages, 0) <= sb.geo.data_start);
	must(sb.tail_offset < sb.geo.journal_size);
	check_samples(&sb);

	oc_super_encode(&sb, &again);
	must(!oc_super_decode(&same, &again, &why));
	must(!memcmp(&sb, &same, sizeof(sb)));
	/* what has no meaning now is not kept, and then neither is the checksum */
	memcpy(again.reserved0, disk->reserved0, sizeof(again.reserved0));
	memcpy(&again.sample[sb.nr_samples], &disk->sample[sb.nr_samples],
	       sizeof(disk->sample) - sb.nr_samples * sizeof(disk->sample[0]));
	memcpy(again.reserved, disk->reserved, sizeof(again.reserved));
	again.crc = disk->crc;
	must(!memcmp(&again, disk, sizeof(again)));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct optcache_super disk[OPTCACHE_SUPER_COPIES];
	struct in in = { data, data + size };
	struct oc_super sb, again;
	const char *why = NULL, *same;
	unsigned int i, which = 9, flags = in_u8(&in);
	int err;

	in_bytes(&in, &disk[0], sizeof(disk[0]));
	if (flags & 4) {
		disk[1] = disk[0];
		in_bytes(&in, &disk[1].seq, min(in_left(&in), sizeof(disk[1].seq)));
	} else {
		in_bytes(&in, &disk[1], sizeof(disk[1]));
	}
	for (i = 0; i < OPTCACHE_SUPER_COPIES; i++) {
		if (flags & BIT(i))
			fix_crc(&disk[i], sizeof(disk[i]), CRC_AT);
		check_copy(&disk[i]);
	}
	err = oc_super_choose(&sb, disk, &which, &why);
	must(err ? !!why : which < OPTCACHE_SUPER_COPIES);
	must(oc_super_choose(&again, disk, NULL, &same) == err);
	if (!err) {
		must(!memcmp(&sb, &again, sizeof(sb)));
		must(!oc_super_decode(&again, &disk[which], &why));
		must(!memcmp(&sb, &again, sizeof(sb)));
	}
	return 0;
}
