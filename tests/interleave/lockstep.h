/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads in lock step.  They are coroutines; each stops at a point before every access to
 * shared memory, and whoever drives the run chooses who goes on.  A run is so a pure
 * function of these choices.
 *
 * Shared memory lies in an arena, which is put back before every run.  Only its live ranges
 * take part: they are saved, hashed and watched.  The rest is cold: nobody may write it.
 *
 * The state of a thread is what it has read so far: it has no other source.  So live ranges
 * and these histories together are the state of the whole, and runs that come to the same
 * state go on alike.
 */
#ifndef _INTERLEAVE_LOCKSTEP_H
#define _INTERLEAVE_LOCKSTEP_H

#include <optcache/types.h>

#define IL_THREADS	6

enum il_kind {
	IL_READ,
	IL_WRITE,
	IL_ACQUIRE,
	IL_RELEASE,
	IL_CMPXCHG,
	IL_ADD,
	IL_LOCK,
	IL_UNLOCK,		/* no point, see lockstep.c */
	IL_WAIT,
	IL_STEP,		/* of the test itself: data is read or written */
};

/* Where a thread stands: before this access. */
struct il_point {
	enum il_kind kind;
	unsigned int size;
	void *p;
	const char *func;
	const char *what;	/* IL_WAIT, IL_STEP */
	bool (*ready)(void);	/* IL_WAIT */
};

/* ---- for the code under test, by way of user_env.h ------------------- */

u64 il_read(const struct il_point *at);
void il_write(const struct il_point *at, u64 v);
void il_add(const struct il_point *at, s64 v);
bool il_cmpxchg(const struct il_point *at, void *old, u64 new);
void il_lock(const struct il_point *at);
void il_unlock(const struct il_point *at);

void *il_zalloc(size_t bytes);
void il_free(void *p);

/* ---- for actors ------------------------------------------------------ */

/* A point of its own. */
void il_step(const char *what);
/* Stops until @ready; it only looks at shared memory. */
void il_wait(bool (*ready)(void), const char *what);
/*
 * What a thread goes on with is known from what it has read.  Of the ghost's memory it must
 * say so itself: it has read @v, and it matters.
 */
void il_saw(u64 v);
/* Nothing of all that matters any more, only @where the thread stands. */
void il_forget(u64 where);
/* The run has shown a fault.  Does not return in a thread. */
__attribute__((format(printf, 1, 2)))
void il_fail(const char *format, ...);
/* The number of the running thread, -1 outside of all. */
int il_self(void);

/* ---- for scenarios --------------------------------------------------- */

/* Forget the last scenario. */
void il_reset(void);
/* @bytes at @p of the arena are live.  In setup only. */
void il_live(void *p, size_t bytes);
/* So are these, but they are the test's own: their plain accesses do not race. */
void il_ghost(void *p, size_t bytes);
/* @daemon: it need not end. */
void il_thread(const char *name, void (*fn)(u64 arg), u64 arg, bool daemon);

struct il_hooks {
	void (*step)(void);	/* after every step; may change shared memory */
	void (*check)(void);	/* after every step that has not been seen before */
	void (*end)(void);	/* all threads have ended */
	/* Text for @p, of static memory; and for what it holds. */
	const char *(*name)(const void *p);
	const char *(*value)(const void *p, u64 v);
};

/* Setup is done: this is where runs begin. */
void il_ready(const struct il_hooks *hooks);

/* ---- for whoever drives the runs ------------------------------------- */

#define IL_MAX_STEPS	100000

enum il_result {
	IL_PASSED,
	IL_FAILED,		/* il_failure() says what */
	IL_CUT,			/* the driver has seen enough of it */
};

struct il_driver {
	/*
	 * Which of the threads in the set @enabled goes on, -1 to cut the run?  @last went
	 * before, -1 at first.  Sets *known if the step it chooses has been checked before.
	 */
	int (*choose)(struct il_driver *d, unsigned int enabled, int last, bool *known);
	bool trace;		/* print every step */
};

enum il_result il_run(struct il_driver *d);
const char *il_failure(void);
const char *il_name(const void *p);
unsigned int il_steps(void);		/* of the last run */
unsigned int il_nr_threads(void);
u64 il_state(void);

#endif /* _INTERLEAVE_LOCKSTEP_H */
