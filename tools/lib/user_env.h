/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's names for the core when it runs outside the kernel: optcachectl,
 * fuzzers, unit tests.  Only what the core uses, with the kernel's meaning.
 * Accesses that the kernel makes with READ_ONCE and friends are atomic here too,
 * so that ThreadSanitizer sees what the kernel's memory model sees.
 */
#ifndef _USER_ENV_H
#define _USER_ENV_H

#include <errno.h>
#include <linux/types.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef __LP64__
#error "the core needs 64-bit longs"
#endif

/* ---- types ----------------------------------------------------------- */

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#ifndef __force
#define __force
#endif
#ifndef __bitwise
#define __bitwise
#endif

#define cpu_to_le16(x)	((__force __le16)__user_le16(x))
#define cpu_to_le32(x)	((__force __le32)__user_le32(x))
#define cpu_to_le64(x)	((__force __le64)__user_le64(x))
#define le16_to_cpu(x)	__user_le16((__force u16)(x))
#define le32_to_cpu(x)	__user_le32((__force u32)(x))
#define le64_to_cpu(x)	__user_le64((__force u64)(x))

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define __user_le16(x)	((u16)(x))
#define __user_le32(x)	((u32)(x))
#define __user_le64(x)	((u64)(x))
#else
#define __user_le16(x)	__builtin_bswap16(x)
#define __user_le32(x)	__builtin_bswap32(x)
#define __user_le64(x)	__builtin_bswap64(x)
#endif

/* ---- arithmetic ------------------------------------------------------ */

#define BITS_PER_LONG		64
#define PAGE_SIZE		4096UL
#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define ALIGN(x, a)		(((x) + (a) - 1) & ~((__typeof__(x))(a) - 1))
#define ALIGN_DOWN(x, a)	((x) & ~((__typeof__(x))(a) - 1))
#define IS_ALIGNED(x, a)	(((x) & ((__typeof__(x))(a) - 1)) == 0)
#define PAGE_ALIGN(x)		ALIGN(x, PAGE_SIZE)
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define BITS_TO_LONGS(n)	DIV_ROUND_UP((size_t)(n), BITS_PER_LONG)
#define min_t(t, a, b)		((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#define max_t(t, a, b)		((t)(a) > (t)(b) ? (t)(a) : (t)(b))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define clamp_t(t, v, lo, hi)	min_t(t, max_t(t, v, lo), hi)
#define swap(a, b) \
	do { __typeof__(a) __swap = (a); (a) = (b); (b) = __swap; } while (0)

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

static inline u64 div_u64(u64 n, u32 d)
{
	return n / d;
}

static inline u64 div_u64_rem(u64 n, u32 d, u32 *rem)
{
	*rem = n % d;
	return n / d;
}

static inline u32 hash_64(u64 v, unsigned int bits)
{
	return v * 0x61C8864680B583EBULL >> (64 - bits);
}

/* ---- compiler, memory model ------------------------------------------ */

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define prefetch(p)	__builtin_prefetch(p)
#define static_assert(x, ...)	_Static_assert(x, #x)
#ifndef __always_inline
#define __always_inline	inline __attribute__((always_inline))
#endif
#ifndef fallthrough
#define fallthrough	__attribute__((fallthrough))
#endif
#define ____cacheline_aligned_in_smp	__attribute__((aligned(64)))
#define __acquires(x)
#define __releases(x)
#define lockdep_assert_held(l)		((void)(l))

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define try_cmpxchg(p, old, new) \
	__atomic_compare_exchange_n(p, old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

typedef struct { int counter; } atomic_t;
typedef struct { s64 counter; } atomic64_t;

#define atomic_read(a)		__atomic_load_n(&(a)->counter, __ATOMIC_RELAXED)
#define atomic_set(a, v)	__atomic_store_n(&(a)->counter, v, __ATOMIC_RELAXED)
#define atomic_add(v, a)	((void)__atomic_add_fetch(&(a)->counter, v, __ATOMIC_SEQ_CST))
#define atomic_sub(v, a)	((void)__atomic_sub_fetch(&(a)->counter, v, __ATOMIC_SEQ_CST))
#define atomic_inc(a)		atomic_add(1, a)
#define atomic_dec(a)		atomic_sub(1, a)
#define atomic64_read(a)	atomic_read(a)
#define atomic64_set(a, v)	atomic_set(a, v)
#define atomic64_add(v, a)	atomic_add(v, a)
#define atomic64_sub(v, a)	atomic_sub(v, a)
#define atomic64_inc(a)		atomic_add(1, a)
#define atomic64_dec(a)		atomic_sub(1, a)

#define cond_resched()	do { } while (0)

/* ---- spinlocks ------------------------------------------------------- */

typedef struct { bool held; } spinlock_t;

#define spin_lock_init(l)	__atomic_store_n(&(l)->held, false, __ATOMIC_RELEASE)

static inline void spin_lock(spinlock_t *l)
{
	while (__atomic_exchange_n(&l->held, true, __ATOMIC_ACQUIRE))
		sched_yield();
}

static inline void spin_unlock(spinlock_t *l)
{
	__atomic_store_n(&l->held, false, __ATOMIC_RELEASE);
}

#define spin_lock_irqsave(l, flags)		do { (flags) = 0; spin_lock(l); } while (0)
#define spin_unlock_irqrestore(l, flags)	do { (void)(flags); spin_unlock(l); } while (0)
#define spin_lock_irq(l)			spin_lock(l)
#define spin_unlock_irq(l)			spin_unlock(l)

/* ---- bitmaps --------------------------------------------------------- */

static inline unsigned long __ffs(unsigned long w)
{
	return __builtin_ctzl(w);
}

static inline void __set_bit(unsigned long nr, unsigned long *map)
{
	map[nr / BITS_PER_LONG] |= BIT(nr % BITS_PER_LONG);
}

static inline void __clear_bit(unsigned long nr, unsigned long *map)
{
	map[nr / BITS_PER_LONG] &= ~BIT(nr % BITS_PER_LONG);
}

static inline bool test_bit(unsigned long nr, const unsigned long *map)
{
	return map[nr / BITS_PER_LONG] >> nr % BITS_PER_LONG & 1;
}

/* First bit from @from on that differs from those of @invert, or @size. */
static inline unsigned long __user_find_next(const unsigned long *map, unsigned long size,
					     unsigned long from, unsigned long invert)
{
	unsigned long w;

	if (from >= size)
		return size;
	w = (map[from / BITS_PER_LONG] ^ invert) & ~0UL << from % BITS_PER_LONG;
	from = ALIGN_DOWN(from, BITS_PER_LONG);
	while (!w) {
		from += BITS_PER_LONG;
		if (from >= size)
			return size;
		w = map[from / BITS_PER_LONG] ^ invert;
	}
	return min(from + __ffs(w), size);
}

static inline unsigned long find_next_bit(const unsigned long *map, unsigned long size,
					  unsigned long from)
{
	return __user_find_next(map, size, from, 0);
}

static inline unsigned long find_next_zero_bit(const unsigned long *map, unsigned long size,
					       unsigned long from)
{
	return __user_find_next(map, size, from, ~0UL);
}

#define for_each_set_bit(bit, map, size)				\
	for ((bit) = find_next_bit((map), (size), 0); (bit) < (size);	\
	     (bit) = find_next_bit((map), (size), (bit) + 1))

static inline unsigned int hweight_long(unsigned long w)
{
	return __builtin_popcountl(w);
}

/* ---- memory ---------------------------------------------------------- */

/*
 * As the core's kernel side in env.h: page-aligned, zeroed.  Not rounded up, so that ASan
 * sees the first byte behind it.
 */
static inline void *oc_zalloc(size_t bytes)
{
	void *p;

	if (posix_memalign(&p, PAGE_SIZE, bytes ?: 1))
		return NULL;
	return memset(p, 0, bytes);
}

static inline void oc_free(void *p)
{
	free(p);
}

/* ---- text ------------------------------------------------------------ */

__attribute__((format(printf, 3, 4)))
static inline int scnprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!size)
		return 0;
	va_start(ap, fmt);
	n = vsnprintf(buf, size, fmt, ap);
	va_end(ap);
	return n < (int)size ? n : (int)size - 1;
}

/* Digits of @base (10 only), perhaps a plus before and a newline after them. */
static inline int kstrtoull(const char *s, unsigned int base, unsigned long long *res)
{
	unsigned long long v = 0;

	if (base != 10)
		return -EINVAL;
	if (*s == '+')
		s++;
	if (*s < '0' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(v, 10ULL, &v) ||
		    __builtin_add_overflow(v, (unsigned long long)(*s - '0'), &v))
			return -ERANGE;
	if (*s == '\n')
		s++;
	if (*s)
		return -EINVAL;
	*res = v;
	return 0;
}

static inline bool sysfs_streq(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (*a == *b)
		return true;
	if (!*a && *b == '\n' && !b[1])
		return true;
	return *a == '\n' && !a[1] && !*b;
}

#include "crc32c.h"
#include "siphash.h"

#endif /* _USER_ENV_H */
