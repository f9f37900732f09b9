/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core's ground, once more, for the interleaving scheduler: every access that the core
 * makes atomically, and every lock, is a point where another thread may come in first.
 * Stands in the include path before tools/lib, whose header it completes.
 *
 * Plain accesses are no such points.  That is right as long as none of them races, which
 * race.c watches.
 */
#ifndef _INTERLEAVE_USER_ENV_H
#define _INTERLEAVE_USER_ENV_H

#include_next <user_env.h>

#include "lockstep.h"

#undef READ_ONCE
#undef WRITE_ONCE
#undef smp_load_acquire
#undef smp_store_release
#undef try_cmpxchg
#undef atomic_read
#undef atomic_set
#undef atomic_add
#undef atomic_sub
#undef spin_lock_init

#define IL_AT(k, address)						\
	(&(const struct il_point) { .kind = (k), .size = sizeof(*(address)),	\
				    .p = (void *)(address), .func = __func__ })

#define READ_ONCE(x)		((__typeof__(x))il_read(IL_AT(IL_READ, &(x))))
#define WRITE_ONCE(x, v)	il_write(IL_AT(IL_WRITE, &(x)), v)
#define smp_load_acquire(p)	((__typeof__(*(p)))il_read(IL_AT(IL_ACQUIRE, p)))
#define smp_store_release(p, v)	il_write(IL_AT(IL_RELEASE, p), v)
#define try_cmpxchg(p, old, new)	il_cmpxchg(IL_AT(IL_CMPXCHG, p), old, new)

#define atomic_read(a)		READ_ONCE((a)->counter)
#define atomic_set(a, v)	WRITE_ONCE((a)->counter, v)
#define atomic_add(v, a)	il_add(IL_AT(IL_ADD, &(a)->counter), v)
#define atomic_sub(v, a)	il_add(IL_AT(IL_ADD, &(a)->counter), -(s64)(v))

#define spin_lock_init(l)	((l)->held = false)
#define spin_lock(l)		il_lock(IL_AT(IL_LOCK, &(l)->held))
#define spin_unlock(l)		il_unlock(IL_AT(IL_UNLOCK, &(l)->held))

#define oc_zalloc		il_zalloc
#define oc_free			il_free

#endif /* _INTERLEAVE_USER_ENV_H */
