/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * dm-optcache: on-disk format v1, limits, and the words of the status line.
 * Shared by the kernel module and by optcachectl.
 *
 * Layout of a cache device, all offsets multiples of 4 KiB:
 *
 *	0		superblock, copy 0
 *	4 KiB		superblock, copy 1
 *	journal_start	journal ring, written in units of journal_unit bytes
 *	table_start	mapping table: page p has two places, 2p and 2p + 1
 *	data_start	nr_slots slots of slot_size bytes
 *
 * All integers are little endian.  Every structure carries a CRC32C (Castagnoli,
 * seed ~0, not inverted at the end) over itself with its own crc field taken as
 * zero.  Unused bytes are zero, but in journal blocks, where they do not matter.
 */
#ifndef _UAPI_LINUX_DM_OPTCACHE_H
#define _UAPI_LINUX_DM_OPTCACHE_H

#include <linux/types.h>

#define OPTCACHE_NAME			"optcache"
#define OPTCACHE_VERSION		1

#define OPTCACHE_PAGE_SIZE		4096
#define OPTCACHE_BLOCK_SHIFT		12	/* log2 bytes of an origin block */
#define OPTCACHE_BLOCK_SIZE		(1 << OPTCACHE_BLOCK_SHIFT)
#define OPTCACHE_SECTORS_PER_BLOCK	(OPTCACHE_BLOCK_SIZE >> 9)
#define OPTCACHE_VALID_ALL		0xff

#define OPTCACHE_MAX_BLOCK_BITS		40	/* origin: up to 2^40 blocks */
#define OPTCACHE_MAX_SLOTS		0x7fffffffU
#define OPTCACHE_MIN_SLOTS		64

/* ---- superblock ------------------------------------------------------ */

#define OPTCACHE_SUPER_MAGIC		"optcache"	/* 8 bytes, no NUL */
#define OPTCACHE_SUPER_COPIES		2
#define OPTCACHE_UUID_SIZE		16

/* Unknown bits in features_incompat refuse the cache, those in features_compat do not. */
#define OPTCACHE_INCOMPAT_KNOWN		0ULL

/* optcache_super.flags */
#define OPTCACHE_SUPER_CLEAN_STOP	(1U << 0) /* stopped in order; for tools */
#define OPTCACHE_SUPER_FAILED		(1U << 1) /* a metadata write failed: do not trust it */
#define OPTCACHE_SUPER_STALE		(1U << 2) /* origin changed: clean blocks must go */
#define OPTCACHE_SUPER_FLAGS		7U	/* all that there are */

/* Saved options: bit i of option_mask says that option[i] was set by the user. */
enum optcache_option {
	OPTCACHE_OPT_MODE,		/* enum optcache_mode */
	OPTCACHE_OPT_SEQ_CUTOFF,	/* KiB, 0 = never bypass */
	OPTCACHE_OPT_WRITEBACK_DELAY,	/* seconds */
	OPTCACHE_OPT_DIRTY_LOW,		/* percent of the slots */
	OPTCACHE_OPT_DIRTY_HIGH,	/* percent of the slots */
	OPTCACHE_NR_OPTIONS
};

#define OPTCACHE_MAX_OPTIONS		32

enum optcache_mode {
	OPTCACHE_MODE_WRITEBACK,
	OPTCACHE_MODE_WRITETHROUGH,
	OPTCACHE_MODE_WRITEAROUND,
	OPTCACHE_MODE_PASSTHROUGH,
	OPTCACHE_NR_MODES
};

/* What a part of the origin held when the cache was stopped. */
struct optcache_sample {
	__le64	sector;
	__le32	sectors;		/* 1..OPTCACHE_SAMPLE_SECTORS */
	__le32	hash;			/* SipHash-2-4, key: the UUID, see sample.c */
} __attribute__((packed));

#define OPTCACHE_MAX_SAMPLES		48
#define OPTCACHE_SAMPLE_SECTORS		2048	/* 1 MiB */

struct optcache_super {
	__u8	magic[8];
	__le32	version;
	__le32	crc;
	__u8	uuid[OPTCACHE_UUID_SIZE];	/* of this cache, new at every format */
	__u8	origin_uuid[OPTCACHE_UUID_SIZE];/* of the pair; for a tag on the origin */
	__le64	features_incompat;
	__le64	features_compat;
	__le64	seq;			/* the copy with the higher one wins */
	__le64	generation;		/* raised by every activation that writes */

	/* geometry, fixed at format time */
	__le64	cache_sectors;		/* part of the cache device in use, 512-byte sectors */
	__le64	origin_sectors;		/* of the origin */
	__le64	journal_start;		/* bytes */
	__le64	journal_size;		/* bytes */
	__le64	table_start;		/* bytes */
	__le64	data_start;		/* bytes */
	__le32	nr_slots;
	__le32	journal_unit;		/* bytes: 512 or 4096, >= its logical sector */
	__le32	slot_size;		/* bytes: OPTCACHE_BLOCK_SIZE in v1 */
	__le32	flags;			/* OPTCACHE_SUPER_* */

	/* where replay starts */
	__le64	epoch;			/* highest epoch any journal block may carry */
	__le64	tail_lsn;		/* number of the first record that must be replayed */
	__le64	tail_offset;		/* bytes from journal_start of its block */
	__le64	tail_epoch;		/* the lowest epoch that block may carry */

	__le32	nr_samples;		/* 0 while the cache is in use */
	__le32	reserved0[2];
	__le32	option_mask;
	__le64	option[OPTCACHE_MAX_OPTIONS];

	/* fingerprint of the origin, taken when the cache was stopped; by sector, none overlap */
	struct optcache_sample sample[OPTCACHE_MAX_SAMPLES];

	__u8	reserved[2880];
} __attribute__((packed));

/* ---- journal --------------------------------------------------------- */

#define OPTCACHE_JOURNAL_MAGIC		0x4c4a434fU	/* "OCJL" */
#define OPTCACHE_JOURNAL_BLOCK_MAX	4096		/* bytes of the largest journal block */

/*
 * A journal block is 1..n whole units, at most OPTCACHE_JOURNAL_BLOCK_MAX bytes;
 * it never crosses the end of the ring.  The next block follows directly.
 * Records are numbered without a gap over all blocks: lsn is the number of the
 * block's first record, the next block's lsn is lsn + nr.
 */
struct optcache_journal_header {
	__le32	magic;
	__le32	crc;			/* of header and records, the rest is not looked at */
	__u8	uuid[OPTCACHE_UUID_SIZE];
	__le64	epoch;			/* never falls from one block to the next */
	__le64	lsn;
	__le16	nr;			/* records, >= 1 */
	__le16	size;			/* bytes of this block, a multiple of journal_unit */
	__le32	reserved;
} __attribute__((packed));

enum optcache_record_type {
	OPTCACHE_REC_MAP	= 1,	/* slots now hold blocks, valid and dirty so */
	OPTCACHE_REC_UNMAP	= 2,	/* slots hold nothing */
	OPTCACHE_REC_CLEAN	= 3,	/* the origin durably holds what the slots hold */
	OPTCACHE_REC_INTENT	= 4,	/* a slot holds a block, dirty, if its data has this crc */
};

#define OPTCACHE_REC_TYPE_MASK		0x0f
#define OPTCACHE_REC_DIRTY		0x10	/* MAP: the origin does not durably hold this */

/*
 * A record stands for count + 1 slots in a row, and for MAP as many blocks in a row;
 * an INTENT for one.
 */
struct optcache_record {
	__le32	slot;			/* first slot */
	__le32	crc;			/* INTENT: CRC32C of the valid sectors, else 0 */
	__le32	block_lo;		/* MAP, INTENT: first origin block, low 32 bits */
	__u8	block_hi;		/* MAP, INTENT: its high 8 bits */
	__u8	valid;			/* MAP, INTENT: bit i = 512-byte sector i of each block */
	__u8	type;			/* enum optcache_record_type | OPTCACHE_REC_* */
	__u8	count;			/* slots - 1 */
} __attribute__((packed));

#define OPTCACHE_RECORDS_IN(bytes) \
	(((bytes) - sizeof(struct optcache_journal_header)) / sizeof(struct optcache_record))

/* ---- mapping table --------------------------------------------------- */

#define OPTCACHE_TABLE_MAGIC		0x4254434fU	/* "OCTB" */

/* Bits of an entry; an entry of zero is a slot that holds nothing. */
#define OPTCACHE_ENTRY_BLOCK_BITS	40
#define OPTCACHE_ENTRY_VALID_SHIFT	40		/* 8 bits */
#define OPTCACHE_ENTRY_MAPPED		(1ULL << 48)
#define OPTCACHE_ENTRY_DIRTY		(1ULL << 49)

#define OPTCACHE_ENTRIES_PER_PAGE	506

struct optcache_table_page {
	__le32	magic;
	__le32	crc;
	__u8	uuid[OPTCACHE_UUID_SIZE];
	__le64	lsn;			/* every record below it is contained */
	__le64	seq;			/* writes of this page; the higher one wins */
	__le32	page;			/* page number, guards against misplaced writes */
	__le32	reserved;
	__le64	entry[OPTCACHE_ENTRIES_PER_PAGE];
} __attribute__((packed));

#define OPTCACHE_STATIC_ASSERT(x)	_Static_assert(x, #x)
OPTCACHE_STATIC_ASSERT(sizeof(struct optcache_super) == OPTCACHE_PAGE_SIZE);
OPTCACHE_STATIC_ASSERT(sizeof(struct optcache_journal_header) == 48);
OPTCACHE_STATIC_ASSERT(sizeof(struct optcache_record) == 16);
OPTCACHE_STATIC_ASSERT(sizeof(struct optcache_table_page) == OPTCACHE_PAGE_SIZE);

/* ---- options --------------------------------------------------------- */

#define OPTCACHE_SEQ_CUTOFF_DEFAULT	1024	/* KiB */
#define OPTCACHE_SEQ_CUTOFF_MAX		(1U << 30)
#define OPTCACHE_WRITEBACK_DELAY_DEFAULT 5	/* seconds */
#define OPTCACHE_WRITEBACK_DELAY_MAX	3600
#define OPTCACHE_DIRTY_LOW_DEFAULT	0	/* percent: idle write-back goes down to it */
#define OPTCACHE_DIRTY_HIGH_DEFAULT	60	/* percent: above it write-back does not wait */
#define OPTCACHE_DIRTY_MAX		95

/* First word of the status line; raised when a key changes its meaning. */
#define OPTCACHE_STATUS_VERSION		1

#endif /* _UAPI_LINUX_DM_OPTCACHE_H */
