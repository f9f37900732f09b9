/* SPDX-License-Identifier: GPL-2.0-only */
/* Encoding, decoding and validation of everything on the cache device. */
#ifndef _OPTCACHE_FORMAT_H
#define _OPTCACHE_FORMAT_H

#include "types.h"

/* Host-endian superblock. */
struct oc_geometry {
	u64 cache_sectors;
	u64 origin_sectors;
	u64 journal_start;	/* bytes */
	u64 journal_size;
	u64 table_start;
	u64 data_start;
	u32 nr_slots;
	u32 nr_pages;		/* of the table, derived */
	u32 journal_unit;
	u32 slot_size;
};

/* Host-endian part of a fingerprint. */
struct oc_sample {
	u64 sector;
	u32 sectors;
	u32 hash;
};

struct oc_super {
	u8 uuid[OPTCACHE_UUID_SIZE];
	u8 origin_uuid[OPTCACHE_UUID_SIZE];
	u64 features_compat;
	u64 seq;
	u64 generation;
	struct oc_geometry geo;
	u32 flags;
	u64 epoch;
	u64 tail_lsn;
	u64 tail_offset;
	u64 tail_epoch;
	u32 option_mask;
	u64 option[OPTCACHE_MAX_OPTIONS];
	u32 nr_samples;
	struct oc_sample sample[OPTCACHE_MAX_SAMPLES];
};

/*
 * CRC32C of @len bytes with the 4 bytes at @crc_at taken as zero: the checksum of
 * every structure on the device.
 */
u32 oc_crc(const void *buf, size_t len, size_t crc_at);

/**
 * oc_geometry_plan - lay out a cache device
 * @cache_sectors, @origin_sectors: sizes in 512-byte sectors
 * @cache_lbs: logical block size of the cache device in bytes
 * @why: on error, what is wrong and what to do, a constant string
 *
 * Journal: 1/256 of the device, 64 KiB..64 MiB.  Return: 0, -EINVAL (bad sector size,
 * origin empty or beyond 2^40 blocks), -ENOSPC (fewer than OPTCACHE_MIN_SLOTS slots fit).
 */
int oc_geometry_plan(struct oc_geometry *geo, u64 cache_sectors, u64 origin_sectors,
		     u32 cache_lbs, const char **why);

/* A superblock for a new cache on @geo; epoch, lsn and seq start at 1. */
void oc_super_new(struct oc_super *sb, const struct oc_geometry *geo,
		  const u8 uuid[OPTCACHE_UUID_SIZE], const u8 origin_uuid[OPTCACHE_UUID_SIZE]);

void oc_super_encode(const struct oc_super *sb, struct optcache_super *disk);

/**
 * oc_super_decode - check one copy
 *
 * Every field is checked against every other and nothing is used before.
 * Return: 0; -ENODATA no magic (not an optcache device); -EBADMSG checksum;
 * -EPROTONOSUPPORT version or feature unknown; -EUCLEAN inconsistent fields.
 * @why says which, a constant string.
 */
int oc_super_decode(struct oc_super *sb, const struct optcache_super *disk, const char **why);

/*
 * Of both copies take the valid one with the higher seq.  @which (may be NULL): 0 or 1.
 * Return: as oc_super_decode; when neither is valid, the more telling error.
 */
int oc_super_choose(struct oc_super *sb, const struct optcache_super disk[2],
		    unsigned int *which, const char **why);

/* Journal record in host order. */
struct oc_record {
	u8 type;		/* enum optcache_record_type */
	bool dirty;
	u8 valid;
	oc_slot_t slot;
	oc_block_t block;
	u32 count;		/* slots, 1..256 */
	u32 crc;		/* INTENT: oc_data_crc() */
};

/*
 * What an INTENT's data has to look like: CRC32C of @len bytes, which are all sectors that
 * its valid mask names.  To go on with more bytes give the result as @crc; begin with ~0U.
 */
static inline u32 oc_data_crc(u32 crc, const void *buf, size_t len)
{
	return crc32c(crc, buf, len);
}

void oc_record_encode(const struct oc_record *r, struct optcache_record *disk);
/* Return: 0 or -EUCLEAN: unknown type, slots or blocks out of range. */
int oc_record_decode(struct oc_record *r, const struct optcache_record *disk,
		     const struct oc_geometry *geo);

/*
 * Header and checksum of a journal block whose records are already in place after it.
 * @size: bytes, a multiple of the journal unit; what lies behind the records stays as it is.
 */
void oc_journal_seal(void *block, u32 size, const u8 uuid[OPTCACHE_UUID_SIZE], u64 epoch,
		     u64 lsn, u32 nr);

/**
 * oc_journal_open - check the block at the start of @buf
 * @avail: bytes in @buf
 * @size, @nr, @epoch: of the block
 *
 * Accepted only with our magic and uuid, @epoch_min <= epoch <= @epoch_max, lsn == @lsn
 * and a right checksum.  Return: 0; -ENODATA: the journal ends before this block;
 * -EUCLEAN: it is right but newer than @epoch_max, so the superblock at hand is not the
 * latest, and what it hides must not be taken for the end.
 */
int oc_journal_open(const void *buf, size_t avail, const struct oc_geometry *geo,
		    const u8 uuid[OPTCACHE_UUID_SIZE], u64 epoch_min, u64 epoch_max, u64 lsn,
		    u32 *size, u32 *nr, u64 *epoch);

u64 oc_entry_encode(u64 word);		/* slot word to table entry: what is mapped, else 0 */
u64 oc_entry_word(u64 entry);		/* and back: a LIVE word, or 0 */

void oc_page_seal(struct optcache_table_page *page, const u8 uuid[OPTCACHE_UUID_SIZE],
		  u32 nr, u64 lsn, u64 seq);
/*
 * Return: 0, -EBADMSG (not a page of this cache, torn, misplaced), -EUCLEAN (an entry is
 * out of range).
 */
int oc_page_check(const struct optcache_table_page *page, const struct oc_geometry *geo,
		  const u8 uuid[OPTCACHE_UUID_SIZE], u32 nr);

static inline u64 oc_page_offset(const struct oc_geometry *geo, u32 page, unsigned int place)
{
	return geo->table_start + ((u64)page * 2 + place) * OPTCACHE_PAGE_SIZE;
}

static inline u64 oc_slot_sector(const struct oc_geometry *geo, oc_slot_t slot)
{
	return (geo->data_start >> 9) + (u64)from_slot(slot) * OPTCACHE_SECTORS_PER_BLOCK;
}

#endif /* _OPTCACHE_FORMAT_H */
