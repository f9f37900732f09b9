/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Data races, by happens-before.  Two accesses race if one of them writes, one of them is
 * plain, and nothing orders them: no lock, no release that an acquire has read, no full
 * barrier of a compare-and-exchange.  Order is kept as vector clocks.
 *
 * The compiler tells of plain accesses (-fsanitize=thread), the scheduler of all others.
 */
#ifndef _INTERLEAVE_RACE_H
#define _INTERLEAVE_RACE_H

#include "lockstep.h"

void race_begin(void);		/* a new run */
void race_atomic(int self, const struct il_point *at, bool done);

enum il_memory {
	IL_ELSEWHERE,		/* not in the arena */
	IL_COLD,
	IL_GHOST,
	IL_LIVE,
};

enum il_memory il_memory(const void *p);
/* The running thread reads, or could have read, what is there. */
void il_observed(const void *p, unsigned int size);

#endif /* _INTERLEAVE_RACE_H */
