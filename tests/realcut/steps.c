// SPDX-License-Identifier: GPL-2.0-only
/*
 * Durable work on a file system, and the look whether it is there.
 *
 *	steps run DIR SEED WORKER ACKED ACK_FILE	goes on behind step ACKED, for ever
 *	steps verify DIR SEED WORKER ACKED		is all of it there?
 *
 * A step is a function of seed, worker and its number: it overwrites a part of one of the
 * worker's files, appends to it, replaces it by rename, or removes it, and is over when it
 * is durable. Then its number goes to ACK_FILE, and the next one begins. So after a power
 * cut the files are those of step ACKED, but for the one file of the step behind it, which
 * may be anywhere between. Doing that step again makes it whole.
 *
 * Each sector says which one it is and which step wrote it; the rest of it follows from that.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR		512
#define PAGE		4096
#define FILES		12
#define MAX_SECTORS	1024
#define MAX_WRITE	64
#define MAX_TOLD	10
#define TEMPORARY	"new"

enum kind { OVERWRITE, OVERWRITE_DIRECT, APPEND, REPLACE, REMOVE };

struct op {
	enum kind kind;
	unsigned int file, start, count;	/* in sectors */
};

struct file {
	bool there;
	unsigned int sectors;
	unsigned int version[MAX_SECTORS];
};

struct label {
	unsigned long seed;
	unsigned int worker, file, sector, version;
};

static struct file model[FILES];
static unsigned long seed;
static unsigned int worker;
static unsigned int told;

static void die(const char *what)
{
	fprintf(stderr, "steps: worker %u: %s: %s\n", worker, what, strerror(errno));
	exit(2);
}

/* splitmix64 */
static unsigned long next_random(unsigned long *state)
{
	unsigned long z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static void fill_sector(void *sector, unsigned int file, unsigned int number,
			unsigned int version)
{
	struct label label = {
		.seed = seed, .worker = worker, .file = file, .sector = number, .version = version,
	};
	unsigned long state = seed ^ (unsigned long)worker << 56 ^ (unsigned long)file << 48 ^
			 (unsigned long)number << 32 ^ version;
	unsigned long word[SECTOR / sizeof(unsigned long)];

	for (size_t i = 0; i < SECTOR / sizeof(unsigned long); i++)
		word[i] = next_random(&state);
	memcpy(word, &label, sizeof(label));
	memcpy(sector, word, SECTOR);
}

/* ---- the model -------------------------------------------------------------------- */

static struct op choose(unsigned int step)
{
	unsigned long state = seed * 31 + ((unsigned long)worker << 32 | step);
	struct op op = { .file = next_random(&state) % FILES };
	const struct file *file = &model[op.file];
	unsigned int dice = next_random(&state) % 100;
	unsigned int a = next_random(&state), b = next_random(&state);

	op.count = 1 + b % MAX_WRITE;
	if (!file->there || (dice >= 80 && dice < 92)) {
		op.kind = REPLACE;
		op.count = 1 + a % MAX_SECTORS;
	} else if (dice >= 92) {
		op.kind = REMOVE;
	} else if (dice >= 60 && file->sectors + op.count <= MAX_SECTORS) {
		op.kind = APPEND;
		op.start = file->sectors;
	} else {
		op.kind = dice % 3 ? OVERWRITE : OVERWRITE_DIRECT;
		op.start = a % file->sectors;
		if (op.count > file->sectors - op.start)
			op.count = file->sectors - op.start;
	}
	return op;
}

static void apply(struct file *file, const struct op *op, unsigned int step)
{
	if (op->kind == REMOVE) {
		file->there = false;
		return;
	}
	if (op->kind == REPLACE)
		file->sectors = 0;
	file->there = true;
	if (file->sectors < op->start + op->count)
		file->sectors = op->start + op->count;
	for (unsigned int i = 0; i < op->count; i++)
		file->version[op->start + i] = step;
}

static void replay(unsigned int acked)
{
	for (unsigned int step = 1; step <= acked; step++) {
		struct op op = choose(step);

		apply(&model[op.file], &op, step);
	}
}

static const char *name_of(unsigned int file)
{
	static char name[16];

	snprintf(name, sizeof(name), "f%u", file);
	return name;
}

/* ---- run -------------------------------------------------------------------------- */

static void write_sectors(int fd, const struct op *op, unsigned int step)
{
	static alignas(PAGE) unsigned char buffer[MAX_SECTORS * SECTOR];
	size_t size = (size_t)op->count * SECTOR;

	for (unsigned int i = 0; i < op->count; i++)
		fill_sector(buffer + (size_t)i * SECTOR, op->file, op->start + i, step);
	if (pwrite(fd, buffer, size, (off_t)op->start * SECTOR) != (ssize_t)size)
		die("write");
}

static void write_file(const char *name, int flags, const struct op *op, unsigned int step)
{
	int fd = open(name, O_WRONLY | flags, 0644);

	if (fd < 0)
		die(name);
	write_sectors(fd, op, step);
	if (!(flags & O_DSYNC) && (op->kind == OVERWRITE ? fdatasync(fd) : fsync(fd)))
		die("fsync");
	if (close(fd))
		die("close");
}

static void sync_directory(void)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY);

	if (fd < 0 || fsync(fd))
		die("fsync of the directory");
	close(fd);
}

static void carry_out(const struct op *op, unsigned int step)
{
	const char *name = name_of(op->file);

	switch (op->kind) {
	case OVERWRITE:
	case APPEND:
		write_file(name, 0, op, step);
		break;
	case OVERWRITE_DIRECT:
		write_file(name, O_DIRECT | O_DSYNC, op, step);
		break;
	case REPLACE:
		write_file(TEMPORARY, O_CREAT | O_TRUNC, op, step);
		if (rename(TEMPORARY, name))
			die("rename");
		sync_directory();
		break;
	case REMOVE:
		if (unlink(name) && errno != ENOENT)
			die("unlink");
		sync_directory();
		break;
	}
}

static noreturn void run(unsigned int acked, const char *ack_file)
{
	int ack = open(ack_file, O_WRONLY | O_CREAT, 0644);

	if (ack < 0)
		die(ack_file);
	for (unsigned int step = acked + 1;; step++) {
		struct op op = choose(step);
		char line[16];

		carry_out(&op, step);
		snprintf(line, sizeof(line), "%010u\n", step);
		if (pwrite(ack, line, strlen(line), 0) != (ssize_t)strlen(line))
			die(ack_file);
		apply(&model[op.file], &op, step);
	}
}

/* ---- verify ----------------------------------------------------------------------- */

#define bad(...)				\
do {						\
	if (told++ < MAX_TOLD)			\
		printf(__VA_ARGS__);		\
} while (0)

static bool is_version(const void *sector, unsigned int file, unsigned int number,
		       unsigned int version)
{
	unsigned char want[SECTOR];

	fill_sector(want, file, number, version);
	return !memcmp(sector, want, SECTOR);
}

static void tell_sector(const void *sector, unsigned int file, unsigned int number,
			unsigned int version)
{
	struct label label;

	memcpy(&label, sector, sizeof(label));
	if (label.seed == seed && label.worker == worker && label.file == file &&
	    label.sector == number && is_version(sector, file, number, label.version))
		bad("LOST worker %u file %u sector %u: of step %u, acknowledged was step %u\n",
		    worker, file, number, label.version, version);
	else
		bad("FOREIGN worker %u file %u sector %u: no step wrote this, expected was %u\n",
		    worker, file, number, version);
}

/* The sectors that are neither as in WANT nor as the step OP makes them. */
static unsigned int differences(const unsigned char *data, unsigned int sectors,
				const struct file *want, const struct op *op, unsigned int step,
				bool tell)
{
	static const unsigned char zeroes[SECTOR];
	unsigned int found = 0;

	for (unsigned int i = 0; i < sectors; i++) {
		const unsigned char *sector = data + (size_t)i * SECTOR;
		bool written = op->count && i >= op->start && i < op->start + op->count;

		if (i < want->sectors && is_version(sector, op->file, i, want->version[i]))
			continue;
		if (written && is_version(sector, op->file, i, step))
			continue;
		if (written && i >= want->sectors && !memcmp(sector, zeroes, SECTOR))
			continue;
		found++;
		if (tell)
			tell_sector(sector, op->file, i, want->version[i]);
	}
	return found;
}

static bool is_replaced(const unsigned char *data, off_t size, const struct op *op,
			unsigned int step)
{
	static struct file want;
	const struct op nothing = { .file = op->file };

	if (op->kind != REPLACE || size != (off_t)op->count * SECTOR)
		return false;
	apply(&want, op, step);
	return !differences(data, op->count, &want, &nothing, step, false);
}

/* OP is the step that may have been under way in this file; its count is 0 if there is none. */
static void verify_file(const struct op *op, unsigned int step)
{
	static unsigned char data[(MAX_SECTORS + 1) * SECTOR];
	const struct file *want = &model[op->file];
	const char *name = name_of(op->file);
	struct op inside = *op;
	int fd = open(name, O_RDONLY);
	unsigned int most = want->sectors;
	ssize_t size;

	if (fd < 0 && errno != ENOENT)
		die(name);
	if (fd < 0) {
		if (want->there && !(op->count && op->kind == REMOVE))
			bad("LOST worker %u file %u: not there\n", worker, op->file);
		return;
	}
	size = read(fd, data, sizeof(data));
	if (size < 0)
		die(name);
	close(fd);
	if (op->count && is_replaced(data, size, op, step))
		return;
	if (!want->there) {
		bad("LOST worker %u file %u: there, neither removed nor whole\n", worker,
		    op->file);
		return;
	}
	if (op->count && op->kind == APPEND)
		most += op->count;
	if (size < (off_t)want->sectors * SECTOR || size > (off_t)most * SECTOR) {
		bad("LOST worker %u file %u: %zd bytes, expected were %u to %u\n", worker, op->file,
		    size, want->sectors * SECTOR, most * SECTOR);
		return;
	}
	if (op->kind == REPLACE || op->kind == REMOVE)
		inside.count = 0;
	differences(data, size / SECTOR, want, &inside, step, true);
}

static int verify(unsigned int acked)
{
	struct op next = choose(acked + 1);

	for (unsigned int file = 0; file < FILES; file++) {
		struct op op = { .file = file };

		verify_file(file == next.file ? &next : &op, acked + 1);
	}
	if (told > MAX_TOLD)
		printf("... and %u more of worker %u\n", told - MAX_TOLD, worker);
	return told ? 1 : 0;
}

int main(int argc, char **argv)
{
	unsigned int acked;

	if (argc < 6 || (!strcmp(argv[1], "run") && argc < 7)) {
		fprintf(stderr, "usage: steps run|verify DIR SEED WORKER ACKED [ACK_FILE]\n");
		return 2;
	}
	seed = strtoull(argv[3], NULL, 10);
	worker = strtoul(argv[4], NULL, 10);
	acked = strtoul(argv[5], NULL, 10);
	if (chdir(argv[2]))
		die(argv[2]);
	replay(acked);
	if (!strcmp(argv[1], "run"))
		run(acked, argv[6]);
	return verify(acked);
}
