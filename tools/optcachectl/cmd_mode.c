// SPDX-License-Identifier: GPL-2.0-only
/* mode: change how an active cache treats writes. */
#include "setting.h"
#include "verb.h"

static int run(const struct verb_args *args)
{
	struct opts o = { 0 };
	int code = opts_add(&o, "mode", args->arg[1]);

	return code ? code : setting_change(args->arg[0], &o, args->json);
}

const struct verb verb_mode = {
	.name = "mode",
	.args_doc = "NAME MODE",
	.summary = "change the mode of an active cache",
	.doc = "Change how an active cache treats writes: writeback, writethrough, writearound or passthrough. Dirty data stays in the cache until it is written back, see flush.",
	.min_args = 2,
	.max_args = 2,
	.has_json = true,
	.run = run,
};
