/* SPDX-License-Identifier: GPL-2.0-only */
/* What the fuzz targets share. */
#ifndef _FUZZ_H
#define _FUZZ_H

#include <optcache/format.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* What must hold for every input. */
#define must(x)								\
	do {								\
		if (!(x)) {						\
			dprintf(2, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
			abort();					\
		}							\
	} while (0)

/* The input, eaten from the front; beyond its end there are zeroes. */
struct in {
	const u8 *at, *end;
};

static inline size_t in_left(const struct in *in)
{
	return in->end - in->at;
}

static inline void in_bytes(struct in *in, void *to, size_t n)
{
	size_t have = min(n, in_left(in));

	memset(to, 0, n);
	if (have)
		memcpy(to, in->at, have);
	in->at += have;
}

static inline u8 in_u8(struct in *in)
{
	u8 v;

	in_bytes(in, &v, sizeof(v));
	return v;
}

static inline u16 in_u16(struct in *in)
{
	u16 v;

	in_bytes(in, &v, sizeof(v));
	return v;
}

static inline u64 in_u64(struct in *in)
{
	u64 v;

	in_bytes(in, &v, sizeof(v));
	return v;
}

/* The checksum at @crc_at becomes right. */
static inline void fix_crc(void *buf, size_t len, size_t crc_at)
{
	__le32 crc = cpu_to_le32(oc_crc(buf, len, crc_at));

	memcpy((char *)buf + crc_at, &crc, sizeof(crc));
}

/* A small device: 600 slots in 2 pages, a journal of 16 KiB, a disk of 5001 sectors. */
#define SMALL_BLOCKS	626

static inline void small_super(struct oc_super *sb)
{
	static const u8 uuid[OPTCACHE_UUID_SIZE] = "the cache's uuid";
	const struct oc_geometry geo = {
		.origin_sectors = 5001,
		.journal_start = 8192,
		.journal_size = 16384,
		.table_start = 24576,
		.data_start = 40960,
		.nr_slots = 600,
		.nr_pages = 2,
		.journal_unit = 512,
		.slot_size = OPTCACHE_BLOCK_SIZE,
		.cache_sectors = 80 + 600 * OPTCACHE_SECTORS_PER_BLOCK,
	};

	oc_super_new(sb, &geo, uuid, uuid);
}

#endif /* _FUZZ_H */
