// SPDX-License-Identifier: GPL-2.0-only
/* Options: keys, ranges, texts of errors, table lines. */
#include "drivers/md/optcache/options.c"

#include "test.h"

struct options_test {
	struct oc_options o;
	char why[OC_WHY_MAX];
};

static int options_test_init(struct kunit *test)
{
	struct options_test *t = test_zalloc(test, sizeof(*t));

	oc_options_default(&t->o);
	test->priv = t;
	return 0;
}

static void options_defaults(struct kunit *test)
{
	struct options_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, t->o.mask, 0U);
	KUNIT_EXPECT_EQ(test, oc_options_check(&t->o, t->why), 0);
	KUNIT_EXPECT_EQ(test, t->o.value[OPTCACHE_OPT_SEQ_CUTOFF], 1024ULL);
	KUNIT_EXPECT_EQ(test, t->o.value[OPTCACHE_OPT_DIRTY_HIGH], 60ULL);
}

static void options_limits(struct kunit *test)
{
	struct options_test *t = test->priv;
	char text[24];
	u32 i;

	for (i = 1; i < OPTCACHE_NR_OPTIONS; i++) {
		const struct oc_option_desc *d = &oc_option_desc[i];

		/* out of the way of the other one of the pair */
		t->o.value[OPTCACHE_OPT_DIRTY_LOW] = 0;
		t->o.value[OPTCACHE_OPT_DIRTY_HIGH] = 95;
		t->o.mask = 3U << OPTCACHE_OPT_DIRTY_LOW;
		scnprintf(text, sizeof(text), "%llu", (unsigned long long)d->max);
		KUNIT_EXPECT_EQ(test, oc_option_set(&t->o, d->key, text, t->why), 0);
		KUNIT_EXPECT_EQ(test, t->o.value[i], d->max);
		scnprintf(text, sizeof(text), "%llu", (unsigned long long)d->max + 1);
		KUNIT_EXPECT_EQ(test, oc_option_set(&t->o, d->key, text, t->why), -EINVAL);
		KUNIT_EXPECT_EQ(test, t->o.value[i], d->max);
		t->o.value[OPTCACHE_OPT_DIRTY_LOW] = 0;
		scnprintf(text, sizeof(text), "%llu", (unsigned long long)d->min);
		KUNIT_EXPECT_EQ(test, oc_option_set(&t->o, d->key, text, t->why), 0);
		KUNIT_EXPECT_EQ(test, t->o.value[i], d->min);
	}
}

static void options_texts(struct kunit *test)
{
	struct options_test *t = test->priv;
	char buf[24];
	u32 i;

	for (i = 0; i < OPTCACHE_NR_MODES; i++) {
		KUNIT_EXPECT_EQ(test, oc_option_set(&t->o, "mode", oc_mode_name[i], t->why), 0);
		KUNIT_EXPECT_STREQ(test, oc_option_text(&t->o, OPTCACHE_OPT_MODE, buf, sizeof(buf)),
				   oc_mode_name[i]);
	}
	KUNIT_EXPECT_EQ(test, oc_option_set(&t->o, "mode", "writeback\n", t->why), 0);
	KUNIT_EXPECT_EQ(test, oc_option_set(&t->o, "seq_cutoff", "2048\n", t->why), 0);
	KUNIT_EXPECT_STREQ(test, oc_option_text(&t->o, OPTCACHE_OPT_SEQ_CUTOFF, buf, sizeof(buf)),
			   "2048");
	t->o.value[OPTCACHE_OPT_SEQ_CUTOFF] = ~0ULL;
	KUNIT_EXPECT_STREQ(test, oc_option_text(&t->o, OPTCACHE_OPT_SEQ_CUTOFF, buf, sizeof(buf)),
			   "18446744073709551615");
}

static void options_errors(struct kunit *test)
{
	static const struct {
		const char *key, *value, *why;
	} bad[] = {
		{ "dirty_low", "96", "dirty_low 96: must be 0..94 %" },
		{ "writeback_delay", "3601\n", "writeback_delay 3601: must be 0..3600 s" },
		{ "writeback_delay", "-1\n", "writeback_delay '-1': must be a number 0..3600 s" },
		{ "writeback_delay", "", "writeback_delay '': must be a number 0..3600 s" },
		{ "seq_cutoff", "1k", "seq_cutoff '1k': must be a number 0..1073741824 KiB" },
		{ "seq_cutoff", "18446744073709551616",
		  "seq_cutoff '18446744073709551616': must be a number 0..1073741824 KiB" },
		{ "mode", "fast",
		  "mode 'fast': must be one of writeback writethrough writearound passthrough" },
		{ "mode", "0",
		  "mode '0': must be one of writeback writethrough writearound passthrough" },
		{ "dirty_low", "60", "dirty_low 60 must be below dirty_high 60" },
		{ "dirty_high", "0", "dirty_high 0: must be 1..95 %" },
		{ "Mode", "writeback",
		  "unknown option 'Mode', known are mode seq_cutoff writeback_delay dirty_low dirty_high",
		},
	};
	struct options_test *t = test->priv;
	const struct oc_options before = t->o;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_EXPECT_EQ(test, oc_option_set(&t->o, bad[i].key, bad[i].value, t->why),
				-EINVAL);
		KUNIT_EXPECT_STREQ(test, t->why, bad[i].why);
		KUNIT_EXPECT_EQ(test, memcmp(&before, &t->o, sizeof(before)), 0);
	}
}

/* Whatever comes from outside, the error text stays inside its room. */
static void options_long_texts(struct kunit *test)
{
	struct options_test *t = test->priv;
	char *text = test_zalloc(test, 1000);

	memset(text, 'x', 999);
	KUNIT_EXPECT_EQ(test, oc_option_set(&t->o, text, "1", t->why), -EINVAL);
	KUNIT_EXPECT_EQ(test, oc_option_set(&t->o, "mode", text, t->why), -EINVAL);
	KUNIT_EXPECT_EQ(test, oc_option_set(&t->o, "seq_cutoff", text, t->why), -EINVAL);
	KUNIT_EXPECT_LT(test, strlen(t->why), (size_t)OC_WHY_MAX);
}

static void options_merge(struct kunit *test)
{
	struct options_test *t = test->priv;
	struct oc_options saved = {};

	saved.mask = 1U << OPTCACHE_OPT_DIRTY_LOW | 1U << 31;
	saved.value[OPTCACHE_OPT_DIRTY_LOW] = 20;
	saved.value[OPTCACHE_OPT_SEQ_CUTOFF] = 5;
	KUNIT_EXPECT_EQ(test, oc_options_check(&saved, t->why), 0);
	oc_options_merge(&t->o, &saved);
	KUNIT_EXPECT_EQ(test, t->o.mask, 1U << OPTCACHE_OPT_DIRTY_LOW);
	KUNIT_EXPECT_EQ(test, t->o.value[OPTCACHE_OPT_DIRTY_LOW], 20ULL);
	KUNIT_EXPECT_EQ(test, t->o.value[OPTCACHE_OPT_SEQ_CUTOFF], 1024ULL);
}

static void options_check_set(struct kunit *test)
{
	struct options_test *t = test->priv;

	t->o.mask = 1U << OPTCACHE_OPT_MODE;
	t->o.value[OPTCACHE_OPT_MODE] = OPTCACHE_NR_MODES;
	KUNIT_EXPECT_EQ(test, oc_options_check(&t->o, t->why), -EINVAL);
	t->o.value[OPTCACHE_OPT_MODE] = 0;
	t->o.mask = 1U << OPTCACHE_OPT_DIRTY_LOW;
	t->o.value[OPTCACHE_OPT_DIRTY_LOW] = 70;
	KUNIT_EXPECT_EQ(test, oc_options_check(&t->o, t->why), -EINVAL);
}

/* ---- table lines ----------------------------------------------------- */

/* Splits @line in place as dm does. */
static int parse(struct oc_table_args *args, char *line, char *why)
{
	char *argv[32], *p = line;
	unsigned int argc = 0;

	while (*p && argc < ARRAY_SIZE(argv)) {
		argv[argc++] = p;
		while (*p && *p != ' ')
			p++;
		if (*p)
			*p++ = 0;
	}
	return oc_table_parse(args, argc, argv, why);
}

static void table_good(struct kunit *test)
{
	char line[] = "/dev/a /dev/b 8 dirty_low 70 writethrough dirty_high 80 format seq_cutoff 0";
	struct options_test *t = test->priv;
	struct oc_table_args args;

	KUNIT_EXPECT_EQ(test, parse(&args, line, t->why), 0);
	KUNIT_EXPECT_STREQ(test, args.cache_dev, "/dev/a");
	KUNIT_EXPECT_STREQ(test, args.origin_dev, "/dev/b");
	KUNIT_EXPECT_TRUE(test, args.format);
	KUNIT_EXPECT_EQ(test, args.opt.mask, 1U << OPTCACHE_OPT_MODE |
			1U << OPTCACHE_OPT_SEQ_CUTOFF | 3U << OPTCACHE_OPT_DIRTY_LOW);
	KUNIT_EXPECT_EQ(test, args.opt.value[OPTCACHE_OPT_MODE],
			(u64)OPTCACHE_MODE_WRITETHROUGH);
	KUNIT_EXPECT_EQ(test, args.opt.value[OPTCACHE_OPT_DIRTY_LOW], 70ULL);
}

static void table_short(struct kunit *test)
{
	char none[] = "a b 0", named[] = "a b 2 mode passthrough";
	/* what it must agree with may be in the superblock */
	char half[] = "a b 2 dirty_low 90";
	struct options_test *t = test->priv;
	struct oc_table_args args;

	KUNIT_EXPECT_EQ(test, parse(&args, none, t->why), 0);
	KUNIT_EXPECT_EQ(test, args.opt.mask, 0U);
	KUNIT_EXPECT_FALSE(test, args.format);
	KUNIT_EXPECT_EQ(test, parse(&args, named, t->why), 0);
	KUNIT_EXPECT_EQ(test, args.opt.value[OPTCACHE_OPT_MODE],
			(u64)OPTCACHE_MODE_PASSTHROUGH);
	KUNIT_EXPECT_EQ(test, parse(&args, half, t->why), 0);
}

static void table_bad(struct kunit *test)
{
	static const struct {
		const char *line, *why;
	} bad[] = {
		{ "", "needs <cache dev> <origin dev> <number of arguments> [argument]..." },
		{ "a b", "needs <cache dev> <origin dev> <number of arguments> [argument]..." },
		{ "a b 1", "number of arguments is '1', but 0 follow" },
		{ "a b x format", "number of arguments is 'x', but 1 follow" },
		{ "a b 2 format format", "format is given twice" },
		{ "a b 2 writeback writeback", "mode is given twice" },
		{ "a b 3 writeback mode writeback", "mode is given twice" },
		{ "a b 4 dirty_low 1 dirty_low 1", "dirty_low is given twice" },
		{ "a b 1 dirty_low", "dirty_low needs a value" },
		{ "a b 4 dirty_low 9 dirty_high 9", "dirty_low 9 must be below dirty_high 9" },
		{ "a b 1 turbo",
		  "unknown option 'turbo', known are mode seq_cutoff writeback_delay dirty_low dirty_high",
		},
		{ "a b 2 seq_cutoff format",
		  "seq_cutoff 'format': must be a number 0..1073741824 KiB" },
	};
	struct options_test *t = test->priv;
	struct oc_table_args args;
	char line[80];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		scnprintf(line, sizeof(line), "%s", bad[i].line);
		KUNIT_EXPECT_EQ(test, parse(&args, line, t->why), -EINVAL);
		KUNIT_EXPECT_STREQ(test, t->why, bad[i].why);
	}
}

static struct kunit_case options_cases[] = {
	KUNIT_CASE(options_defaults),
	KUNIT_CASE(options_limits),
	KUNIT_CASE(options_texts),
	KUNIT_CASE(options_errors),
	KUNIT_CASE(options_long_texts),
	KUNIT_CASE(options_merge),
	KUNIT_CASE(options_check_set),
	KUNIT_CASE(table_good),
	KUNIT_CASE(table_short),
	KUNIT_CASE(table_bad),
	{}
};

static struct kunit_suite options_suite = {
	.name = "optcache_options",
	.init = options_test_init,
	.test_cases = options_cases,
};

kunit_test_suite(options_suite);
