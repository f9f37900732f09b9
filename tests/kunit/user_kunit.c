// SPDX-License-Identifier: GPL-2.0-only
/* Runs the registered suites, or those named as arguments. */
#include "user_kunit.h"

struct kunit_memory {
	struct kunit_memory *next;
	max_align_t data[];
};

static struct kunit_suite *suites;
static unsigned int passed, failed;

void kunit_register(struct kunit_suite *suite)
{
	struct kunit_suite **at = &suites;

	while (*at && strcmp((*at)->name, suite->name) < 0)
		at = &(*at)->next;
	suite->next = *at;
	*at = suite;
}

void *kunit_kzalloc(struct kunit *test, size_t size, int gfp)
{
	struct kunit_memory *m = calloc(1, sizeof(*m) + size);

	(void)gfp;
	if (!m)
		return NULL;
	m->next = test->memory;
	test->memory = m;
	return m->data;
}

static void free_memory(struct kunit *test)
{
	struct kunit_memory *m;

	while ((m = test->memory)) {
		test->memory = m->next;
		free(m);
	}
}

void kunit_fail(struct kunit *test, const char *file, int line, const char *text,
		long long left, long long right)
{
	test->failed = true;
	printf("    # %s:%d: expected %s; left %lld (0x%llx), right %lld (0x%llx)\n", file, line,
	       text, left, (unsigned long long)left, right, (unsigned long long)right);
}

static bool run_case(const struct kunit_suite *suite, const struct kunit_case *c)
{
	static struct kunit test;	/* static: its fields live across the longjmp */

	memset(&test, 0, sizeof(test));
	if (suite->init && suite->init(&test))
		test.failed = true;
	else if (!setjmp(test.abort))
		c->run_case(&test);
	if (suite->exit)
		suite->exit(&test);
	free_memory(&test);
	return !test.failed;
}

static bool run_suite(const struct kunit_suite *suite)
{
	const struct kunit_case *c;
	unsigned int nr = 0, bad = 0;

	for (c = suite->test_cases; c->run_case; c++)
		nr++;
	printf("    KTAP version 1\n    # Subtest: %s\n    1..%u\n", suite->name, nr);
	for (nr = 1, c = suite->test_cases; c->run_case; c++, nr++) {
		const bool good = run_case(suite, c);

		printf("    %s %u %s\n", good ? "ok" : "not ok", nr, c->name);
		fflush(stdout);
		bad += !good;
		passed += good;
		failed += !good;
	}
	return !bad;
}

static bool wanted(const struct kunit_suite *suite, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], suite->name))
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	const struct kunit_suite *suite;
	unsigned int nr = 0;

	for (suite = suites; suite; suite = suite->next)
		nr += wanted(suite, argc, argv);
	printf("KTAP version 1\n1..%u\n", nr);
	for (nr = 0, suite = suites; suite; suite = suite->next) {
		bool good;

		if (!wanted(suite, argc, argv))
			continue;
		good = run_suite(suite);
		printf("%s %u %s\n", good ? "ok" : "not ok", ++nr, suite->name);
	}
	printf("%u passed, %u failed, 0 skipped\n", passed, failed);
	return failed || !passed;
}
