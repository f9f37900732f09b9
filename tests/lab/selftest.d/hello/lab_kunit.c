// SPDX-License-Identifier: GPL-2.0-only
/* A KUnit suite with one case of each outcome, for the reader of its results. */
#include <kunit/test.h>
#include <linux/module.h>

static void passes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 1, 1);
}

static void fails(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 1, 2);
}

static void skips(struct kunit *test)
{
	kunit_skip(test, "by design");
}

static struct kunit_case cases[] = {
	KUNIT_CASE(passes),
	KUNIT_CASE(fails),
	KUNIT_CASE(skips),
	{}
};

static struct kunit_suite suite = {
	.name = "lab_selftest",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("Self test of the lab: KUnit results");
MODULE_LICENSE("GPL");
