// SPDX-License-Identifier: GPL-2.0-only
/* Threads in lock step; see lockstep.h. */
#include "race.h"

#include <setjmp.h>
#include <ucontext.h>

#define ARENA		65536
#define GRAIN		4	/* what memory is, is known for so many bytes at once */
#define STACK		65536
#define MAX_RANGES	32

struct thread {
	const char *name;
	void (*fn)(u64 arg);
	u64 arg;
	bool daemon, done;
	struct il_point at;
	u64 history;
	jmp_buf start, here;
	bool made;
};

struct range {
	char *p;
	size_t bytes;
};

static char arena[ARENA] ____cacheline_aligned_in_smp, saved[ARENA];
static enum il_memory memory[ARENA / GRAIN];
static size_t arena_used;
static struct range range[MAX_RANGES];
static unsigned int nr_ranges;

static struct thread thread[IL_THREADS];
static unsigned int nr_threads;
static char stack[IL_THREADS][STACK] ____cacheline_aligned_in_smp;
static int self = -1;
static int born;
static jmp_buf scheduler;

static const struct il_hooks *hooks;
static bool tracing, failed;
static char failure[512];
static unsigned int steps;

/* ---- memory ---------------------------------------------------------- */

void *il_zalloc(size_t bytes)
{
	void *p = arena + arena_used;

	bytes = ALIGN(bytes, 64);
	if (self >= 0 || arena_used + bytes > ARENA)
		return NULL;
	arena_used += bytes;
	return memset(p, 0, bytes);
}

/* Until the next il_reset(). */
void il_free(void *p)
{
	(void)p;
}

static size_t offset_of(const void *p)
{
	return (uintptr_t)p - (uintptr_t)arena;
}

enum il_memory il_memory(const void *p)
{
	if (offset_of(p) >= ARENA)
		return IL_ELSEWHERE;
	return memory[offset_of(p) / GRAIN];
}

static void add_range(void *p, size_t bytes, enum il_memory what)
{
	size_t i;

	if (nr_ranges == MAX_RANGES || offset_of(p) + bytes > arena_used || bytes % GRAIN) {
		fprintf(stderr, "interleave: a range that cannot be live\n");
		exit(2);
	}
	range[nr_ranges++] = (struct range) { p, bytes };
	for (i = 0; i < bytes; i += GRAIN)
		memory[(offset_of(p) + i) / GRAIN] = what;
}

void il_live(void *p, size_t bytes)
{
	add_range(p, bytes, IL_LIVE);
}

void il_ghost(void *p, size_t bytes)
{
	add_range(p, bytes, IL_GHOST);
}

static void put_back(void)
{
	unsigned int i;

	for (i = 0; i < nr_ranges; i++)
		memcpy(range[i].p, saved + offset_of(range[i].p), range[i].bytes);
}

static u64 mix(u64 h, u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ULL + 0xd6e8feb86659fd93ULL;
	h = (h ^ h >> 32) * 0xbf58476d1ce4e5b9ULL;
	return h ^ h >> 29;
}

static u64 mix_range(u64 h, const struct range *r)
{
	u64 v = 0;
	size_t i;

	for (i = 0; i + 8 <= r->bytes; i += 8) {
		memcpy(&v, r->p + i, 8);
		h = mix(h, v);
	}
	v = 0;
	memcpy(&v, r->p + i, r->bytes - i);
	return mix(h, v);
}

u64 il_state(void)
{
	u64 h = 1;
	unsigned int i;

	for (i = 0; i < nr_ranges; i++)
		h = mix_range(h, &range[i]);
	for (i = 0; i < nr_threads; i++)
		h = mix(h, thread[i].done ? ~0ULL : thread[i].history);
	return h;
}

/* ---- failures, traces ------------------------------------------------ */

const char *il_name(const void *p)
{
	return hooks->name(p);
}

const char *il_failure(void)
{
	return failure;
}

static void switch_over(jmp_buf from, jmp_buf to)
{
	if (!_setjmp(from))
		_longjmp(to, 1);
}

void il_fail(const char *format, ...)
{
	va_list ap;

	if (!failed) {
		va_start(ap, format);
		vsnprintf(failure, sizeof(failure), format, ap);
		va_end(ap);
	}
	failed = true;
	if (self >= 0)
		_longjmp(scheduler, 1);
}

static void print_step(const struct il_point *at, const char *how)
{
	printf("#   %4u  %-10s %-22s %s\n", steps, thread[self].name, at->func, how);
}

static void trace(const struct il_point *at, const char *verb, u64 v, const char *more)
{
	char how[256];

	if (!tracing || self < 0)
		return;
	snprintf(how, sizeof(how), "%s %s%s%s%s", verb, hooks->name(at->p),
		 *verb == 'r' ? ": " : " = ", hooks->value(at->p, v), more);
	print_step(at, how);
}

static void trace_lock(const struct il_point *at, const char *verb)
{
	char how[256];

	if (!tracing || self < 0)
		return;
	snprintf(how, sizeof(how), "%s %s", verb, at->what ?: hooks->name(at->p));
	print_step(at, how);
}

/* ---- points ---------------------------------------------------------- */

int il_self(void)
{
	return self;
}

static void point(const struct il_point *at)
{
	struct thread *t = &thread[self];

	t->at = *at;
	t->history = mix(t->history, 1);
	switch_over(t->here, scheduler);
}

void il_saw(u64 v)
{
	if (self >= 0)
		thread[self].history = mix(thread[self].history, v);
}

void il_forget(u64 where)
{
	if (self >= 0)
		thread[self].history = mix(self, where);
}

static u64 load(const void *p, unsigned int size)
{
	u64 v = 0;

	memcpy(&v, p, size);
	return v;
}

void il_observed(const void *p, unsigned int size)
{
	if (self >= 0)
		il_saw(load(p, size < 8 ? size : 8));
}

/* Nobody ever writes what is not alive, so that there is nothing to wait for. */
static bool enter(const struct il_point *at, bool writes)
{
	if (self < 0)
		return false;
	if (il_memory(at->p) >= IL_GHOST)
		point(at);
	else if (writes)
		il_fail("%s() writes %s, which is nobody's", at->func, hooks->name(at->p));
	return true;
}

u64 il_read(const struct il_point *at)
{
	const bool inside = enter(at, false);
	const u64 v = load(at->p, at->size);

	if (inside) {
		race_atomic(self, at, true);
		il_saw(v);
		trace(at, "reads", v, "");
	}
	return v;
}

void il_write(const struct il_point *at, u64 v)
{
	if (enter(at, true))
		race_atomic(self, at, true);
	memcpy(at->p, &v, at->size);
	trace(at, at->kind == IL_RELEASE ? "publishes" : "writes", v, "");
}

void il_add(const struct il_point *at, s64 v)
{
	u64 sum;

	if (enter(at, true))
		race_atomic(self, at, true);
	sum = load(at->p, at->size) + v;
	memcpy(at->p, &sum, at->size);
	trace(at, v < 0 ? "lowers" : "raises", sum, "");
}

bool il_cmpxchg(const struct il_point *at, void *old, u64 new)
{
	const bool inside = enter(at, true);
	const u64 found = load(at->p, at->size);
	const bool done = found == load(old, at->size);

	if (inside) {
		race_atomic(self, at, done);
		il_saw(found);
	}
	if (done)
		memcpy(at->p, &new, at->size);
	else
		memcpy(old, &found, at->size);
	trace(at, done ? "changes" : "changes not", done ? new : found, "");
	return done;
}

void il_lock(const struct il_point *at)
{
	if (enter(at, true))
		race_atomic(self, at, true);
	*(bool *)at->p = true;
	trace_lock(at, "locks");
}

/*
 * No point: nothing that others can do before an unlock is impossible after it, and they
 * see the same.
 */
void il_unlock(const struct il_point *at)
{
	if (self >= 0)
		race_atomic(self, at, true);
	if (!*(bool *)at->p)
		il_fail("%s() unlocks %s, which is not locked", at->func, hooks->name(at->p));
	*(bool *)at->p = false;
	trace_lock(at, "unlocks");
}

void il_step(const char *what)
{
	const struct il_point at = { .kind = IL_STEP, .func = "", .what = what };

	if (self < 0)
		return;
	point(&at);
	trace_lock(&at, "");
}

void il_wait(bool (*ready)(void), const char *what)
{
	const struct il_point at = {
		.kind = IL_WAIT, .func = "", .what = what, .ready = ready,
	};

	point(&at);
	trace_lock(&at, "has waited for");
}

/* ---- threads --------------------------------------------------------- */

/* The first thing on a stack, for ever; runs begin again at @start. */
static void life(void)
{
	struct thread *t = &thread[born];

	if (!_setjmp(t->start))
		_longjmp(scheduler, 1);
	t = &thread[self];
	t->fn(t->arg);
	t->done = true;
	_longjmp(scheduler, 1);
}

static void make(int i)
{
	static ucontext_t context;

	getcontext(&context);
	context.uc_stack.ss_sp = stack[i];
	context.uc_stack.ss_size = STACK;
	context.uc_link = NULL;
	makecontext(&context, life, 0);
	born = i;
	if (!_setjmp(scheduler))
		setcontext(&context);
	thread[i].made = true;
}

void il_reset(void)
{
	size_t i;

	for (i = 0; i < ARENA / GRAIN; i++)
		memory[i] = IL_COLD;
	arena_used = 0;
	nr_ranges = 0;
	nr_threads = 0;
}

void il_thread(const char *name, void (*fn)(u64 arg), u64 arg, bool daemon)
{
	struct thread *t = &thread[nr_threads];

	if (nr_threads == IL_THREADS) {
		fprintf(stderr, "interleave: more than %d threads\n", IL_THREADS);
		exit(2);
	}
	if (!t->made)
		make(nr_threads);
	nr_threads++;
	t->name = name;
	t->fn = fn;
	t->arg = arg;
	t->daemon = daemon;
}

unsigned int il_nr_threads(void)
{
	return nr_threads;
}

void il_ready(const struct il_hooks *h)
{
	hooks = h;
	memcpy(saved, arena, arena_used);
}

/* ---- a run ----------------------------------------------------------- */

static bool ready(const struct thread *t)
{
	if (t->done)
		return false;
	if (t->at.kind == IL_LOCK)
		return !*(bool *)t->at.p;
	return t->at.kind != IL_WAIT || t->at.ready();
}

static unsigned int enabled(void)
{
	unsigned int set = 0, i;

	for (i = 0; i < nr_threads; i++)
		if (ready(&thread[i]))
			set |= 1U << i;
	return set;
}

static void begin(void)
{
	unsigned int i;

	put_back();
	race_begin();
	failed = false;
	steps = 0;
	for (i = 0; i < nr_threads; i++) {
		struct thread *t = &thread[i];

		memcpy(t->here, t->start, sizeof(jmp_buf));
		t->at = (struct il_point) { .kind = IL_STEP };
		t->history = i;
		t->done = false;
	}
}

static void go_on(int i)
{
	self = i;
	switch_over(scheduler, thread[i].here);
	self = -1;
	steps++;
}

static bool all_done(void)
{
	unsigned int i;

	for (i = 0; i < nr_threads; i++)
		if (!thread[i].done && !thread[i].daemon)
			return false;
	return true;
}

static void fail_stuck(void)
{
	char who[256] = "";
	size_t n = 0;
	unsigned int i;

	for (i = 0; i < nr_threads; i++)
		if (!thread[i].done && n < sizeof(who))
			n += snprintf(who + n, sizeof(who) - n, "%s%s at %s", n ? ", " : "",
				      thread[i].name, thread[i].at.what ?:
				      hooks->name(thread[i].at.p));
	il_fail("everybody waits: %s", who);
}

enum il_result il_run(struct il_driver *d)
{
	int last = -1, next;
	unsigned int set;
	bool known;

	tracing = d->trace;
	begin();
	while ((set = enabled())) {
		known = false;
		next = d->choose(d, set, last, &known);
		if (next < 0)
			return IL_CUT;
		go_on(next);
		last = next;
		hooks->step();
		if (!known && !failed)
			hooks->check();
		if (steps > IL_MAX_STEPS)
			il_fail("it never ends");
		if (failed)
			return IL_FAILED;
	}
	if (!all_done())
		fail_stuck();
	else
		hooks->end();
	return failed ? IL_FAILED : IL_PASSED;
}

unsigned int il_steps(void)
{
	return steps;
}
