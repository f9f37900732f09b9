// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into optcachectl by the tests: what it writes goes into a log, and what the
 * test says fails.
 *
 *	SHIM_LOG=FILE	"W NAME OFFSET LENGTH\n" and the data, or "S NAME\n" for an fsync,
 *			in the order in which they succeeded
 *	SHIM_FAIL=NAME:KIND:OFFSET:LENGTH[,...]
 *			reads (r), writes (w) or fsyncs (s) of this file that touch the range
 *			fail with EIO
 *
 * NAME is the last part of the file's name.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *name_of(int fd, char buf[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, buf, PATH_MAX - 1);
	buf[n < 0 ? 0 : n] = '\0';
	return strrchr(buf, '/') ? strrchr(buf, '/') + 1 : buf;
}

static int fails(int fd, char kind, off_t offset, size_t len)
{
	const char *rule = getenv("SHIM_FAIL");
	char path[PATH_MAX], name[256], k;
	unsigned long long from, size;

	for (; rule; rule = strchr(rule, ',') ? strchr(rule, ',') + 1 : NULL) {
		if (sscanf(rule, "%255[^:]:%c:%llu:%llu", name, &k, &from, &size) != 4 ||
		    k != kind || strcmp(name, name_of(fd, path)))
			continue;
		if (kind == 's' || ((unsigned long long)offset < from + size &&
				    offset + len > from))
			return 1;
	}
	return 0;
}

static void put(FILE *log, const void *buf, size_t len)
{
	if (fwrite(buf, 1, len, log) != len || fflush(log))
		abort();
}

static void note(int fd, char kind, const void *buf, size_t len, off_t offset)
{
	static FILE *log;
	char path[PATH_MAX], line[PATH_MAX + 64];

	if (!log && getenv("SHIM_LOG"))
		log = fopen(getenv("SHIM_LOG"), "we");
	if (!log)
		return;
	if (kind == 'S')
		snprintf(line, sizeof(line), "S %s\n", name_of(fd, path));
	else
		snprintf(line, sizeof(line), "W %s %lld %zu\n", name_of(fd, path),
			 (long long)offset, len);
	put(log, line, strlen(line));
	put(log, buf, len);
}

ssize_t pread(int fd, void *buf, size_t len, off_t offset)
{
	ssize_t (*real)(int fd, void *buf, size_t len, off_t at) = dlsym(RTLD_NEXT, "pread");

	if (fails(fd, 'r', offset, len)) {
		errno = EIO;
		return -1;
	}
	return real(fd, buf, len, offset);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t offset)
{
	ssize_t (*real)(int fd, const void *buf, size_t len, off_t at) = dlsym(RTLD_NEXT, "pwrite");
	ssize_t n;

	if (fails(fd, 'w', offset, len)) {
		errno = EIO;
		return -1;
	}
	n = real(fd, buf, len, offset);
	if (n > 0)
		note(fd, 'W', buf, n, offset);
	return n;
}

int fsync(int fd)
{
	int (*real)(int fd) = dlsym(RTLD_NEXT, "fsync");
	int err;

	if (fails(fd, 's', 0, 0)) {
		errno = EIO;
		return -1;
	}
	err = real(fd);
	if (!err)
		note(fd, 'S', NULL, 0, 0);
	return err;
}
