// SPDX-License-Identifier: GPL-2.0-only
/* What a device holds, before it is erased. */
#include "ask.h"
#include "contents.h"
#include "exits.h"
#include "human.h"
#include "mapping.h"
#include "probe.h"
#include "say.h"
#include "supers.h"

/* Dirty blocks of the cache that is there; ~0 when it cannot be told. */
static u64 dirty_blocks(const struct dev *d, const struct supers *s)
{
	struct mapping m;
	u64 dirty;

	if (s->best || mapping_load(&m, d, &s->sb, NULL))
		return ~0ULL;
	dirty = mapping_damaged(&m) ? ~0ULL : (u64)atomic64_read(&m.slots.nr_dirty);
	mapping_free(&m);
	return dirty;
}

static int check_old_cache(const struct dev *d, bool force, bool yes)
{
	struct supers s;
	const char *advice;
	char what[120];
	u64 dirty;
	int err;

	err = supers_read(d, &s);
	if (err)
		return fail(OC_EXIT_IO, "See the kernel log for the device",
			    "cannot read %s (%s)", d->path, strerror(-err));
	if (!supers_any(&s))
		return 0;
	dirty = dirty_blocks(d, &s);
	if (dirty == ~0ULL)
		strcpy(what, "a damaged one that may hold data its disk does not have");
	else if (dirty)
		snprintf(what, sizeof(what), "with %s of data that its disk does not have",
			 human_bytes(dirty * OPTCACHE_BLOCK_SIZE).text);
	else
		strcpy(what, "its disk has all of the data");

	if (dirty)
		advice = "Save it with optcachectl writeback, or give --force to lose it";
	else
		advice = "Use optcachectl attach, or give --force to format it anew";
	if (!force)
		return fail(OC_EXIT_REFUSED, advice,
			    "%s already holds an optcache cache (%s)", d->path, what);
	return ask(yes, "Formatting erases the optcache cache on %s (%s)", d->path, what);
}

static int check_other(const struct dev *d, bool force, bool yes)
{
	char what[PROBE_WHAT_MAX];
	int n;

	n = probe_device(d, what);
	if (n < 0)
		return fail(OC_EXIT_IO, "See the kernel log for the device",
			    "cannot read %s (%s)", d->path, strerror(-n));
	if (!n)
		return 0;
	if (!force)
		return fail(OC_EXIT_REFUSED,
			    "Name another device, or give --force to erase it",
			    "%s is not empty (it holds %s)", d->path, what);
	return ask(yes, "Formatting erases %s: it holds %s", d->path, what);
}

int contents_check(const struct dev *d, bool force, bool yes)
{
	int code = check_old_cache(d, force, yes);

	return code ? code : check_other(d, force, yes);
}
