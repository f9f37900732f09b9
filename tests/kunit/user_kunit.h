/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * As much of KUnit as the suites use, outside the kernel.  Results are printed as
 * KTAP, followed by one closing line with the totals.
 */
#ifndef _USER_KUNIT_H
#define _USER_KUNIT_H

#include <optcache/env.h>
#include <setjmp.h>

#define GFP_KERNEL	0

struct kunit_memory;

struct kunit {
	void *priv;
	bool failed;
	jmp_buf abort;
	struct kunit_memory *memory;	/* freed after the case */
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
};

struct kunit_suite {
	const char *name;
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
	struct kunit_suite *next;	/* of all that are registered */
};

#define KUNIT_CASE(fn)	{ .run_case = fn, .name = #fn }

#define kunit_test_suite(suite) \
	static void __attribute__((constructor)) register_##suite(void) \
	{ \
		kunit_register(&(suite)); \
	}

void kunit_register(struct kunit_suite *suite);
void *kunit_kzalloc(struct kunit *test, size_t size, int gfp);

/* Prints the two values; text is the expectation as it stands in the source. */
void kunit_fail(struct kunit *test, const char *file, int line, const char *text,
		long long left, long long right);

#define KUNIT_CHECK(test, left, op, right, give_up) \
	do { \
		const __typeof__(left) __left = (left); \
		const __typeof__(right) __right = (right); \
		if (!(__left op __right)) { \
			kunit_fail(test, __FILE__, __LINE__, #left " " #op " " #right, \
				   (long long)__left, (long long)__right); \
			if (give_up) \
				longjmp((test)->abort, 1); \
		} \
	} while (0)

#define KUNIT_CHECK_STR(test, left, right) \
	do { \
		if (strcmp(left, right)) { \
			kunit_fail(test, __FILE__, __LINE__, #left " equals " #right, 0, 0); \
			printf("# '%s' and '%s'\n", left, right); \
		} \
	} while (0)

#define KUNIT_EXPECT_EQ(test, a, b)	KUNIT_CHECK(test, a, ==, b, false)
#define KUNIT_EXPECT_NE(test, a, b)	KUNIT_CHECK(test, a, !=, b, false)
#define KUNIT_EXPECT_LT(test, a, b)	KUNIT_CHECK(test, a, <, b, false)
#define KUNIT_EXPECT_LE(test, a, b)	KUNIT_CHECK(test, a, <=, b, false)
#define KUNIT_EXPECT_GT(test, a, b)	KUNIT_CHECK(test, a, >, b, false)
#define KUNIT_EXPECT_GE(test, a, b)	KUNIT_CHECK(test, a, >=, b, false)
#define KUNIT_EXPECT_TRUE(test, a)	KUNIT_CHECK(test, !!(a), ==, true, false)
#define KUNIT_EXPECT_FALSE(test, a)	KUNIT_CHECK(test, !!(a), ==, false, false)
#define KUNIT_EXPECT_STREQ(test, a, b)	KUNIT_CHECK_STR(test, a, b)
#define KUNIT_ASSERT_EQ(test, a, b)	KUNIT_CHECK(test, a, ==, b, true)
#define KUNIT_ASSERT_NE(test, a, b)	KUNIT_CHECK(test, a, !=, b, true)
#define KUNIT_ASSERT_LT(test, a, b)	KUNIT_CHECK(test, a, <, b, true)
#define KUNIT_ASSERT_LE(test, a, b)	KUNIT_CHECK(test, a, <=, b, true)
#define KUNIT_ASSERT_TRUE(test, a)	KUNIT_CHECK(test, !!(a), ==, true, true)
#define KUNIT_ASSERT_FALSE(test, a)	KUNIT_CHECK(test, !!(a), ==, false, true)

#define MODULE_DESCRIPTION(text)
#define MODULE_LICENSE(text)

#endif /* _USER_KUNIT_H */
