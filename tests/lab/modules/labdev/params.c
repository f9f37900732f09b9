// SPDX-License-Identifier: GPL-2.0
/*
 * The parameters of a device, as one table: a line gives the word to type, the
 * legal range and what turning it changes.
 */
#define pr_fmt(fmt) "labdev: " fmt

#include <linux/log2.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "labdev.h"
#include "words.h"

struct lab_param {
	const char *key;
	size_t offset;
	u64 min, max;
	const char *help;
};

#define PARAM(_key, _field, _min, _max, _help) {			\
	.key = _key, .offset = offsetof(struct lab_params, _field),	\
	.min = _min, .max = _max, .help = _help,			\
}

#define SECOND 1000000000ULL

static const struct lab_param lab_param_table[] = {
	PARAM("size_mb", size_mb, 1, 1ULL << 30, "capacity, MiB"),
	PARAM("size_kb", size_kb, 0, 1ULL << 40, "capacity, KiB, in place of size_mb"),
	PARAM("lbs", lbs, 512, 4096, "logical block; a write is torn at it"),
	PARAM("pbs", pbs, 512, 4096, "physical block size, bytes"),
	PARAM("volatile", has_cache, 0, 1, "has a volatile cache: FLUSH, FUA"),
	PARAM("discard", discard, 0, 1, "takes discard and write-zeroes"),
	PARAM("max_kb", max_kb, 4, 4096, "longest read or write, KiB"),
	PARAM("tags", tags, 1, 65536, "commands at once"),
	PARAM("seed", seed, 0, U64_MAX, "of jitter and tails"),
	PARAM("hold_kb", hold_kb, 0, 1 << 20, "unflushed data at stake in a power cut"),
	PARAM("fail_us", fail_us, 1, 60000000, "how long a dead device takes to say so"),

	PARAM("read_ns", read_ns, 0, SECOND, "optane: a 4 KiB read, with host"),
	PARAM("write_ns", write_ns, 0, SECOND, "optane: a 4 KiB write, with host"),
	PARAM("channels", channels, 1, 64, "optane: commands served in parallel"),
	PARAM("read_mbps", read_mbps, 1, 1000000, "optane: streaming, MB/s"),
	PARAM("write_mbps", write_mbps, 1, 1000000, "optane: streaming, MB/s"),
	PARAM("read_4k_ns", read_4k_ns, 0, SECOND, "optane: least time between two reads"),
	PARAM("write_4k_ns", write_4k_ns, 0, SECOND, "optane: least time between two writes"),
	PARAM("flush_ns", flush_ns, 0, SECOND, "optane: a flush of the volatile cache"),
	PARAM("jitter_ns", jitter_ns, 0, SECOND, "optane: up to this much more, evenly spread"),
	PARAM("read_p99_ns", read_p99_ns, 0, SECOND, "optane: latency in the tail; 0: none"),
	PARAM("read_p999_ns", read_p999_ns, 0, SECOND, "optane"),
	PARAM("read_p9999_ns", read_p9999_ns, 0, SECOND, "optane"),
	PARAM("write_p99_ns", write_p99_ns, 0, SECOND, "optane"),
	PARAM("write_p999_ns", write_p999_ns, 0, SECOND, "optane"),
	PARAM("write_p9999_ns", write_p9999_ns, 0, SECOND, "optane"),

	PARAM("rpm", rpm, 1000, 100000, "disk: rotation"),
	PARAM("settle_us", settle_us, 0, 1000000, "disk: shortest seek"),
	PARAM("stroke_us", stroke_us, 0, 1000000, "disk: on top, for a seek over all tracks"),
	PARAM("outer_mbps", outer_mbps, 1, 10000, "disk: media rate at sector 0, MB/s"),
	PARAM("inner_mbps", inner_mbps, 1, 10000, "disk: media rate at the last sector, MB/s"),
	PARAM("link_mbps", link_mbps, 1, 100000, "disk: rate of the interface, MB/s"),
	PARAM("host_us", host_us, 0, 1000000, "disk: host and controller, per command"),
	PARAM("cache_kb", cache_kb, 8, 1 << 20, "disk: write cache, KiB"),
	PARAM("cache_slots", cache_slots, 2, 1024, "disk: separate extents in the write cache"),
	PARAM("ahead_kb", ahead_kb, 0, 1 << 16, "disk: read-ahead, KiB"),
	PARAM("ncq", ncq, 1, 1024, "disk: queued reads it chooses from"),
	PARAM("flush_us", flush_us, 0, 1000000, "disk: end of a flush, when all is on the media"),
};

static u64 *lab_param_of(struct lab_params *par, const struct lab_param *p)
{
	return (void *)par + p->offset;
}

static int lab_params_apply(struct lab_params *par, struct lab_words *w)
{
	const struct lab_param *p;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lab_param_table); i++) {
		u64 value;

		p = &lab_param_table[i];
		value = *lab_param_of(par, p);
		if (lab_word_u64(w, p->key, &value))
			return -EINVAL;
		if (!lab_word(w, p->key))
			continue;
		if (value < p->min || value > p->max) {
			lab_refuse(w, "%s=%llu is not in %llu..%llu", p->key,
				   value, p->min, p->max);
			return -ERANGE;
		}
		*lab_param_of(par, p) = value;
	}
	return 0;
}

/* What holds for every preset unless it says otherwise. */
static const char lab_defaults[] =
	"size_mb=1024 lbs=512 pbs=4096 volatile=0 discard=0 max_kb=1024\n"
	"tags=1024 seed=1 hold_kb=32768 fail_us=1000 channels=8 read_mbps=1000\n"
	"write_mbps=1000 rpm=7200 outer_mbps=150 inner_mbps=80 link_mbps=500\n"
	"cache_kb=32768 cache_slots=128 ahead_kb=4096 ncq=32";

static int lab_params_preset(struct lab_params *par, const char *settings)
{
	struct lab_words *w = kzalloc(sizeof(*w), GFP_KERNEL);
	char *line = kstrdup(settings, GFP_KERNEL);
	int ret = -ENOMEM;

	if (w && line)
		ret = lab_words_parse(w, "preset", line);
	if (!ret)
		ret = lab_params_apply(par, w);
	if (!ret)
		ret = lab_words_all_asked(w);
	kfree(line);
	kfree(w);
	return ret;
}

static int lab_params_check(struct lab_params *par, struct lab_words *w)
{
	if (!is_power_of_2(par->lbs) || !is_power_of_2(par->pbs) ||
	    par->pbs < par->lbs) {
		lab_refuse(w, "lbs= and pbs= must be powers of two, pbs the larger");
		return -EINVAL;
	}
	if (par->inner_mbps > par->outer_mbps) {
		lab_refuse(w, "inner_mbps= is larger than outer_mbps=");
		return -EINVAL;
	}
	return 0;
}

int lab_params_parse(struct lab_params *par, struct lab_words *w)
{
	const char *name = lab_word(w, "name"), *model = lab_word(w, "model");
	int ret;

	memset(par, 0, sizeof(*par));
	if (!name || !*name || strlen(name) >= DISK_NAME_LEN ||
	    strchr(name, '/')) {
		lab_refuse(w, "wants name=, of up to %d characters",
			   DISK_NAME_LEN - 1);
		return -EINVAL;
	}
	strscpy(par->name, name, sizeof(par->name));
	par->preset = model ? lab_preset_find(model) : NULL;
	if (!par->preset) {
		lab_refuse(w, "wants model=, one of those that reading the control file lists");
		return -EINVAL;
	}
	ret = lab_params_preset(par, lab_defaults);
	if (!ret)
		ret = lab_params_preset(par, par->preset->settings);
	if (!ret)
		ret = lab_params_apply(par, w);
	if (!ret)
		ret = lab_words_all_asked(w);
	return ret ?: lab_params_check(par, w);
}

void lab_params_help(struct seq_file *m)
{
	const struct lab_param *p;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lab_param_table); i++) {
		p = &lab_param_table[i];
		seq_printf(m, "#   %s=%llu..%llu\t%s\n", p->key, p->min, p->max,
			   p->help);
	}
}

void lab_params_show(struct seq_file *m, const struct lab_params *par)
{
	const struct lab_param *p;
	unsigned int i;

	seq_printf(m, "model=%s\n", par->preset->name);
	for (i = 0; i < ARRAY_SIZE(lab_param_table); i++) {
		p = &lab_param_table[i];
		seq_printf(m, "%s=%llu\n", p->key,
			   *lab_param_of((struct lab_params *)par, p));
	}
}
