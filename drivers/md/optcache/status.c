// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lines of `dmsetup status` and `dmsetup table`:
 *
 *	status	<OPTCACHE_STATUS_VERSION> mode=<mode> <field>=... <counter>=... <option>=...
 *	table	<cache dev> <origin dev> <#args> [<key> <value>]...
 */
#include "core.h"
#include "status.h"

/* ---- fields ---------------------------------------------------------- */

static const char *state(struct oc_core *core)
{
	static const char *const name[] = {
		[OC_CORE_NEW] = "new",
		[OC_CORE_STOPPED] = "stopped",
		[OC_CORE_RUNNING] = "running",
	};

	return name[READ_ONCE(core->state)];
}

static const char *health(struct oc_core *core)
{
	static const char *const name[] = {
		[OC_OK] = "ok",
		[OC_DEGRADED] = "degraded",
		[OC_FAILED] = "failed",
	};

	return name[READ_ONCE(core->health)];
}

static u64 slots(struct oc_core *core)
{
	return core->slots.nr;
}

static u64 slot_size(struct oc_core *core)
{
	return core->super.geo.slot_size;
}

static u64 nr_free(struct oc_core *core)
{
	return oc_slots_nr_free(&core->slots);
}

static u64 mapped(struct oc_core *core)
{
	return atomic64_read(&core->slots.nr_mapped);
}

static u64 dirty(struct oc_core *core)
{
	return atomic64_read(&core->slots.nr_dirty);
}

static u64 fresh(struct oc_core *core)
{
	const u32 tail = READ_ONCE(core->fresh.tail);

	smp_rmb(); /* head does not lag behind */
	return READ_ONCE(core->fresh.head) - tail;
}

/* A start that fails takes down what it has made: look at that only when it stays. */
static bool loaded(const struct oc_core *core)
{
	/* pairs with oc_core_resume() */
	return smp_load_acquire(&core->state) != OC_CORE_NEW;
}

static u64 memory(struct oc_core *core)
{
	return loaded(core) ?
	       core->slots.bytes + core->index.bytes + oc_core_memory(core) : 0;
}

/* The part of it that grows with the slots. */
static u64 slot_memory(struct oc_core *core)
{
	return loaded(core) ?
	       core->slots.bytes + core->index.bytes + oc_checkpoint_slot_bytes(core) : 0;
}

static u64 lost(struct oc_core *core)
{
	return oc_lost_count(core);
}

static u64 journal_used(struct oc_core *core)
{
	return READ_ONCE(core->journal.used);
}

static u64 journal_size(struct oc_core *core)
{
	return core->journal.size;
}

static bool flushing(struct oc_core *core, u64 *left)
{
	*left = 0;
	return loaded(core) && oc_writeback_flushing(core, left);
}

static const char *flush(struct oc_core *core)
{
	u64 left;

	return flushing(core, &left) ? "running" : "idle";
}

static u64 flush_left(struct oc_core *core)
{
	u64 left;

	flushing(core, &left);
	return left;
}

const struct oc_field oc_field[OC_NR_FIELDS] = {
	{ .key = "state", .word = state },
	{ .key = "health", .word = health },
	{ .key = "slots", .number = slots },
	{ .key = "slot_size", .number = slot_size },		/* bytes */
	{ .key = "free", .number = nr_free },			/* slots, as the next two */
	{ .key = "mapped", .number = mapped },
	{ .key = "dirty", .number = dirty },
	{ .key = "fresh", .number = fresh },			/* runs of slots not yet recorded */
	{ .key = "memory", .number = memory },			/* bytes */
	{ .key = "slot_memory", .number = slot_memory },	/* bytes, of memory */
	{ .key = "lost", .number = lost },			/* dirty, not readable */
	{ .key = "journal_used", .number = journal_used },	/* bytes */
	{ .key = "journal_size", .number = journal_size },	/* bytes */
	{ .key = "flush", .word = flush },
	{ .key = "flush_left", .number = flush_left },		/* blocks */
};

/* ---- options --------------------------------------------------------- */

void oc_options_read(struct oc_core *core, struct oc_options *o)
{
	unsigned int i;

	o->mask = READ_ONCE(core->options.mask);
	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++)
		o->value[i] = READ_ONCE(core->options.value[i]);
}

/* ---- lines ----------------------------------------------------------- */

#define OPTION_TEXT_MAX	24

static void emit_status(struct oc_core *core, char *result, unsigned int maxlen)
{
	struct oc_options o;
	char text[OPTION_TEXT_MAX];
	unsigned int sz = 0;
	unsigned int i;

	oc_options_read(core, &o);
	DMEMIT("%u mode=%s", OPTCACHE_STATUS_VERSION,
	       oc_option_text(&o, OPTCACHE_OPT_MODE, text, sizeof(text)));
	for (i = 0; i < OC_NR_FIELDS; i++) {
		const struct oc_field *f = &oc_field[i];

		if (f->word)
			DMEMIT(" %s=%s", f->key, f->word(core));
		else
			DMEMIT(" %s=%llu", f->key, f->number(core));
	}
	for (i = 0; i < OC_NR_COUNTERS; i++)
		DMEMIT(" %s=%llu", oc_counter_name(i), oc_stat_sum(core, i));
	for (i = OPTCACHE_OPT_MODE + 1; i < OPTCACHE_NR_OPTIONS; i++)
		DMEMIT(" %s=%s", oc_option_desc[i].key, oc_option_text(&o, i, text, sizeof(text)));
}

/* Only what was set: the rest may come from the superblock again. */
static void emit_table(struct oc_core *core, const struct oc_options *line, char *result,
		       unsigned int maxlen)
{
	struct oc_options o;
	char text[OPTION_TEXT_MAX];
	unsigned int sz = 0;
	unsigned int i;

	oc_options_read(core, &o);
	oc_options_merge(&o, line);
	DMEMIT("%u:%u %u:%u %u", MAJOR(core->cache_devt), MINOR(core->cache_devt),
	       MAJOR(core->origin_devt), MINOR(core->origin_devt), 2 * hweight32(o.mask));
	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++)
		if (o.mask & 1U << i)
			DMEMIT(" %s %s", oc_option_desc[i].key,
			       oc_option_text(&o, i, text, sizeof(text)));
}

/* What integrity measurement records at load: no counters, nothing that changes. */
static void emit_ima(struct oc_core *core, struct dm_target *ti, const struct oc_options *line,
		     char *result, unsigned int maxlen)
{
	struct oc_options o;
	char text[OPTION_TEXT_MAX];
	unsigned int sz = 0;
	unsigned int i;

	if (loaded(core))
		oc_options_read(core, &o);
	else
		oc_options_default(&o);
	oc_options_merge(&o, line);
	DMEMIT_TARGET_NAME_VERSION(ti->type);
	DMEMIT(",cache_device=%u:%u,origin_device=%u:%u", MAJOR(core->cache_devt),
	       MINOR(core->cache_devt), MAJOR(core->origin_devt), MINOR(core->origin_devt));
	for (i = 0; i < OPTCACHE_NR_OPTIONS; i++)
		DMEMIT(",%s=%s", oc_option_desc[i].key, oc_option_text(&o, i, text, sizeof(text)));
	DMEMIT(";");
}

void oc_status(struct oc_core *core, struct dm_target *ti, const struct oc_options *line,
	       status_type_t type, char *result, unsigned int maxlen)
{
	switch (type) {
	case STATUSTYPE_INFO:
		emit_status(core, result, maxlen);
		break;
	case STATUSTYPE_TABLE:
		emit_table(core, line, result, maxlen);
		break;
	case STATUSTYPE_IMA:
		emit_ima(core, ti, line, result, maxlen);
		break;
	}
}
