// SPDX-License-Identifier: GPL-2.0-only
/* Reading /dev/kmsg: one record a read(), "prio,seq,time,flags;text\n ...". */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kmsg.h"

int kmsg_mark(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && lseek(fd, 0, SEEK_END) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * The module's own lines tell more than what device-mapper says about it ("table:
 * 253:0: optcache: refused, the line before says why").
 */
#define KMSG_PREFIX	"device-mapper: optcache: "
#define KMSG_WARNING	4

static const char *complaint(char *record)
{
	unsigned int prio;
	char *text = strchr(record, ';');

	if (!text || sscanf(record, "%u,", &prio) != 1 || (prio & 7) > KMSG_WARNING)
		return NULL;
	text++;
	text[strcspn(text, "\n")] = '\0';
	if (strncmp(text, KMSG_PREFIX, strlen(KMSG_PREFIX)))
		return NULL;
	return text + strlen(KMSG_PREFIX);
}

void kmsg_since(int fd, char *line, size_t size)
{
	char record[8192];
	const char *text;
	ssize_t n;

	line[0] = '\0';
	if (fd < 0)
		return;
	for (;;) {
		n = read(fd, record, sizeof(record) - 1);
		if (n < 0 && (errno == EPIPE || errno == EINTR))
			continue;	/* overwritten under us: go on with the next */
		if (n <= 0)
			break;
		record[n] = '\0';
		text = complaint(record);
		if (text)
			snprintf(line, size, "%s", text);
	}
	close(fd);
}
