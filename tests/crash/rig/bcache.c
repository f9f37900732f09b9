// SPDX-License-Identifier: GPL-2.0-only
/*
 * bcache, which is driven by sysfs.  It has a superblock of its own at the head of the
 * disk, so the disk alone is not the cached device.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bcache.h"

#define MS		1000000ULL
#define PATIENCE	1000		/* times 10 ms */

static char bcache_name[CUT_PATH];

/* Every bucket is soon used again. */
static int make_bcache(const struct plan *p)
{
	char block[16];
	const char *const argv[] = {
		"make-bcache", "--block", block, "--bucket", "16k", "--writeback",
		"--wipe-bcache", "-B", "/dev/slow", "-C", "/dev/fast", NULL,
	};
	posix_spawn_file_actions_t quiet;
	int status;
	pid_t pid;

	snprintf(block, sizeof(block), "%u", p->slow.lbs);
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&quiet, 1, 2);
	if (posix_spawnp(&pid, argv[0], &quiet, NULL, (char *const *)argv, environ))
		die("make-bcache cannot be run: install bcache-tools");
	posix_spawn_file_actions_destroy(&quiet);
	if (waitpid(pid, &status, 0) < 0 || status)
		return -EIO;
	return 0;
}

/* Every file that @pattern names. */
static void put_all(const char *pattern, const char *value)
{
	glob_t g;
	size_t i;

	if (!glob(pattern, 0, NULL, &g))
		for (i = 0; i < g.gl_pathc; i++)
			put(g.gl_pathv[i], "%s", value);
	globfree(&g);
}

static void set(const char *key, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/block/%s/bcache/%s", bcache_name, key);
	put(path, "%s", value);
}

static bool find_device(void)
{
	char link[256];
	ssize_t n = readlink("/sys/block/slow/bcache/dev", link, sizeof(link) - 1);

	if (n <= 0)
		return false;
	link[n] = '\0';
	snprintf(bcache_name, sizeof(bcache_name), "%.20s", strrchr(link, '/') + 1);
	snprintf(device_path, CUT_PATH, "/dev/%.20s", bcache_name);
	return !access(device_path, F_OK);
}

int bcache_create(const struct plan *p, bool format)
{
	int i, ret = format ? make_bcache(p) : 0;

	ret = ret ?: put("/sys/fs/bcache/register", "/dev/fast");
	ret = ret ?: put("/sys/fs/bcache/register", "/dev/slow");
	for (i = 0; !ret && !find_device(); i++) {
		if (i == PATIENCE)
			ret = -ETIMEDOUT;
		sleep_ns(10 * MS);
	}
	if (ret) {
		bcache_destroy();
		return ret;
	}
	set("cache_mode", "writeback");
	set("sequential_cutoff", "0");
	set("writeback_delay", "0");
	set("writeback_percent", "0");
	put_all("/sys/fs/bcache/*-*/congested_*_threshold_us", "0");
	return 0;
}

static bool is_free(const char *path)
{
	int fd = open(path, O_RDONLY | O_EXCL | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int bcache_destroy(void)
{
	int i;

	set("stop", "1");
	put("/sys/block/slow/bcache/stop", "1");
	put_all("/sys/fs/bcache/*-*/stop", "1");
	put("/sys/block/fast/bcache/set/stop", "1");
	for (i = 0; !is_free("/dev/fast") || !is_free("/dev/slow"); i++) {
		if (i == PATIENCE)
			return -EBUSY;
		sleep_ns(10 * MS);
	}
	return 0;
}
