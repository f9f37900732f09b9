// SPDX-License-Identifier: GPL-2.0-only
/*
 * rig TARGET FIRST COUNT [option=value]...
 *
 *	without=A,B	features to leave out
 *	lie=DEV:WHAT	fast or slow; fua, flush, misplace
 *	fast=0|1 slow=0|1	volatile cache or not, in place of the seed's choice
 *	shrink=1	shrink each bad seed
 *	show=1		print each plan
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "rig.h"

struct job {
	const struct target *target;
	__u64 first, count;
	struct options o;
	bool shrink, show;
};

static void usage(void)
{
	printf("rig TARGET FIRST COUNT [without=...] [lie=DEV:WHAT] [fast=0|1] [slow=0|1] [shrink=1] [show=1]\ntargets:");
	target_names();
	printf("\nfeatures: %s\n", feature_list());
	exit(64);
}

static bool is(const char *word, size_t len, const char *key)
{
	return len == strlen(key) && !memcmp(word, key, len);
}

static void option(struct job *job, const char *word)
{
	const char *value = strchr(word, '=');
	size_t len = value ? (size_t)(value++ - word) : 0;

	if (is(word, len, "without") && !feature_parse(value, &job->o.without))
		return;
	if (is(word, len, "lie"))
		job->o.lie = value;
	else if (is(word, len, "fast"))
		job->o.fast_volatile = atoi(value);
	else if (is(word, len, "slow"))
		job->o.slow_volatile = atoi(value);
	else if (is(word, len, "shrink"))
		job->shrink = atoi(value);
	else if (is(word, len, "show"))
		job->show = atoi(value);
	else
		usage();
}

static void run_seed(const struct job *job, __u64 seed)
{
	static struct plan plan;
	struct outcome out;

	plan_make(&plan, seed, job->target, &job->o);
	play(job->target, &plan, &job->o, NULL, &out);
	report_line(seed, &out);
	if (outcome_bad(&out))
		report_findings(&out);
	if (job->show)
		report_plan(&plan, NULL, &out);
	if (job->shrink && outcome_bad(&out))
		shrink(job->target, &plan, &job->o, &out);
}

int main(int argc, char **argv)
{
	struct job job = { .o = { .fast_volatile = -1, .slow_volatile = -1 } };
	__u64 seed;
	int i;

	if (argc < 4)
		usage();
	job.target = target_find(argv[1]);
	if (!job.target)
		usage();
	job.first = strtoull(argv[2], NULL, 0);
	job.count = strtoull(argv[3], NULL, 0);
	for (i = 4; i < argc; i++)
		if (*argv[i])
			option(&job, argv[i]);
	prctl(PR_SET_TIMERSLACK, 1);	/* ns: nearly as long as was said */
	printf("RIG %s\n", argv[1]);
	flush_out();
	for (seed = job.first; seed < job.first + job.count; seed++)
		run_seed(&job, seed);
	printf("END\n");
	flush_out();
	return 0;
}
