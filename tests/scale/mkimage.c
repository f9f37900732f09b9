// SPDX-License-Identifier: GPL-2.0-only
/*
 * mkimage: large caches without the hours of I/O that fill them.
 *
 *	mkimage write DEVICE [OPTION...]	superblocks, table, journal, samples of data
 *	mkimage check DEVICE [OPTION...]	read the samples through the cached device
 *	mkimage time [OPTION...]		recovery in this process, without a journal
 *	mkimage plan				oc_geometry_plan() from 1 MiB to 32 TiB
 *
 * "check" and "time" take the options of "write", and in place of a device's size
 * --sectors.  Everything is told as key=value, one a line.
 */
#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <optcache/replay.h>

#include "model.h"

#define CHUNK		1048576U
#define CHUNK_PAGES	(CHUNK / (2 * OPTCACHE_PAGE_SIZE))

struct job {
	struct model m;
	u64 sectors;		/* of the cache device */
	u64 origin;
	u64 journal_start, table_start, data_start;	/* 0: as planned */
	u32 slots;		/* 0: as planned */
	bool clean_stop;
	int fd;
	char *buf;		/* CHUNK bytes, aligned */
};

static void tell(const char *key, u64 value)
{
	printf("%s=%llu\n", key, (unsigned long long)value);
}

/* ---- devices ---------------------------------------------------------- */

static void open_device(struct job *j, const char *path, int flags)
{
	u64 bytes;

	j->fd = open(path, flags | O_DIRECT);
	if (j->fd < 0 || ioctl(j->fd, BLKGETSIZE64, &bytes))
		err(1, "%s", path);
	if (!j->sectors)
		j->sectors = bytes >> 9;
}

static void put(const struct job *j, size_t len, u64 offset)
{
	if (pwrite(j->fd, j->buf, len, offset) != (ssize_t)len)
		err(1, "write of %zu bytes at %llu", len, (unsigned long long)offset);
}

static void get(const struct job *j, size_t len, u64 offset)
{
	if (pread(j->fd, j->buf, len, offset) != (ssize_t)len)
		err(1, "read of %zu bytes at %llu", len, (unsigned long long)offset);
}

/* ---- write ------------------------------------------------------------ */

static void write_table(const struct job *j)
{
	const struct oc_geometry *geo = &j->m.sb.geo;
	struct optcache_table_page *page = (void *)j->buf;
	u32 first, n, i;

	for (first = 0; first < geo->nr_pages; first += n) {
		n = min(geo->nr_pages - first, CHUNK_PAGES);
		for (i = 0; i < n; i++)
			model_page(&j->m, first + i, &page[2 * i]);
		put(j, (size_t)n * 2 * OPTCACHE_PAGE_SIZE, oc_page_offset(geo, first, 0));
	}
}

/* Bytes of the block that begins at @offset with record @nr: few or many, as they come. */
static u32 block_size(const struct job *j, u64 offset, u64 nr)
{
	const struct oc_geometry *geo = &j->m.sb.geo;
	u32 units = OPTCACHE_JOURNAL_BLOCK_MAX / geo->journal_unit;

	if (j->m.records < 100000)
		units = 1 + model_hash(&j->m, ~0ULL, nr) % units;
	return min_t(u64, units * geo->journal_unit, geo->journal_size - offset);
}

static void write_journal(const struct job *j)
{
	const struct oc_super *sb = &j->m.sb;
	struct optcache_record *record = (void *)(j->buf + sizeof(struct optcache_journal_header));
	u64 offset = sb->tail_offset, nr = 0, epoch = sb->tail_epoch;
	u32 size, n, i;

	if (!j->m.records)
		return;
	while (nr < j->m.records) {
		size = block_size(j, offset, nr);
		n = min_t(u64, OPTCACHE_RECORDS_IN(size), j->m.records - nr);
		for (i = 0; i < n; i++)
			model_record(&j->m, nr + i, &record[i]);
		epoch = sb->tail_epoch + nr * (sb->epoch - sb->tail_epoch + 1) / j->m.records;
		oc_journal_seal(j->buf, size, sb->uuid, epoch, sb->tail_lsn + nr, n);
		put(j, size, sb->geo.journal_start + offset);
		nr += n;
		offset = (offset + size) % sb->geo.journal_size;
		if (offset == sb->tail_offset)
			errx(1, "the journal is too small for so many events");
	}
	/* what an earlier lap might have left there */
	model_record(&j->m, 0, record);
	size = sb->geo.journal_unit;
	oc_journal_seal(j->buf, size, sb->uuid, epoch - 1, sb->tail_lsn + nr, 1);
	put(j, size, sb->geo.journal_start + offset);
}

static void write_samples(const struct job *j)
{
	u32 i, slot;
	u64 word;

	for (i = 0; j->m.full && i < j->m.samples; i++) {
		slot = model_sample(&j->m, i);
		word = model_word(&j->m, slot, ~0ULL);
		if (!word)
			continue;
		model_data(&j->m, from_oblock(oc_word_block(word)), j->buf);
		put(j, OPTCACHE_BLOCK_SIZE, oc_slot_sector(&j->m.sb.geo, to_slot(slot)) << 9);
	}
}

static void write_supers(struct job *j)
{
	struct oc_super sb = j->m.sb;

	oc_super_encode(&sb, (void *)j->buf);
	put(j, OPTCACHE_PAGE_SIZE, 0);
	sb.seq++;
	oc_super_encode(&sb, (void *)j->buf);
	put(j, OPTCACHE_PAGE_SIZE, OPTCACHE_PAGE_SIZE);
}

/* What the module has to find. */
static void tell_state(const struct job *j)
{
	u64 mapped = 0, dirty = 0, word;
	u32 i;

	for (i = 0; i < j->m.sb.geo.nr_slots; i++) {
		word = model_word(&j->m, i, ~0ULL);
		mapped += oc_word_current(word);
		dirty += !!(word & OC_WORD_DIRTY);
	}
	tell("slots", j->m.sb.geo.nr_slots);
	tell("pages", j->m.sb.geo.nr_pages);
	tell("mapped", mapped);
	tell("dirty", dirty);
	tell("records", j->m.records);
}

static int run_write(struct job *j)
{
	write_table(j);
	write_journal(j);
	write_samples(j);
	write_supers(j);
	if (fsync(j->fd))
		err(1, "fsync");
	tell_state(j);
	return 0;
}

/* ---- check ------------------------------------------------------------ */

/* @word: of the block's slot; sectors it does not hold are zeroes of the origin. */
static bool block_right(const struct job *j, u64 block, u64 word)
{
	const u8 valid = oc_word_valid(word);
	char want[OPTCACHE_BLOCK_SIZE];
	u32 i;

	model_data(&j->m, block, want);
	for (i = 0; i < OPTCACHE_SECTORS_PER_BLOCK; i++)
		if (!(valid & 1 << i))
			memset(want + 512 * i, 0, 512);
	get(j, OPTCACHE_BLOCK_SIZE, block * OPTCACHE_BLOCK_SIZE);
	return !memcmp(want, j->buf, OPTCACHE_BLOCK_SIZE);
}

static int run_check(struct job *j)
{
	u32 i, slot, hits = 0, parts = 0, origin = 0, wrong = 0;
	u64 word, block;

	for (i = 0; i < j->m.samples; i++) {
		slot = model_sample(&j->m, i);
		word = model_word(&j->m, slot, ~0ULL);
		block = from_oblock(oc_word_block(word));
		if (oc_word_valid(word) == OPTCACHE_VALID_ALL)
			hits++;
		else if (word & OC_WORD_DIRTY)
			parts++;
		else
			word = 0;	/* the origin would have it all, but nobody wrote that */
		if (word)
			wrong += !block_right(j, block, word);
		if (model_old_block(&j->m, slot, &block)) {
			wrong += !block_right(j, block, 0);
			origin++;
		}
	}
	tell("hits", hits);
	tell("parts", parts);
	tell("origin", origin);
	tell("wrong", wrong);
	return wrong > 0;
}

/* ---- time ------------------------------------------------------------- */

static u64 cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static int run_time(struct job *j)
{
	const struct oc_geometry *geo = &j->m.sb.geo;
	struct optcache_table_page *page = (void *)j->buf;
	u64 table = 0, start, alloc;
	struct oc_slots slots = { 0 };
	struct oc_index index;
	struct oc_replay rp;
	u32 first, n, i;
	oc_slot_t bad;

	start = cpu_ns();
	if (oc_slots_init(&slots, geo->nr_slots) || oc_index_init(&index, &slots) ||
	    oc_replay_init(&rp, &j->m.sb, &slots))
		errx(1, "out of memory");
	alloc = cpu_ns() - start;
	for (first = 0; first < geo->nr_pages; first += n) {
		n = min(geo->nr_pages - first, CHUNK_PAGES);
		for (i = 0; i < n; i++)
			model_page(&j->m, first + i, &page[2 * i]);
		start = cpu_ns();
		for (i = 0; i < n; i++)
			if (oc_replay_page(&rp, first + i, &page[2 * i], &page[2 * i + 1]))
				errx(1, "page %u", first + i);
		table += cpu_ns() - start;
	}
	start = cpu_ns();
	if (oc_replay_finish(&rp, &index, &bad))
		errx(1, "slot %u", from_slot(bad));
	start = cpu_ns() - start;
	tell("slots", geo->nr_slots);
	tell("alloc_ns", alloc);
	tell("table_ns", table);
	tell("index_ns", start);
	return 0;
}

/* ---- plan ------------------------------------------------------------- */

static const char *plan_wrong(u64 sectors, u64 origin, u32 lbs)
{
	struct optcache_super disk;
	struct oc_geometry geo;
	struct oc_super sb, back;
	const char *why = NULL;
	const u8 uuid[OPTCACHE_UUID_SIZE] = { 1 };
	u64 left;

	if (oc_geometry_plan(&geo, sectors, origin, lbs, &why))
		return why;
	oc_super_new(&sb, &geo, uuid, uuid);
	oc_super_encode(&sb, &disk);
	if (oc_super_decode(&back, &disk, &why))
		return why;
	if (memcmp(&geo, &back.geo, sizeof(geo)))
		return "the superblock does not say what was planned";
	if (oc_page_offset(&geo, geo.nr_pages, 0) != geo.data_start)
		return "the table does not end where the data begins";
	if (oc_slot_sector(&geo, to_slot(geo.nr_slots - 1)) + OPTCACHE_SECTORS_PER_BLOCK !=
	    geo.cache_sectors || geo.cache_sectors > sectors)
		return "the last slot does not end with the cache";
	if ((u64)geo.nr_pages * OPTCACHE_ENTRIES_PER_PAGE < geo.nr_slots)
		return "the table is too small";
	left = sectors - geo.cache_sectors;
	if (geo.nr_slots < OPTCACHE_MAX_SLOTS && left >= 4 * OPTCACHE_SECTORS_PER_BLOCK)
		return "more slots would fit";
	return NULL;
}

static int run_plan(void)
{
	static const u64 origin[] = { 8, 1ULL << 31, (1ULL << 32) + 1, 40ULL << 31, 1ULL << 43 };
	static const u32 lbs[] = { 512, 4096 };
	const u64 end = 1ULL << 36;	/* 32 TiB */
	u32 wrong = 0, plans = 0, o, l;
	const char *why;
	struct oc_geometry geo;
	u64 sectors;

	/* 1 MiB, each time a little larger by an odd number of sectors; and the powers of two */
	for (sectors = 2048; sectors <= end; sectors += sectors / 61 | 1)
		for (o = 0; o < ARRAY_SIZE(origin); o++)
			for (l = 0; l < ARRAY_SIZE(lbs); l++, plans++) {
				why = plan_wrong(sectors, origin[o], lbs[l]);
				if (why && wrong++ < 10)
					printf("%llu %llu %u: %s\n", (unsigned long long)sectors,
					       (unsigned long long)origin[o], lbs[l], why);
			}
	for (sectors = 2048; sectors <= end; sectors *= 2, plans++) {
		why = plan_wrong(sectors, 1ULL << 31, 512);
		if (why && wrong++ < 10)
			printf("%llu: %s\n", (unsigned long long)sectors, why);
	}
	tell("plans", plans);
	tell("wrong", wrong);
	if (oc_geometry_plan(&geo, 3ULL << 31, 40ULL << 31, 512, &why))
		return 1;
	tell("slots_3t", geo.nr_slots);
	tell("last_sector_3t", oc_slot_sector(&geo, to_slot(geo.nr_slots - 1)));
	return wrong > 0;
}

/* ---- command line ----------------------------------------------------- */

static const struct option long_options[] = {
	{ "seed", required_argument, NULL, 's' },
	{ "sectors", required_argument, NULL, 'c' },
	{ "origin", required_argument, NULL, 'o' },
	{ "full", no_argument, NULL, 'f' },
	{ "clean-stop", no_argument, NULL, 'C' },
	{ "dirty", required_argument, NULL, 'd' },
	{ "events", required_argument, NULL, 'e' },
	{ "samples", required_argument, NULL, 'S' },
	{ "slots", required_argument, NULL, 'n' },
	{ "journal-start", required_argument, NULL, 'J' },
	{ "table-start", required_argument, NULL, 'T' },
	{ "data-start", required_argument, NULL, 'D' },
	{ NULL, 0, NULL, 0 }
};

static u64 number(const char *text)
{
	unsigned long long n;

	if (kstrtoull(text, 10, &n))
		errx(2, "'%s' is none", text);
	return n;
}

static void parse(struct job *j, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		const u64 n = optarg ? number(optarg) : 0;

		switch (c) {
		case 's':
			j->m.seed = n;
			break;
		case 'c':
			j->sectors = n;
			break;
		case 'o':
			j->origin = n;
			break;
		case 'f':
			j->m.full = true;
			break;
		case 'C':
			j->clean_stop = true;
			break;
		case 'd':
			j->m.dirty = n;
			break;
		case 'e':
			j->m.events = n;
			break;
		case 'S':
			j->m.samples = n;
			break;
		case 'n':
			j->slots = n;
			break;
		case 'J':
			j->journal_start = n;
			break;
		case 'T':
			j->table_start = n;
			break;
		case 'D':
			j->data_start = n;
			break;
		default:
			exit(2);
		}
	}
}

/* As planned, with regions moved apart where it was asked for. */
static void make_model(struct job *j)
{
	struct oc_geometry geo;
	const char *why;

	if (oc_geometry_plan(&geo, j->sectors, j->origin, 512, &why))
		errx(1, "%s", why);
	if (j->slots) {
		geo.nr_slots = j->slots;
		geo.nr_pages = DIV_ROUND_UP(j->slots, OPTCACHE_ENTRIES_PER_PAGE);
		geo.cache_sectors = j->sectors;
	}
	geo.journal_start = j->journal_start ?: geo.journal_start;
	geo.table_start = j->table_start ?: geo.journal_start + geo.journal_size;
	geo.data_start = j->data_start ?: oc_page_offset(&geo, geo.nr_pages, 0);
	why = model_init(&j->m, &geo, j->clean_stop);
	if (why)
		errx(1, "%s", why);
}

int main(int argc, char **argv)
{
	static struct job j = { .m.seed = 1, .fd = -1 };
	const char *verb = argc > 1 ? argv[1] : "";
	const bool write = !strcmp(verb, "write"), check = !strcmp(verb, "check");

	if (!strcmp(verb, "plan"))
		return run_plan();
	if (!write && !check && strcmp(verb, "time"))
		errx(2, "what shall be done: write, check, time or plan?");
	parse(&j, argc - 1, argv + 1);
	j.buf = aligned_alloc(OPTCACHE_PAGE_SIZE, CHUNK);
	if (!j.buf)
		errx(1, "out of memory");
	if (write || check) {
		if (optind + 1 >= argc)
			errx(2, "which device?");
		open_device(&j, argv[optind + 1], write ? O_RDWR : O_RDONLY);
	}
	if (!write && !check)
		j.m.events = 0;
	make_model(&j);
	if (write)
		return run_write(&j);
	return check ? run_check(&j) : run_time(&j);
}
