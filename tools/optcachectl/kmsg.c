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

void kmsg_since(int fd, char *line, size_t size)
{
	char record[8192], *text;
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
		text = strchr(record, ';');
		if (!text)
			continue;
		text[strcspn(text, "\n")] = '\0';
		if (strstr(text, "optcache"))
			snprintf(line, size, "%s", text + 1);
	}
	close(fd);
}
