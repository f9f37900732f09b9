// SPDX-License-Identifier: GPL-2.0-only
/* Options: the table of keys, their texts and checks, and the table line. */
#include <optcache/options.h>

const struct oc_option_desc oc_option_desc[OPTCACHE_NR_OPTIONS] = {
	[OPTCACHE_OPT_MODE] = {
		"mode", "", 0, OPTCACHE_NR_MODES - 1, OPTCACHE_MODE_WRITEBACK,
	},
	[OPTCACHE_OPT_SEQ_CUTOFF] = {
		"seq_cutoff", "KiB", 0, OPTCACHE_SEQ_CUTOFF_MAX, OPTCACHE_SEQ_CUTOFF_DEFAULT,
	},
	[OPTCACHE_OPT_WRITEBACK_DELAY] = {
		"writeback_delay", "s", 0, OPTCACHE_WRITEBACK_DELAY_MAX,
		OPTCACHE_WRITEBACK_DELAY_DEFAULT,
	},
	[OPTCACHE_OPT_DIRTY_LOW] = {
		"dirty_low", "%", 0, OPTCACHE_DIRTY_MAX - 1, OPTCACHE_DIRTY_LOW_DEFAULT,
	},
	[OPTCACHE_OPT_DIRTY_HIGH] = {
		"dirty_high", "%", 1, OPTCACHE_DIRTY_MAX, OPTCACHE_DIRTY_HIGH_DEFAULT,
	},
};

const char *const oc_mode_name[OPTCACHE_NR_MODES] = {
	[OPTCACHE_MODE_WRITEBACK] = "writeback",
	[OPTCACHE_MODE_WRITETHROUGH] = "writethrough",
	[OPTCACHE_MODE_WRITEAROUND] = "writearound",
	[OPTCACHE_MODE_PASSTHROUGH] = "passthrough",
};

/* Of a text from outside not more than this goes into an error text. */
#define SHOW_MAX	40

/* Without the newline that a sysfs store or echo leaves behind. */
static int show_len(const char *text)
{
	return min_t(size_t, strcspn(text, "\n"), SHOW_MAX);
}

void oc_options_default(struct oc_options *o)
{
	unsigned int i;

	o->mask = 0;
	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++)
		o->value[i] = oc_option_desc[i].def;
}

void oc_options_merge(struct oc_options *o, const struct oc_options *over)
{
	unsigned int i;

	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++) {
		if (!(over->mask & 1U << i))
			continue;
		o->value[i] = over->value[i];
		o->mask |= 1U << i;
	}
}

/* ---- checks ---------------------------------------------------------- */

/* What @opt comes to: a superblock leaves values that were not set at zero. */
static u64 option_effective(const struct oc_options *o, unsigned int opt)
{
	return o->mask & 1U << opt ? o->value[opt] : oc_option_desc[opt].def;
}

static int check_range(unsigned int opt, u64 value, char why[OC_WHY_MAX])
{
	const struct oc_option_desc *d = &oc_option_desc[opt];

	if (value >= d->min && value <= d->max)
		return 0;
	scnprintf(why, OC_WHY_MAX, "%s %llu: must be %llu..%llu%s%s", d->key,
		  (unsigned long long)value, (unsigned long long)d->min,
		  (unsigned long long)d->max, d->unit[0] ? " " : "", d->unit);
	return -EINVAL;
}

static int check_pair(u64 low, u64 high, char why[OC_WHY_MAX])
{
	if (low < high)
		return 0;
	scnprintf(why, OC_WHY_MAX, "dirty_low %llu must be below dirty_high %llu",
		  (unsigned long long)low, (unsigned long long)high);
	return -EINVAL;
}

int oc_options_check(const struct oc_options *o, char why[OC_WHY_MAX])
{
	unsigned int i;
	int err;

	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++) {
		err = check_range(i, option_effective(o, i), why);
		if (err)
			return err;
	}
	return check_pair(option_effective(o, OPTCACHE_OPT_DIRTY_LOW),
			  option_effective(o, OPTCACHE_OPT_DIRTY_HIGH), why);
}

/* ---- text ------------------------------------------------------------ */

/* Return: the option, or OPTCACHE_NR_OPTIONS. */
static unsigned int option_by_key(const char *key)
{
	unsigned int i;

	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++)
		if (!strcmp(key, oc_option_desc[i].key))
			break;
	return i;
}

/* Return: the mode, or OPTCACHE_NR_MODES. */
static unsigned int mode_by_name(const char *name)
{
	unsigned int i;

	for (i = 0; i < OPTCACHE_NR_MODES; i++)
		if (sysfs_streq(name, oc_mode_name[i]))
			break;
	return i;
}

static int unknown_key(const char *key, char why[OC_WHY_MAX])
{
	int n = scnprintf(why, OC_WHY_MAX, "unknown option '%.*s', known are", show_len(key), key);
	unsigned int i;

	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++)
		n += scnprintf(why + n, OC_WHY_MAX - n, " %s", oc_option_desc[i].key);
	return -EINVAL;
}

static int parse_mode(const char *text, u64 *value, char why[OC_WHY_MAX])
{
	const unsigned int mode = mode_by_name(text);
	unsigned int i;
	int n;

	if (mode < OPTCACHE_NR_MODES) {
		*value = mode;
		return 0;
	}
	n = scnprintf(why, OC_WHY_MAX, "mode '%.*s': must be one of", show_len(text), text);
	for (i = 0; i < OPTCACHE_NR_MODES; i++)
		n += scnprintf(why + n, OC_WHY_MAX - n, " %s", oc_mode_name[i]);
	return -EINVAL;
}

static int parse_value(unsigned int opt, const char *text, u64 *value, char why[OC_WHY_MAX])
{
	const struct oc_option_desc *d = &oc_option_desc[opt];
	unsigned long long n;

	if (opt == OPTCACHE_OPT_MODE)
		return parse_mode(text, value, why);
	if (kstrtoull(text, 10, &n)) {
		scnprintf(why, OC_WHY_MAX, "%s '%.*s': must be a number %llu..%llu%s%s", d->key,
			  show_len(text), text, (unsigned long long)d->min,
			  (unsigned long long)d->max, d->unit[0] ? " " : "", d->unit);
		return -EINVAL;
	}
	*value = n;
	return check_range(opt, n, why);
}

int oc_option_set(struct oc_options *o, const char *key, const char *value, char why[OC_WHY_MAX])
{
	const unsigned int opt = option_by_key(key);
	struct oc_options new = *o;
	int err;

	if (opt == OPTCACHE_NR_OPTIONS)
		return unknown_key(key, why);
	err = parse_value(opt, value, &new.value[opt], why);
	if (err)
		return err;
	new.mask |= 1U << opt;
	err = oc_options_check(&new, why);
	if (err)
		return err;
	*o = new;
	return 0;
}

const char *oc_option_text(const struct oc_options *o, unsigned int opt, char *buf, size_t size)
{
	const u64 value = o->value[opt];

	if (opt == OPTCACHE_OPT_MODE && value < OPTCACHE_NR_MODES)
		scnprintf(buf, size, "%s", oc_mode_name[value]);
	else
		scnprintf(buf, size, "%llu", (unsigned long long)value);
	return buf;
}

/* ---- table line ------------------------------------------------------ */

/*
 * One option of the line.  Only its own range is checked here: what it must agree
 * with may come later in the line, or from the superblock.
 */
static int table_option(struct oc_options *o, unsigned int opt, const char *text,
			char why[OC_WHY_MAX])
{
	if (o->mask & 1U << opt) {
		scnprintf(why, OC_WHY_MAX, "%s is given twice", oc_option_desc[opt].key);
		return -EINVAL;
	}
	o->mask |= 1U << opt;
	return parse_value(opt, text, &o->value[opt], why);
}

/* A word that stands alone, and is no option: it counts for this activation only. */
static bool *table_flag(struct oc_table_args *args, const char *word)
{
	if (!strcmp(word, "format"))
		return &args->format;
	if (!strcmp(word, "keep_dirty"))
		return &args->keep_dirty;
	return NULL;
}

static int table_options(struct oc_table_args *args, unsigned int argc, char **argv,
			 char why[OC_WHY_MAX])
{
	unsigned int i, opt;
	bool *flag;
	int err;

	for (i = 0; i < argc; i++) {
		flag = table_flag(args, argv[i]);
		if (flag) {
			if (*flag) {
				scnprintf(why, OC_WHY_MAX, "%s is given twice", argv[i]);
				return -EINVAL;
			}
			*flag = true;
			continue;
		}
		if (mode_by_name(argv[i]) < OPTCACHE_NR_MODES) {
			err = table_option(&args->opt, OPTCACHE_OPT_MODE, argv[i], why);
			if (err)
				return err;
			continue;
		}
		opt = option_by_key(argv[i]);
		if (opt == OPTCACHE_NR_OPTIONS)
			return unknown_key(argv[i], why);
		if (++i == argc) {
			scnprintf(why, OC_WHY_MAX, "%s needs a value", oc_option_desc[opt].key);
			return -EINVAL;
		}
		err = table_option(&args->opt, opt, argv[i], why);
		if (err)
			return err;
	}
	return 0;
}

int oc_table_parse(struct oc_table_args *args, unsigned int argc, char **argv,
		   char why[OC_WHY_MAX])
{
	const u32 pair = 1U << OPTCACHE_OPT_DIRTY_LOW | 1U << OPTCACHE_OPT_DIRTY_HIGH;
	unsigned long long nr;
	int err;

	memset(args, 0, sizeof(*args));
	oc_options_default(&args->opt);
	if (argc < 3) {
		scnprintf(why, OC_WHY_MAX,
			  "needs <cache dev> <origin dev> <number of arguments> [argument]...");
		return -EINVAL;
	}
	args->cache_dev = argv[0];
	args->origin_dev = argv[1];
	if (kstrtoull(argv[2], 10, &nr) || nr != argc - 3) {
		scnprintf(why, OC_WHY_MAX, "number of arguments is '%.*s', but %u follow",
			  show_len(argv[2]), argv[2], argc - 3);
		return -EINVAL;
	}
	err = table_options(args, argc - 3, argv + 3, why);
	if (err || (args->opt.mask & pair) != pair)
		return err;
	return check_pair(args->opt.value[OPTCACHE_OPT_DIRTY_LOW],
			  args->opt.value[OPTCACHE_OPT_DIRTY_HIGH], why);
}
