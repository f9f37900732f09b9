// SPDX-License-Identifier: GPL-2.0-only
/* Files, modules, ioctls. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rig.h"

#define CONTROL		"/sys/kernel/debug/labdev/control"

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("FATAL ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	flush_out();
	exit(1);
}

/* To the host's file, but not to its disk. */
void flush_out(void)
{
	fflush(stdout);
	sync_file_range(STDOUT_FILENO, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE |
			SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

static int vput(const char *path, const char *fmt, va_list ap)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), n, ret;
	char text[512];

	if (fd < 0)
		return -errno;
	n = vsnprintf(text, sizeof(text), fmt, ap);
	ret = write(fd, text, n) == n ? 0 : -errno;
	close(fd);
	return ret;
}

int put(const char *path, const char *fmt, ...)
{
	va_list ap;
	int ret;

	va_start(ap, fmt);
	ret = vput(path, fmt, ap);
	va_end(ap);
	return ret;
}

int lab(const char *fmt, ...)
{
	va_list ap;
	int ret;

	va_start(ap, fmt);
	ret = vput(CONTROL, fmt, ap);
	va_end(ap);
	return ret;
}

/* NAME.ko in the job's files, read once. */
int module_in(const char *name)
{
	static char *image, loaded[32];
	static size_t size;
	char path[256];
	struct stat st;
	int fd;

	if (strcmp(loaded, name)) {
		snprintf(path, sizeof(path), "%s/%s.ko", getenv("LAB_FILES"), name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st))
			die("%s: %s", path, strerror(errno));
		free(image);
		size = st.st_size;
		image = malloc(size);
		if (!image || read(fd, image, size) != (ssize_t)size)
			die("%s: cannot be read", path);
		close(fd);
		snprintf(loaded, sizeof(loaded), "%s", name);
	}
	return syscall(SYS_init_module, image, size, "") ? -errno : 0;
}

int module_out(const char *name)
{
	char plain[64], *c;

	snprintf(plain, sizeof(plain), "%s", name);
	for (c = plain; *c; c++)
		if (*c == '-')
			*c = '_';
	return syscall(SYS_delete_module, plain, O_NONBLOCK) ? -errno : 0;
}

int labcut(unsigned long cmd, void *arg)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/labcut", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("/dev/labcut: %s", strerror(errno));
	return ioctl(fd, cmd, arg) ? -errno : 0;
}

/* The first @kb of a device become zeroes, durably. */
int zero_start(const char *path, unsigned int kb)
{
	static const char zero[4096] __attribute__((aligned(4096)));
	int fd = open(path, O_WRONLY | O_DIRECT | O_CLOEXEC), ret = 0;
	unsigned int i;

	if (fd < 0)
		return -errno;
	for (i = 0; i < kb / 4 && !ret; i++)
		if (pwrite(fd, zero, sizeof(zero), i * sizeof(zero)) != sizeof(zero))
			ret = -errno;
	if (!ret && fsync(fd))
		ret = -errno;
	close(fd);
	return ret;
}

int flush_device(const char *path)
{
	return zero_start(path, 0);
}
