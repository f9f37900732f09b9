// SPDX-License-Identifier: GPL-2.0-only
/*
 * What does an I/O cost?  The same I/Os from one process and one locked buffer to several
 * devices in turn, so that whatever they have in common cancels out.
 *
 *	iocost -o read|write|sync [-s BYTES] [-n COUNT] [-r ROUNDS] [-a MIB] [-fqy] DEV...
 *
 * sync is a write with an fdatasync after it.  A round is COUNT I/Os of BYTES to each device,
 * every block once, in random order or (-q) rising, from MIB on.  With -f each round has
 * blocks of its own, behind those of the round before.  -y lets others run after each I/O, so
 * that what one leaves to workers is done before the next.  Prints a line a device: its
 * name and the nanoseconds an I/O of each round; instructions, where the clock counts those.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAX_DEVICES	16
#define MAX_ROUNDS	16
#define MAX_COUNT	1048576UL
#define MAX_BYTES	1048576UL

enum op { OP_READ, OP_WRITE, OP_SYNC };

struct work {
	enum op op;
	size_t bytes;
	unsigned long count;
	unsigned int rounds;
	off_t start;
	bool fresh;
	bool rising;
	bool yield;
};

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* The blocks of a round, shuffled the same way in every run. */
static unsigned int *make_order(const struct work *w)
{
	unsigned int *order = calloc(w->count, sizeof(*order));
	unsigned long long s = 88172645463325252ULL;
	unsigned long i, k;

	if (!order)
		err(1, "order");
	for (i = 0; i < w->count; i++)
		order[i] = i;
	for (i = w->count - 1; i && !w->rising; i--) {
		unsigned int swap = order[i];

		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		k = s % (i + 1);
		order[i] = order[k];
		order[k] = swap;
	}
	return order;
}

static void *make_buffer(size_t bytes)
{
	void *buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buffer == MAP_FAILED)
		err(1, "buffer");
	/* pages, as most programs have them */
	madvise(buffer, bytes, MADV_NOHUGEPAGE);
	memset(buffer, 0x5a, bytes);
	return buffer;
}

static int open_device(const char *name)
{
	int fd = open(name, O_RDWR | O_DIRECT);

	if (fd < 0)
		err(1, "%s", name);
	/* pages that a partition scan left behind would be looked at by every I/O */
	ioctl(fd, BLKFLSBUF, 0);
	return fd;
}

static void one_io(const struct work *w, int fd, void *buffer, off_t at)
{
	ssize_t done = w->op == OP_READ ? pread(fd, buffer, w->bytes, at) :
					  pwrite(fd, buffer, w->bytes, at);

	if (done != (ssize_t)w->bytes)
		err(1, "at %lld: %zd of %zu bytes", (long long)at, done, w->bytes);
	if (w->op == OP_SYNC && fdatasync(fd))
		err(1, "fdatasync");
	if (w->yield)
		sched_yield();
}

static double one_round(const struct work *w, unsigned int round, int fd, void *buffer,
			const unsigned int *order)
{
	off_t first = w->start + (w->fresh ? (off_t)(round * w->count * w->bytes) : 0);
	unsigned long i;
	unsigned long long start;

	start = now();
	for (i = 0; i < w->count; i++)
		one_io(w, fd, buffer, first + (off_t)order[i] * (off_t)w->bytes);
	return (double)(now() - start) / w->count;
}

static unsigned long number(const char *text, unsigned long max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (*end || !n || n > max)
		errx(2, "'%s': must be 1 to %lu", text, max);
	return n;
}

static enum op operation(const char *text)
{
	static const char *const name[] = { "read", "write", "sync" };
	unsigned int i;

	for (i = 0; i < 3; i++)
		if (!strcmp(text, name[i]))
			return i;
	errx(2, "'%s' is none of read, write, sync", text);
}

static void parse(struct work *w, int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "o:s:n:r:a:fqy")) != -1) {
		switch (opt) {
		case 'o':
			w->op = operation(optarg);
			break;
		case 's':
			w->bytes = number(optarg, MAX_BYTES);
			break;
		case 'n':
			w->count = number(optarg, MAX_COUNT);
			break;
		case 'r':
			w->rounds = number(optarg, MAX_ROUNDS);
			break;
		case 'a':
			w->start = strtoll(optarg, NULL, 0) << 20;
			break;
		case 'f':
			w->fresh = true;
			break;
		case 'q':
			w->rising = true;
			break;
		case 'y':
			w->yield = true;
			break;
		default:
			exit(2);
		}
	}
	if (optind == argc || argc - optind > MAX_DEVICES)
		errx(2, "give 1 to %d devices", MAX_DEVICES);
}

int main(int argc, char **argv)
{
	struct work w = { .op = OP_READ, .bytes = 4096, .count = 4096, .rounds = 3 };
	double cost[MAX_DEVICES][MAX_ROUNDS];
	unsigned int round, d, nr;
	int fd[MAX_DEVICES];
	unsigned int *order;
	void *buffer;

	parse(&w, argc, argv);
	nr = argc - optind;
	order = make_order(&w);
	buffer = make_buffer(w.bytes);
	for (d = 0; d < nr; d++)
		fd[d] = open_device(argv[optind + d]);
	if (mlockall(MCL_CURRENT))
		err(1, "mlockall");

	for (round = 0; round < w.rounds; round++)
		for (d = 0; d < nr; d++)
			cost[d][round] = one_round(&w, round, fd[d], buffer, order);

	for (d = 0; d < nr; d++) {
		printf("%s", argv[optind + d]);
		for (round = 0; round < w.rounds; round++)
			printf(" %.1f", cost[d][round]);
		puts("");
	}
	return 0;
}
