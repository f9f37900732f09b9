// SPDX-License-Identifier: GPL-2.0-only
/* Data races; see race.h.  Also what the compiler calls for every plain access. */
#include "race.h"

#define CELLS	4096

typedef u32 clocks[IL_THREADS];

/* What has happened to one location in this run. */
struct cell {
	const void *p;
	u32 run;
	clocks plain_read, plain_write, atomic_read, atomic_write;
	clocks released;	/* what an acquire of it orders */
};

static struct cell cell[CELLS];
static clocks now[IL_THREADS];	/* what each thread knows of all others */
static u32 run;

void race_begin(void)
{
	int i;

	run++;
	memset(now, 0, sizeof(now));
	for (i = 0; i < IL_THREADS; i++)
		now[i][i] = 1;
}

static struct cell *cell_of(const void *p)
{
	unsigned int i = ((uintptr_t)p >> 2) * 2654435761U % CELLS;

	while (cell[i].run == run && cell[i].p != p)
		i = (i + 1) % CELLS;
	if (cell[i].run != run)
		cell[i] = (struct cell) { .p = p, .run = run };
	return &cell[i];
}

static void join(clocks a, const clocks b)
{
	int i;

	for (i = 0; i < IL_THREADS; i++)
		if (b[i] > a[i])
			a[i] = b[i];
}

/* All of @past happened before what @self does now. */
static bool before(const clocks past, int self)
{
	int i;

	for (i = 0; i < IL_THREADS; i++)
		if (past[i] > now[self][i])
			return false;
	return true;
}

static bool acquires(const struct il_point *at, bool done)
{
	return at->kind == IL_ACQUIRE || at->kind == IL_LOCK || (at->kind == IL_CMPXCHG && done);
}

static bool releases(const struct il_point *at, bool done)
{
	return at->kind == IL_RELEASE || at->kind == IL_UNLOCK ||
	       (at->kind == IL_CMPXCHG && done);
}

static bool writes(const struct il_point *at, bool done)
{
	return at->kind != IL_READ && at->kind != IL_ACQUIRE && (at->kind != IL_CMPXCHG || done);
}

void race_atomic(int self, const struct il_point *at, bool done)
{
	struct cell *c = cell_of(at->p);
	const bool w = writes(at, done);

	if (acquires(at, done))
		join(now[self], c->released);
	if (!before(c->plain_write, self) || (w && !before(c->plain_read, self)))
		il_fail("%s() races with a plain access of %s", at->func, il_name(at->p));
	(w ? c->atomic_write : c->atomic_read)[self] = now[self][self];
	if (at->kind == IL_WRITE)
		memset(c->released, 0, sizeof(c->released));
	if (!releases(at, done))
		return;
	join(c->released, now[self]);
	now[self][self]++;
}

static void plain(const void *p, unsigned int size, bool write)
{
	const int self = il_self();
	struct cell *c;

	if (self < 0 || il_memory(p) == IL_ELSEWHERE)
		return;
	if (!write)
		il_observed(p, size);
	if (il_memory(p) == IL_GHOST)
		return;
	c = cell_of(p);
	if (!before(c->plain_write, self) || !before(c->atomic_write, self) ||
	    (write && (!before(c->plain_read, self) || !before(c->atomic_read, self))))
		il_fail("a plain %s of %s races", write ? "write" : "read", il_name(p));
	(write ? c->plain_write : c->plain_read)[self] = now[self][self];
}

/* ---- the compiler's calls -------------------------------------------- */

void __tsan_init(void);
void __tsan_func_entry(void *pc);
void __tsan_func_exit(void);

void __tsan_init(void)
{
}

void __tsan_func_entry(void *pc)
{
	(void)pc;
}

void __tsan_func_exit(void)
{
}

#define ACCESS(name, bytes, write)	\
void name(const void *p);		\
void name(const void *p)		\
{					\
	plain(p, bytes, write);		\
}

ACCESS(__tsan_read1, 1, false)
ACCESS(__tsan_read2, 2, false)
ACCESS(__tsan_read4, 4, false)
ACCESS(__tsan_read8, 8, false)
ACCESS(__tsan_read16, 16, false)
ACCESS(__tsan_write1, 1, true)
ACCESS(__tsan_write2, 2, true)
ACCESS(__tsan_write4, 4, true)
ACCESS(__tsan_write8, 8, true)
ACCESS(__tsan_write16, 16, true)

#define RANGE(name, write)			\
void name(const char *p, size_t bytes);		\
void name(const char *p, size_t bytes)		\
{						\
	size_t i;				\
						\
	for (i = 0; i < bytes; i += 4)		\
		plain(p + i, 4, write);		\
}

RANGE(__tsan_read_range, false)
RANGE(__tsan_write_range, true)
