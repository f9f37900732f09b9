/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers for people. */
#ifndef _OPTCACHECTL_HUMAN_H
#define _OPTCACHECTL_HUMAN_H

#include <stddef.h>

#define HUMAN_MAX	32

struct human {
	char text[HUMAN_MAX];
};

/* "512 B", "1.5 GiB" */
struct human human_bytes(unsigned long long bytes);
/* "42 s", "3 min", "2 h 5 min" */
struct human human_seconds(unsigned long long s);
/* "97.3 %", "-" when of nothing */
struct human human_percent(unsigned long long part, unsigned long long whole);

#endif /* _OPTCACHECTL_HUMAN_H */
