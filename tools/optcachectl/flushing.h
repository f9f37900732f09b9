/* SPDX-License-Identifier: GPL-2.0-only */
/* Writing all dirty data back to the disk and waiting for it; flush and detach share it. */
#ifndef _OPTCACHECTL_FLUSHING_H
#define _OPTCACHECTL_FLUSHING_H

#include "cache.h"

enum flush_result {
	FLUSH_DONE,		/* the flush ended, and nothing it had to write is left */
	FLUSH_INTERRUPTED,	/* by a signal; it goes on in the kernel */
	FLUSH_TIMEOUT,		/* the same, by the clock */
	FLUSH_STUCK,		/* it ended with data left: errors */
	FLUSH_CANNOT,		/* asking failed, fail() was called with *code */
};

/*
 * Starts a flush and waits, with a progress bar.  @timeout in seconds, 0: none.
 * @c is up to date afterwards.
 */
enum flush_result flush_and_wait(struct cache *c, unsigned long timeout, int *code);

#endif /* _OPTCACHECTL_FLUSHING_H */
