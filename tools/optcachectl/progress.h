/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Progress of a long operation on stderr: a bar that redraws itself on a
 * terminal, a plain line now and then in a pipe, nothing with --quiet.
 */
#ifndef _OPTCACHECTL_PROGRESS_H
#define _OPTCACHECTL_PROGRESS_H

#include <stdbool.h>

struct progress {
	const char *what;
	bool on;
	bool terminal;
	bool drawn;
	int last_tenth;
	unsigned long long start_ms;
	unsigned long long last_ms;
	unsigned long long first_done;
};

void progress_start(struct progress *p, const char *what);
/* @done of @total, both in bytes. */
void progress_show(struct progress *p, unsigned long long done, unsigned long long total);
void progress_end(struct progress *p);

unsigned long long now_ms(void);

#endif /* _OPTCACHECTL_PROGRESS_H */
