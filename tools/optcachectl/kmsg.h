/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel log says why the module refused something; errno alone does not.
 * kmsg_mark() before the call, kmsg_since() after it failed.
 */
#ifndef _OPTCACHECTL_KMSG_H
#define _OPTCACHECTL_KMSG_H

#include <stddef.h>

/* Return: a descriptor, or -1 when the log cannot be read. */
int kmsg_mark(void);

/* Last complaint of the module since the mark, "" if none.  Closes @fd. */
void kmsg_since(int fd, char *line, size_t size);

#endif /* _OPTCACHECTL_KMSG_H */
