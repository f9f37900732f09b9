// SPDX-License-Identifier: GPL-2.0
/*
 * From a line of text to a job.
 */
#define pr_fmt(fmt) "labgen: " fmt

#include <linux/kernel.h>
#include <linux/string.h>

#include "labgen.h"
#include "words.h"

static int gen_word_choice(struct lab_words *w, const char *key,
			   const char * const *known, u64 *to)
{
	const char *value = lab_word(w, key);
	u64 i;

	if (!value)
		return 0;
	for (i = 0; known[i]; i++)
		if (!strcmp(value, known[i])) {
			*to = i;
			return 0;
		}
	lab_refuse(w, "%s=%s is unknown", key, value);
	return -EINVAL;
}

static int gen_word_text(struct lab_words *w, const char *key, char *to,
			 size_t size)
{
	const char *value = lab_word(w, key);

	if (value && strscpy(to, value, size) < 0) {
		lab_refuse(w, "%s= is too long", key);
		return -EINVAL;
	}
	return 0;
}

static int gen_job_numbers(struct gen_job *job, struct lab_words *w)
{
	const struct {
		const char *key;
		u64 *to;
	} numbers[] = {
		{ "read_percent", &job->read_percent },
		{ "bs", &job->block }, { "qd", &job->depth },
		{ "n", &job->ios }, { "ms", &job->ms },
		{ "start", &job->start }, { "span", &job->span },
		{ "seed", &job->seed }, { "fua", &job->fua },
		{ "flush_every", &job->flush_every },
		{ "gap_us", &job->gap_us }, { "verify", &job->verify },
		{ "gen", &job->generation }, { "scribble", &job->scribble },
		{ "bin_ms", &job->bin_ms },
	};
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < ARRAY_SIZE(numbers); i++)
		ret = lab_word_u64(w, numbers[i].key, numbers[i].to);
	return ret;
}

static int gen_job_check(const struct gen_job *job, struct lab_words *w)
{
	const char *why = NULL;

	if (!job->path[0])
		why = "wants dev=";
	else if (!job->block || job->block % SECTOR_SIZE ||
		 job->block > (PAGE_SIZE << 10))
		why = "bs= must be whole sectors, 4M at most";
	else if (!job->depth || job->depth > 4096)
		why = "qd= must be in 1..4096";
	else if (!job->ios && !job->ms)
		why = "wants n= or ms=";
	else if (job->start % SECTOR_SIZE)
		why = "start= must be whole sectors";
	else if (job->read_percent > 100)
		why = "read_percent= is above 100";
	else if (job->order == GEN_ASC && !job->ios)
		why = "rw=asc wants n=";
	else if (job->generation > U32_MAX >> 1)
		why = "gen= is too large";
	if (why)
		lab_refuse(w, "%s", why);
	return why ? -EINVAL : 0;
}

int gen_job_parse(struct gen_job *job, struct lab_words *w)
{
	static const char * const ops[] = { "read", "write", "mix", NULL };
	static const char * const orders[] = { "seq", "rand", "perm", "asc",
					       NULL };
	int ret;

	*job = (struct gen_job){
		.id = "run", .read_percent = 70, .block = 4096, .depth = 1,
		.seed = 1,
	};
	ret = gen_word_text(w, "id", job->id, sizeof(job->id));
	ret = ret ?: gen_word_text(w, "dev", job->path, sizeof(job->path));
	ret = ret ?: gen_word_choice(w, "op", ops, &job->op);
	ret = ret ?: gen_word_choice(w, "rw", orders, &job->order);
	ret = ret ?: gen_job_numbers(job, w);
	ret = ret ?: lab_words_all_asked(w);
	if (!ret && w->nr_names) {
		lab_refuse(w, "what is %s?", w->names[0]);
		ret = -EINVAL;
	}
	return ret ?: gen_job_check(job, w);
}
