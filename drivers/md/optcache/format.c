// SPDX-License-Identifier: GPL-2.0-only
/*
 * Encoding, decoding and validation of everything on the cache device.
 *
 * The checks trust nothing: a field is used only after it was compared with
 * everything that bounds it, and sums cannot overflow because every size is
 * limited first.
 */
#include <optcache/format.h>
#include <optcache/slots.h>

#define JOURNAL_START	(OPTCACHE_SUPER_COPIES * OPTCACHE_PAGE_SIZE)
#define JOURNAL_SHIFT	8			/* 1/256 of the device */
#define JOURNAL_MIN	(64ULL << 10)
#define JOURNAL_MAX	(64ULL << 20)

/* More than OPTCACHE_MAX_SLOTS slots can ever fill, and far from any overflow. */
#define CACHE_SECTORS_MAX	BIT_ULL(36)
#define ORIGIN_SECTORS_MAX \
	(OPTCACHE_SECTORS_PER_BLOCK * BIT_ULL(OPTCACHE_MAX_BLOCK_BITS))

u32 oc_crc(const void *buf, size_t len, size_t crc_at)
{
	static const u8 zero[4];
	u32 crc;

	crc = crc32c(~0U, buf, crc_at);
	crc = crc32c(crc, zero, sizeof(zero));
	return crc32c(crc, buf + crc_at + sizeof(zero), len - crc_at - sizeof(zero));
}

static u64 origin_blocks(const struct oc_geometry *geo)
{
	return DIV_ROUND_UP(geo->origin_sectors, OPTCACHE_SECTORS_PER_BLOCK);
}

static u32 table_pages(u32 nr_slots)
{
	return DIV_ROUND_UP(nr_slots, OPTCACHE_ENTRIES_PER_PAGE);
}

/* ---- geometry -------------------------------------------------------- */

/* Slots that fit in @pages pages together with their part of the table. */
static u32 plan_slots(u64 pages)
{
	const u32 group = OPTCACHE_ENTRIES_PER_PAGE + 2;
	u32 rest;
	u64 nr;

	nr = div_u64_rem(pages, group, &rest) * OPTCACHE_ENTRIES_PER_PAGE;
	if (rest > 2)
		nr += rest - 2;
	return min_t(u64, nr, OPTCACHE_MAX_SLOTS);
}

int oc_geometry_plan(struct oc_geometry *geo, u64 cache_sectors, u64 origin_sectors,
		     u32 cache_lbs, const char **why)
{
	u64 pages, journal;

	memset(geo, 0, sizeof(*geo));
	if (!is_power_of_2(cache_lbs) || cache_lbs < 512 || cache_lbs > OPTCACHE_PAGE_SIZE) {
		*why = "logical block size of the cache device is not 512..4096, use another one";
		return -EINVAL;
	}
	if (!origin_sectors) {
		*why = "origin is empty: check the device name";
		return -EINVAL;
	}
	if (origin_sectors > ORIGIN_SECTORS_MAX) {
		*why = "origin is larger than 4 PiB: use a smaller device";
		return -EINVAL;
	}

	pages = min_t(u64, cache_sectors, CACHE_SECTORS_MAX) / OPTCACHE_SECTORS_PER_BLOCK;
	journal = (pages * OPTCACHE_PAGE_SIZE) >> JOURNAL_SHIFT;
	journal = ALIGN_DOWN(clamp_t(u64, journal, JOURNAL_MIN, JOURNAL_MAX), OPTCACHE_PAGE_SIZE);

	geo->origin_sectors = origin_sectors;
	geo->slot_size = OPTCACHE_BLOCK_SIZE;
	geo->journal_unit = cache_lbs > 512 ? 4096 : 512;
	geo->journal_start = JOURNAL_START;
	geo->journal_size = journal;
	geo->table_start = JOURNAL_START + journal;
	if (pages > geo->table_start / OPTCACHE_PAGE_SIZE)
		geo->nr_slots = plan_slots(pages - geo->table_start / OPTCACHE_PAGE_SIZE);
	if (geo->nr_slots < OPTCACHE_MIN_SLOTS) {
		*why = "cache device is too small: give it at least 1 MiB";
		return -ENOSPC;
	}
	geo->nr_pages = table_pages(geo->nr_slots);
	geo->data_start = geo->table_start + (u64)geo->nr_pages * 2 * OPTCACHE_PAGE_SIZE;
	geo->cache_sectors = (geo->data_start + (u64)geo->nr_slots * OPTCACHE_BLOCK_SIZE) >> 9;
	return 0;
}

/* The regions lie in the order of the layout, page-aligned, without overlap. */
static const char *geometry_regions(const struct oc_geometry *geo)
{
	const u64 end = geo->cache_sectors << 9;

	if (!IS_ALIGNED(geo->journal_start | geo->journal_size | geo->table_start |
			geo->data_start, OPTCACHE_PAGE_SIZE))
		return "superblock: a region is not aligned to 4 KiB";
	if (geo->journal_start > end || geo->journal_size > end || geo->table_start > end ||
	    geo->data_start > end)
		return "superblock: a region lies beyond the cache device";
	if (geo->journal_start < JOURNAL_START)
		return "superblock: the journal overlaps the superblocks";
	if (geo->journal_size < max(2 * OPTCACHE_JOURNAL_BLOCK_MAX, 16 * geo->journal_unit))
		return "superblock: the journal is too small";
	if (geo->journal_start + geo->journal_size > geo->table_start)
		return "superblock: the journal overlaps the table";
	if (oc_page_offset(geo, geo->nr_pages, 0) > geo->data_start)
		return "superblock: the table overlaps the slots";
	if (geo->data_start + (u64)geo->nr_slots * geo->slot_size > end)
		return "superblock: the slots reach beyond the cache device";
	return NULL;
}

/* What is wrong with @geo, or NULL. */
static const char *geometry_check(const struct oc_geometry *geo)
{
	if (!geo->cache_sectors || geo->cache_sectors > CACHE_SECTORS_MAX)
		return "superblock: senseless size of the cache device";
	if (!geo->origin_sectors || geo->origin_sectors > ORIGIN_SECTORS_MAX)
		return "superblock: senseless size of the origin";
	if (geo->slot_size != OPTCACHE_BLOCK_SIZE)
		return "superblock: slot size is not 4096";
	if (geo->journal_unit != 512 && geo->journal_unit != 4096)
		return "superblock: journal unit is neither 512 nor 4096";
	if (geo->nr_slots < OPTCACHE_MIN_SLOTS || geo->nr_slots > OPTCACHE_MAX_SLOTS)
		return "superblock: senseless number of slots";
	return geometry_regions(geo);
}

/* ---- superblock ------------------------------------------------------ */

void oc_super_new(struct oc_super *sb, const struct oc_geometry *geo,
		  const u8 uuid[OPTCACHE_UUID_SIZE], const u8 origin_uuid[OPTCACHE_UUID_SIZE])
{
	memset(sb, 0, sizeof(*sb));
	memcpy(sb->uuid, uuid, OPTCACHE_UUID_SIZE);
	memcpy(sb->origin_uuid, origin_uuid, OPTCACHE_UUID_SIZE);
	sb->geo = *geo;
	sb->seq = 1;
	sb->epoch = 1;
	sb->tail_epoch = 1;
	sb->tail_lsn = 1;
}

static void samples_pack(const struct oc_super *sb, struct optcache_super *disk)
{
	u32 i;

	disk->nr_samples = cpu_to_le32(sb->nr_samples);
	for (i = 0; i < min_t(u32, sb->nr_samples, OPTCACHE_MAX_SAMPLES); i++) {
		disk->sample[i].sector = cpu_to_le64(sb->sample[i].sector);
		disk->sample[i].sectors = cpu_to_le32(sb->sample[i].sectors);
		disk->sample[i].hash = cpu_to_le32(sb->sample[i].hash);
	}
}

/* What lies beyond the number of samples is not looked at. */
static void samples_unpack(struct oc_super *sb, const struct optcache_super *disk)
{
	u32 i;

	sb->nr_samples = le32_to_cpu(disk->nr_samples);
	for (i = 0; i < min_t(u32, sb->nr_samples, OPTCACHE_MAX_SAMPLES); i++) {
		sb->sample[i].sector = le64_to_cpu(disk->sample[i].sector);
		sb->sample[i].sectors = le32_to_cpu(disk->sample[i].sectors);
		sb->sample[i].hash = le32_to_cpu(disk->sample[i].hash);
	}
}

void oc_super_encode(const struct oc_super *sb, struct optcache_super *disk)
{
	const struct oc_geometry *geo = &sb->geo;
	unsigned int i;

	memset(disk, 0, sizeof(*disk));
	memcpy(disk->magic, OPTCACHE_SUPER_MAGIC, sizeof(disk->magic));
	disk->version = cpu_to_le32(OPTCACHE_VERSION);
	memcpy(disk->uuid, sb->uuid, OPTCACHE_UUID_SIZE);
	memcpy(disk->origin_uuid, sb->origin_uuid, OPTCACHE_UUID_SIZE);
	disk->features_compat = cpu_to_le64(sb->features_compat);
	disk->seq = cpu_to_le64(sb->seq);
	disk->generation = cpu_to_le64(sb->generation);

	disk->cache_sectors = cpu_to_le64(geo->cache_sectors);
	disk->origin_sectors = cpu_to_le64(geo->origin_sectors);
	disk->journal_start = cpu_to_le64(geo->journal_start);
	disk->journal_size = cpu_to_le64(geo->journal_size);
	disk->table_start = cpu_to_le64(geo->table_start);
	disk->data_start = cpu_to_le64(geo->data_start);
	disk->nr_slots = cpu_to_le32(geo->nr_slots);
	disk->journal_unit = cpu_to_le32(geo->journal_unit);
	disk->slot_size = cpu_to_le32(geo->slot_size);
	disk->flags = cpu_to_le32(sb->flags);

	disk->epoch = cpu_to_le64(sb->epoch);
	disk->tail_lsn = cpu_to_le64(sb->tail_lsn);
	disk->tail_offset = cpu_to_le64(sb->tail_offset);
	disk->tail_epoch = cpu_to_le64(sb->tail_epoch);

	disk->option_mask = cpu_to_le32(sb->option_mask);
	for (i = 0; i < OPTCACHE_MAX_OPTIONS; i++)
		disk->option[i] = cpu_to_le64(sb->option[i]);
	samples_pack(sb, disk);

	disk->crc = cpu_to_le32(oc_crc(disk, sizeof(*disk), offsetof(struct optcache_super, crc)));
}

static void super_unpack(struct oc_super *sb, const struct optcache_super *disk)
{
	struct oc_geometry *geo = &sb->geo;
	unsigned int i;

	memcpy(sb->uuid, disk->uuid, OPTCACHE_UUID_SIZE);
	memcpy(sb->origin_uuid, disk->origin_uuid, OPTCACHE_UUID_SIZE);
	sb->features_compat = le64_to_cpu(disk->features_compat);
	sb->seq = le64_to_cpu(disk->seq);
	sb->generation = le64_to_cpu(disk->generation);

	geo->cache_sectors = le64_to_cpu(disk->cache_sectors);
	geo->origin_sectors = le64_to_cpu(disk->origin_sectors);
	geo->journal_start = le64_to_cpu(disk->journal_start);
	geo->journal_size = le64_to_cpu(disk->journal_size);
	geo->table_start = le64_to_cpu(disk->table_start);
	geo->data_start = le64_to_cpu(disk->data_start);
	geo->nr_slots = le32_to_cpu(disk->nr_slots);
	geo->nr_pages = table_pages(geo->nr_slots);
	geo->journal_unit = le32_to_cpu(disk->journal_unit);
	geo->slot_size = le32_to_cpu(disk->slot_size);
	sb->flags = le32_to_cpu(disk->flags);

	sb->epoch = le64_to_cpu(disk->epoch);
	sb->tail_lsn = le64_to_cpu(disk->tail_lsn);
	sb->tail_offset = le64_to_cpu(disk->tail_offset);
	sb->tail_epoch = le64_to_cpu(disk->tail_epoch);

	sb->option_mask = le32_to_cpu(disk->option_mask);
	for (i = 0; i < OPTCACHE_MAX_OPTIONS; i++)
		sb->option[i] = le64_to_cpu(disk->option[i]);
	samples_unpack(sb, disk);
}

static const char *samples_check(const struct oc_super *sb)
{
	const struct oc_sample *s;
	u64 end = 0;
	u32 i;

	if (sb->nr_samples > OPTCACHE_MAX_SAMPLES)
		return "superblock: too many samples of the origin";
	for (i = 0; i < sb->nr_samples; i++) {
		s = &sb->sample[i];
		if (!s->sectors || s->sectors > OPTCACHE_SAMPLE_SECTORS)
			return "superblock: a sample of the origin has a senseless length";
		if (s->sector >= sb->geo.origin_sectors ||
		    s->sectors > sb->geo.origin_sectors - s->sector)
			return "superblock: a sample lies outside the origin";
		if (s->sector < end)
			return "superblock: samples of the origin overlap";
		end = s->sector + s->sectors;
	}
	return NULL;
}

/* What is wrong with @sb, or NULL. */
static const char *super_check(const struct oc_super *sb)
{
	const char *why = geometry_check(&sb->geo);

	if (why)
		return why;
	if (sb->flags & ~OPTCACHE_SUPER_FLAGS)
		return "superblock: unknown flag";
	if (!sb->seq || !sb->tail_lsn || !sb->tail_epoch)
		return "superblock: a counter is zero";
	if (sb->tail_epoch > sb->epoch)
		return "superblock: the journal's tail is newer than its epoch";
	if (sb->tail_offset >= sb->geo.journal_size)
		return "superblock: the journal's tail lies outside the journal";
	if (!IS_ALIGNED(sb->tail_offset, sb->geo.journal_unit))
		return "superblock: the journal's tail is not aligned";
	return samples_check(sb);
}

int oc_super_decode(struct oc_super *sb, const struct optcache_super *disk, const char **why)
{
	memset(sb, 0, sizeof(*sb));
	if (memcmp(disk->magic, OPTCACHE_SUPER_MAGIC, sizeof(disk->magic))) {
		*why = "superblock: no magic, this is not an optcache device";
		return -ENODATA;
	}
	if (le32_to_cpu(disk->crc) !=
	    oc_crc(disk, sizeof(*disk), offsetof(struct optcache_super, crc))) {
		*why = "superblock: wrong checksum";
		return -EBADMSG;
	}
	if (le32_to_cpu(disk->version) != OPTCACHE_VERSION) {
		*why = "superblock: unknown format version, a newer optcache is needed";
		return -EPROTONOSUPPORT;
	}
	if (le64_to_cpu(disk->features_incompat) & ~OPTCACHE_INCOMPAT_KNOWN) {
		*why = "superblock: unknown feature, a newer optcache is needed";
		return -EPROTONOSUPPORT;
	}
	super_unpack(sb, disk);
	*why = super_check(sb);
	return *why ? -EUCLEAN : 0;
}

/* How much an error of oc_super_decode() tells. */
static unsigned int super_error_rank(int err)
{
	switch (err) {
	case -EPROTONOSUPPORT:
		return 3;
	case -EUCLEAN:
		return 2;
	case -EBADMSG:
		return 1;
	}
	return 0;
}

/*
 * A good copy does not stand when the other one, as good by its checksum, is
 * from a later time but cannot be understood.
 */
static bool super_outdated(const struct optcache_super *good, const struct optcache_super *other,
			   int err)
{
	if (err != -EPROTONOSUPPORT)
		return false;
	return le32_to_cpu(other->version) != OPTCACHE_VERSION ||
	       le64_to_cpu(other->seq) > le64_to_cpu(good->seq);
}

int oc_super_choose(struct oc_super *sb, const struct optcache_super disk[2],
		    unsigned int *which, const char **why)
{
	int err[OPTCACHE_SUPER_COPIES];
	unsigned int w;

	for (w = 0; w < OPTCACHE_SUPER_COPIES; w++)
		err[w] = oc_super_decode(sb, &disk[w], why);

	if (!err[0] && !err[1] && memcmp(disk[0].uuid, disk[1].uuid, OPTCACHE_UUID_SIZE)) {
		*why = "superblock: the copies belong to two caches, format the device again";
		return -EUCLEAN;
	}
	if (err[0] && err[1]) {
		w = super_error_rank(err[1]) > super_error_rank(err[0]);
	} else if (err[0] || err[1]) {
		w = err[0] ? 1 : 0;
		if (super_outdated(&disk[w], &disk[!w], err[!w]))
			w = !w;
	} else {
		w = le64_to_cpu(disk[1].seq) > le64_to_cpu(disk[0].seq);
	}

	if (which)
		*which = w;
	return oc_super_decode(sb, &disk[w], why);
}

/* ---- journal --------------------------------------------------------- */

void oc_record_encode(const struct oc_record *r, struct optcache_record *disk)
{
	memset(disk, 0, sizeof(*disk));
	disk->slot = cpu_to_le32(from_slot(r->slot));
	disk->type = r->type;
	disk->count = r->count - 1;
	if (r->type != OPTCACHE_REC_MAP && r->type != OPTCACHE_REC_INTENT)
		return;
	disk->block_lo = cpu_to_le32((u32)from_oblock(r->block));
	disk->block_hi = from_oblock(r->block) >> 32;
	disk->valid = r->valid;
	if (r->type == OPTCACHE_REC_INTENT)
		disk->crc = cpu_to_le32(r->crc);
	else if (r->dirty)
		disk->type |= OPTCACHE_REC_DIRTY;
}

/* A record knows slots and blocks that exist, and nothing that its type does not use. */
static bool record_sane(const struct oc_record *r, const struct oc_geometry *geo)
{
	const bool mapping = r->valid && from_oblock(r->block) + r->count <= origin_blocks(geo);

	if (from_slot(r->slot) >= geo->nr_slots || r->count > geo->nr_slots - from_slot(r->slot))
		return false;
	switch (r->type) {
	case OPTCACHE_REC_MAP:
		return mapping && !r->crc;
	case OPTCACHE_REC_INTENT:
		return mapping && !r->dirty && r->count == 1;
	case OPTCACHE_REC_UNMAP:
	case OPTCACHE_REC_CLEAN:
		return !r->dirty && !r->valid && !r->crc && !from_oblock(r->block);
	default:
		return false;
	}
}

int oc_record_decode(struct oc_record *r, const struct optcache_record *disk,
		     const struct oc_geometry *geo)
{
	r->type = disk->type & OPTCACHE_REC_TYPE_MASK;
	r->dirty = disk->type & OPTCACHE_REC_DIRTY;
	r->valid = disk->valid;
	r->slot = to_slot(le32_to_cpu(disk->slot));
	r->block = to_oblock((u64)disk->block_hi << 32 | le32_to_cpu(disk->block_lo));
	r->count = disk->count + 1;
	r->crc = le32_to_cpu(disk->crc);

	if (disk->type & ~(OPTCACHE_REC_TYPE_MASK | OPTCACHE_REC_DIRTY))
		return -EUCLEAN;
	return record_sane(r, geo) ? 0 : -EUCLEAN;
}

/* Bytes of a block that mean something, and so its checksum's. */
static size_t journal_used(u32 nr)
{
	return sizeof(struct optcache_journal_header) + nr * sizeof(struct optcache_record);
}

void oc_journal_seal(void *block, u32 size, const u8 uuid[OPTCACHE_UUID_SIZE], u64 epoch,
		     u64 lsn, u32 nr)
{
	struct optcache_journal_header *h = block;

	h->magic = cpu_to_le32(OPTCACHE_JOURNAL_MAGIC);
	memcpy(h->uuid, uuid, OPTCACHE_UUID_SIZE);
	h->epoch = cpu_to_le64(epoch);
	h->lsn = cpu_to_le64(lsn);
	h->nr = cpu_to_le16(nr);
	h->size = cpu_to_le16(size);
	h->reserved = 0;
	h->crc = 0;
	h->crc = cpu_to_le32(crc32c(~0U, block, journal_used(nr)));
}

int oc_journal_open(const void *buf, size_t avail, const struct oc_geometry *geo,
		    const u8 uuid[OPTCACHE_UUID_SIZE], u64 epoch_min, u64 epoch_max, u64 lsn,
		    u32 *size, u32 *nr, u64 *epoch)
{
	const struct optcache_journal_header *h = buf;

	if (avail < geo->journal_unit || le32_to_cpu(h->magic) != OPTCACHE_JOURNAL_MAGIC ||
	    memcmp(h->uuid, uuid, OPTCACHE_UUID_SIZE) || le64_to_cpu(h->lsn) != lsn)
		return -ENODATA;
	*epoch = le64_to_cpu(h->epoch);
	if (*epoch < epoch_min)
		return -ENODATA;
	*size = le16_to_cpu(h->size);
	if (!*size || *size > OPTCACHE_JOURNAL_BLOCK_MAX || *size > avail ||
	    !IS_ALIGNED(*size, geo->journal_unit))
		return -ENODATA;
	*nr = le16_to_cpu(h->nr);
	if (!*nr || *nr > OPTCACHE_RECORDS_IN(*size))
		return -ENODATA;
	if (le32_to_cpu(h->crc) !=
	    oc_crc(buf, journal_used(*nr), offsetof(struct optcache_journal_header, crc)))
		return -ENODATA;
	/* an epoch is durable in the superblock before any block that carries it */
	return *epoch > epoch_max ? -EUCLEAN : 0;
}

/* ---- mapping table --------------------------------------------------- */

#define ENTRY_BLOCK	((1ULL << OPTCACHE_ENTRY_BLOCK_BITS) - 1)
#define ENTRY_VALID	((u64)OPTCACHE_VALID_ALL << OPTCACHE_ENTRY_VALID_SHIFT)
#define ENTRY_KNOWN	(ENTRY_BLOCK | ENTRY_VALID | OPTCACHE_ENTRY_MAPPED | OPTCACHE_ENTRY_DIRTY)

/* Block and valid mask lie alike in a slot word and in an entry. */
static_assert(ENTRY_BLOCK == OC_WORD_BLOCK);
static_assert(OPTCACHE_ENTRY_VALID_SHIFT == OC_WORD_VALID_SHIFT);

u64 oc_entry_encode(u64 word)
{
	const enum oc_state state = oc_word_state(word);
	u64 entry;

	if (state != OC_SEALED && state != OC_LIVE && state != OC_COPY)
		return 0;
	entry = (word & (ENTRY_BLOCK | ENTRY_VALID)) | OPTCACHE_ENTRY_MAPPED;
	if (word & OC_WORD_DIRTY)
		entry |= OPTCACHE_ENTRY_DIRTY;
	return entry;
}

u64 oc_entry_word(u64 entry)
{
	u64 word;

	if (!(entry & OPTCACHE_ENTRY_MAPPED))
		return 0;
	word = oc_word_with_state(entry & (ENTRY_BLOCK | ENTRY_VALID), OC_LIVE);
	if (entry & OPTCACHE_ENTRY_DIRTY)
		word |= OC_WORD_DIRTY;
	return word;
}

void oc_page_seal(struct optcache_table_page *page, const u8 uuid[OPTCACHE_UUID_SIZE],
		  u32 nr, u64 lsn, u64 seq)
{
	page->magic = cpu_to_le32(OPTCACHE_TABLE_MAGIC);
	memcpy(page->uuid, uuid, OPTCACHE_UUID_SIZE);
	page->lsn = cpu_to_le64(lsn);
	page->seq = cpu_to_le64(seq);
	page->page = cpu_to_le32(nr);
	page->reserved = 0;
	page->crc = cpu_to_le32(oc_crc(page, sizeof(*page),
				       offsetof(struct optcache_table_page, crc)));
}

static bool entry_sane(u64 entry, u64 blocks)
{
	if (!entry)
		return true;
	return (entry & OPTCACHE_ENTRY_MAPPED) && !(entry & ~ENTRY_KNOWN) &&
	       (entry & ENTRY_VALID) && (entry & ENTRY_BLOCK) < blocks;
}

int oc_page_check(const struct optcache_table_page *page, const struct oc_geometry *geo,
		  const u8 uuid[OPTCACHE_UUID_SIZE], u32 nr)
{
	const u64 blocks = origin_blocks(geo);
	u32 i, used;

	if (nr >= geo->nr_pages || le32_to_cpu(page->magic) != OPTCACHE_TABLE_MAGIC ||
	    memcmp(page->uuid, uuid, OPTCACHE_UUID_SIZE) || le32_to_cpu(page->page) != nr)
		return -EBADMSG;
	if (le32_to_cpu(page->crc) !=
	    oc_crc(page, sizeof(*page), offsetof(struct optcache_table_page, crc)))
		return -EBADMSG;

	used = min_t(u32, OPTCACHE_ENTRIES_PER_PAGE,
		     geo->nr_slots - nr * OPTCACHE_ENTRIES_PER_PAGE);
	for (i = 0; i < used; i++)
		if (!entry_sane(le64_to_cpu(page->entry[i]), blocks))
			return -EUCLEAN;
	for (; i < OPTCACHE_ENTRIES_PER_PAGE; i++)
		if (page->entry[i])
			return -EUCLEAN;
	return 0;
}
