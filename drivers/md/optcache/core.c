// SPDX-License-Identifier: GPL-2.0-only
/*
 * Life of a core: made by the first table that names a pair of devices, handed to the
 * next table on reload, gone with the last.
 *
 *	NEW -resume-> RUNNING -suspend-> STOPPED -resume-> RUNNING ...
 *
 * Metadata is read at the first resume and not in the constructor: only then is it
 * sure that no other table of this device still works on it.  A stop
 * leaves memory and devices in agreement; a later start of the same core only checks that
 * nobody has written the superblock since.
 *
 * registry_lock (mutex) protects the registry and core->users; admin of a core is
 * taken inside it.
 */
#include "buffer.h"
#include "compat.h"
#include "io.h"
#include "sysfs.h"

#include <linux/device-mapper.h>

#define OC_OWN_BIOS	8	/* for our own I/O, held ready */

static LIST_HEAD(registry);
static DEFINE_MUTEX(registry_lock);

/* ---- the registry ---------------------------------------------------- */

static bool uses(const struct oc_core *core, dev_t dev)
{
	return core->cache_devt == dev || core->origin_devt == dev;
}

static void free_workqueues(struct oc_core *core)
{
	struct workqueue_struct *wq[] = {
		core->wb_wq, core->bg_wq, core->wq, core->journal_wq
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wq); i++)
		if (wq[i])
			destroy_workqueue(wq[i]);
}

static int alloc_workqueues(struct oc_core *core)
{
	/*
	 * Freezable: what is called clean on the device after the image of a hibernation was
	 * taken would be dirty, and written, in the memory that comes back from it.
	 */
	core->wb_wq = alloc_workqueue("optcache_wb",
				      WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_FREEZABLE, 0);
	core->bg_wq = alloc_workqueue("optcache_bg", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	core->wq = alloc_workqueue("optcache", WQ_MEM_RECLAIM | WQ_HIGHPRI | OC_WQ_PERCPU, 0);
	core->journal_wq = alloc_workqueue("optcache_journal",
					   WQ_MEM_RECLAIM | WQ_HIGHPRI | OC_WQ_PERCPU, 0);
	return core->wb_wq && core->bg_wq && core->wq && core->journal_wq ? 0 : -ENOMEM;
}

static void core_free(struct oc_core *core)
{
	free_workqueues(core);
	oc_journal_exit(&core->journal);
	bioset_exit(&core->bs);
	free_percpu(core->stats);
	if (core->super_page)
		__free_page(core->super_page);
	kfree(core->super_next);
	kfree(core);
}

static void event_work(struct work_struct *work)
{
	dm_table_event(container_of(work, struct oc_core, event_work)->ti->table);
}

static void arm_work(struct work_struct *work)
{
	oc_core_arm(container_of(work, struct oc_core, arm_work));
}

static void init_locks(struct oc_core *core)
{
	mutex_init(&core->admin);
	mutex_init(&core->super_lock);
	mutex_init(&core->flushed_lock);
	spin_lock_init(&core->flush_lock);
	INIT_LIST_HEAD(&core->flushing);
	INIT_WORK(&core->flush_work, oc_flush_work);
	INIT_WORK(&core->evict_work, oc_evict_work);
	INIT_WORK(&core->save_work, oc_super_save_work);
	INIT_WORK(&core->event_work, event_work);
	INIT_WORK(&core->arm_work, arm_work);
	oc_lost_init(&core->lost);
	INIT_DELAYED_WORK(&core->drop_work, oc_drop_work);
	oc_ranges_init(&core->ranges);
	oc_streams_init(&core->streams);
	oc_fresh_init(core);
	oc_defer_init(core);
}

static struct oc_core *core_alloc(void)
{
	struct oc_core *core = kzalloc(sizeof(*core), GFP_KERNEL);

	if (!core)
		return NULL;
	init_locks(core);
	core->stats = alloc_percpu(struct oc_stats);
	core->super_page = alloc_page(GFP_KERNEL);
	core->super_next = kzalloc(sizeof(*core->super_next), GFP_KERNEL);
	if (oc_journal_init(&core->journal, core) || !core->stats || !core->super_page ||
	    !core->super_next || alloc_workqueues(core) ||
	    bioset_init(&core->bs, OC_OWN_BIOS, 0, BIOSET_NEED_BVECS)) {
		core_free(core);
		return NULL;
	}
	return core;
}

struct oc_core *oc_core_get(struct dm_target *ti, struct block_device *cache,
			    struct block_device *origin, char why[OC_WHY_MAX])
{
	struct mapped_device *md = dm_table_get_md(ti->table);
	struct oc_core *core;

	mutex_lock(&registry_lock);
	list_for_each_entry(core, &registry, registry) {
		if (core->md == md && core->table == ti->table) {
			snprintf(why, OC_WHY_MAX,
				 "one optcache target is all that a table may have: stack a linear table on two devices instead");
			core = ERR_PTR(-EINVAL);
			goto out;
		}
		if (!uses(core, cache->bd_dev) && !uses(core, origin->bd_dev))
			continue;
		if (core->md == md && core->cache_devt == cache->bd_dev &&
		    core->origin_devt == origin->bd_dev) {
			core->users++;
			core->table = ti->table;
			goto out;
		}
		snprintf(why, OC_WHY_MAX,
			 "a device is already part of the cache under %s: detach that one first",
			 dm_device_name(core->md));
		core = ERR_PTR(-EBUSY);
		goto out;
	}
	core = core_alloc();
	if (!core) {
		snprintf(why, OC_WHY_MAX, "out of memory");
		core = ERR_PTR(-ENOMEM);
		goto out;
	}
	core->users = 1;
	INIT_LIST_HEAD(&core->loaded);
	core->md = md;
	core->table = ti->table;
	core->cache_devt = cache->bd_dev;
	core->origin_devt = origin->bd_dev;
	list_add(&core->registry, &registry);
out:
	mutex_unlock(&registry_lock);
	return core;
}

static void core_stop(struct oc_core *core);
static void core_unload(struct oc_core *core);

void oc_core_put(struct oc_core *core, const struct dm_table *table)
{
	mutex_lock(&registry_lock);
	if (core->table == table)
		core->table = NULL;	/* the next one may come at the same address */
	if (--core->users) {
		mutex_unlock(&registry_lock);
		return;
	}
	/* normally stopped long ago; the lock keeps a new core of the pair out till it is */
	oc_sysfs_remove(core);
	oc_core_suspend(core);
	core_unload(core);
	list_del(&core->registry);
	mutex_unlock(&registry_lock);
	core_free(core);
}

/* ---- starting -------------------------------------------------------- */

static LIST_HEAD(loaded);
static DEFINE_SPINLOCK(loaded_lock);	/* the list, and the UUIDs of those on it */

/*
 * A cache whose device went away before it could be marked: the origin was written
 * past its mappings.  As long as this module lives such a cache is not taken back.
 */
struct distrusted {
	struct list_head list;
	u8 uuid[OPTCACHE_UUID_SIZE];
};

static LIST_HEAD(distrusted);		/* loaded_lock */

static void distrust(const struct oc_core *core)
{
	struct distrusted *d = kmalloc(sizeof(*d), GFP_KERNEL);

	if (!d) {
		DMERR("%s: out of memory: do not use this cache again before formatting it",
		      dm_device_name(core->md));
		return;
	}
	memcpy(d->uuid, core->super.uuid, sizeof(d->uuid));
	spin_lock(&loaded_lock);
	list_add(&d->list, &distrusted);
	spin_unlock(&loaded_lock);
}

void oc_core_forget_all(void)
{
	struct distrusted *d, *next;

	list_for_each_entry_safe(d, next, &distrusted, list)
		kfree(d);
}

/* No two cores may work on the same cache, under whatever device names. */
static int check_clone(struct oc_core *core)
{
	const char *why = NULL;
	const struct distrusted *d;
	const struct oc_core *other;

	spin_lock(&loaded_lock);
	list_for_each_entry(other, &loaded, loaded)
		if (!memcmp(other->super.uuid, core->super.uuid, sizeof(core->super.uuid)))
			why = "this cache is active already under another device: remove the clone";
	list_for_each_entry(d, &distrusted, list)
		if (!memcmp(d->uuid, core->super.uuid, sizeof(d->uuid)))
			why = "this cache missed writes to its origin: format it anew";
	if (!why)
		list_add(&core->loaded, &loaded);
	spin_unlock(&loaded_lock);
	if (why)
		DMERR("%s: %s", dm_device_name(core->md), why);
	return why ? -ESTALE : 0;
}

int oc_core_check_sizes(const struct oc_core *core, const struct oc_geometry *geo,
			struct block_device *cache, sector_t origin_sectors)
{
	if (geo->journal_unit < bdev_logical_block_size(cache)) {
		DMERR("%s: this cache was made on a device with %u-byte sectors, not %u: copy it back",
		      dm_device_name(core->md), geo->journal_unit,
		      bdev_logical_block_size(cache));
		return -EINVAL;
	}
	if (geo->origin_sectors != origin_sectors) {
		DMERR("%s: this cache was made for an origin of %llu sectors, not %llu: check the device names, and whether the origin was resized",
		      dm_device_name(core->md), geo->origin_sectors,
		      (unsigned long long)origin_sectors);
		return -EINVAL;
	}
	if (geo->cache_sectors > bdev_nr_sectors(cache)) {
		DMERR("%s: the cache device has shrunk from %llu to %llu sectors: give it back its size",
		      dm_device_name(core->md), geo->cache_sectors,
		      (unsigned long long)bdev_nr_sectors(cache));
		return -EINVAL;
	}
	return 0;
}

static int check_pair(struct oc_core *core, const struct oc_super *sb)
{
	int r = oc_core_check_sizes(core, &sb->geo, core->cache, core->origin_sectors);

	if (r)
		return r;
	if (sb->flags & OPTCACHE_SUPER_FAILED) {
		DMERR("%s: this cache has failed and its origin may have been written since: run optcachectl check, then format it anew",
		      dm_device_name(core->md));
		return -EINVAL;
	}
	return 0;
}

/* Options of a table line win over those in force, if together they make sense. */
static int merge_table(struct oc_core *core, const struct oc_options *table)
{
	struct oc_options opt = core->options;
	char why[OC_WHY_MAX];
	int r;

	oc_options_merge(&opt, table);
	r = oc_options_check(&opt, why);
	if (r)
		DMERR("%s: the table line does not go with the saved options: %s",
		      dm_device_name(core->md), why);
	else
		core->options = opt;
	return r;
}

/* Saved options count unless they are senseless; then the defaults do. */
static void take_saved(struct oc_core *core)
{
	struct oc_options saved;
	char why[OC_WHY_MAX];

	oc_options_default(&core->options);
	oc_super_options(&core->super, &saved);
	oc_options_merge(&core->options, &saved);
	if (oc_options_check(&core->options, why)) {
		DMWARN("%s: saved options are ignored: %s", dm_device_name(core->md), why);
		oc_options_default(&core->options);
	}
}

static void set_pool(struct oc_core *core)
{
	u32 nr = core->slots.nr;

	core->free_low = clamp_t(u32, nr / 64, 16, 4096);
	core->free_high = clamp_t(u32, nr / 32, 32, 8192);
}

static int core_load(struct oc_core *core, const struct oc_options *table)
{
	const char *why;
	int r;

	r = oc_super_load(core->cache, &core->super, &core->super_place, &why);
	if (r) {
		DMERR("%s: %s", dm_device_name(core->md), why);
		return r;
	}
	r = check_pair(core, &core->super);
	if (!r)
		r = check_clone(core);
	if (r)
		return r;
	core->data_sector = core->super.geo.data_start >> SECTOR_SHIFT;
	core->health = OC_OK;
	take_saved(core);
	r = merge_table(core, table);
	if (!r)
		r = oc_slots_init(&core->slots, core->super.geo.nr_slots);
	if (!r)
		r = oc_index_init(&core->index, &core->slots);
	if (!r)
		r = oc_recover(core);
	if (!r)
		r = oc_fingerprint_check(core);
	if (!r)
		r = oc_buffers_init(core);
	if (!r)
		r = oc_writeback_init(core);
	core->victim = kvcalloc(OC_EVICT_BATCH, sizeof(*core->victim), GFP_KERNEL);
	if (!r && !core->victim)
		r = -ENOMEM;
	if (r)
		return r;
	/* an INTENT that replay rejected would count again if its UNMAP were lost */
	core->ever_dirty = atomic64_read(&core->slots.nr_dirty) ||
			   !oc_journal_settled(&core->journal);
	core->stuck_dirty = false;
	/* the first time ever there can be no older image of it anywhere */
	core->armed = !core->super.generation;
	oc_policy_init(&core->policy, &core->slots);
	set_pool(core);
	return 0;
}

/* What a crash without power loss left in the devices' caches becomes durable now. */
static int flush_devices(struct oc_core *core)
{
	const char *which = "cache device";
	int r = blkdev_issue_flush(core->cache);

	if (!r) {
		which = "origin";
		r = blkdev_issue_flush(core->origin);
	}
	if (r)
		DMERR("%s: the %s cannot be flushed (error %d): check its cable and its SMART data",
		      dm_device_name(core->md), which, r);
	return r;
}

/* Is the superblock of a stopped core still the one it wrote? */
static int core_check_super(struct oc_core *core)
{
	struct oc_super *sb = core->super_next;
	const char *why;
	int r;

	r = oc_super_load(core->cache, sb, NULL, &why);
	if (r && oc_failed(core))
		return 0;	/* a dead device; what still can be is passed on */
	/* a write that was told to have failed may have landed */
	if (!r && oc_failed(core) && sb->seq == core->super.seq + 1)
		sb->seq--;
	if (!r && (sb->seq != core->super.seq ||
		   memcmp(sb->uuid, core->super.uuid, sizeof(sb->uuid)))) {
		why = "the cache device was written meanwhile: remove and create it again";
		r = -ESTALE;
	}
	if (r)
		DMERR("%s: %s", dm_device_name(core->md), why);
	return r;
}

/* The same core starts again. */
static int core_check(struct oc_core *core)
{
	int r;

	/* a device may have been resized since its table was loaded */
	r = oc_core_check_sizes(core, &core->super.geo, core->cache, core->origin_sectors);
	if (!r)
		r = core_check_super(core);
	if (r)
		return r;
	core->journal.epoch = core->super.epoch + 1;
	core->journal.epoch_durable = false;
	return 0;
}

int oc_core_resume(struct oc_core *core, const struct oc_options *table)
{
	struct oc_options opt;
	int r = 0;

	mutex_lock(&core->admin);
	if (core->state == OC_CORE_RUNNING)
		goto out;
	core->strip = REQ_POLLED | (bdev_nowait(core->cache) ? 0 : REQ_NOWAIT);
	if (core->state == OC_CORE_NEW) {
		r = flush_devices(core);
		if (!r)
			r = core_load(core, table);
		if (r)
			core_unload(core);
	} else {
		r = core_check(core);
		if (!r)
			r = merge_table(core, table);
	}
	if (r)
		goto out;
	opt = core->options;
	core->stopping = false;
	smp_store_release(&core->state, OC_CORE_RUNNING);	/* status looks at what is loaded */
	oc_core_apply(core, &opt);
	oc_writeback_start(core);
	if (core->clean_stale) {
		r = oc_evict_stale(core);
		if (r) {
			core_stop(core);
			core_unload(core);
			goto out;
		}
	}
	oc_evict_kick(core);
out:
	mutex_unlock(&core->admin);
	return r;
}

/* ---- stopping -------------------------------------------------------- */

void oc_core_seal(struct oc_core *core)
{
	struct oc_origin *o = &core->origin_state;

	mutex_lock(&core->admin);
	if (core->state == OC_CORE_STOPPED && core->armed && !oc_failed(core) &&
	    atomic64_read(&o->writes) == o->flushed && !core_check_super(core)) {
		/* who starts it again takes the samples away again */
		WRITE_ONCE(core->armed, false);
		oc_super_seal(core);
	}
	mutex_unlock(&core->admin);
}

/* FRESH slots become LIVE as far as the journal has room; a checkpoint makes more. */
static void settle_fresh(struct oc_core *core)
{
	while (!core->journal.failed && oc_fresh_waiting(core)) {
		if (oc_origin_flush(core))
			return;
		flush_work(&core->fresh.work);
		if (oc_fresh_waiting(core) && oc_checkpoint_run(core, false))
			return;
	}
}

static void core_stop(struct oc_core *core)
{
	/* first those who start others, so that nobody comes back */
	WRITE_ONCE(core->stopping, true);
	cancel_work_sync(&core->arm_work);
	oc_buffers_drain(core);
	cancel_delayed_work_sync(&core->drop_work);
	cancel_work_sync(&core->evict_work);
	oc_writeback_stop(core);
	flush_work(&core->flush_work);
	oc_checkpoint_stop(core);

	if (core->armed && !oc_failed(core)) {
		settle_fresh(core);
		if (atomic64_read(&core->origin_state.writes) != core->origin_state.flushed)
			oc_origin_flush(core);
		flush_work(&core->fresh.work);
		oc_journal_sync(&core->journal);
		oc_checkpoint_stop(core);
		oc_checkpoint_run(core, true);
	}
	cancel_work_sync(&core->fresh.work);
	oc_journal_idle(&core->journal);
	oc_checkpoint_stop(core);
	/* after a failure it is what warns the next start; if it is what fails, it comes twice */
	do {
		flush_work(&core->save_work);
	} while (work_pending(&core->save_work));
	cancel_work_sync(&core->evict_work);
	oc_writeback_stop(core);
	cancel_work_sync(&core->event_work);
	core->state = OC_CORE_STOPPED;
}

void oc_core_suspend(struct oc_core *core)
{
	mutex_lock(&core->admin);
	if (core->state == OC_CORE_RUNNING)
		core_stop(core);
	mutex_unlock(&core->admin);
}

static void core_unload(struct oc_core *core)
{
	if (core->went_past && !core->marked_failed)
		distrust(core);
	cancel_work_sync(&core->arm_work);
	cancel_work_sync(&core->save_work);
	cancel_work_sync(&core->evict_work);
	cancel_delayed_work_sync(&core->drop_work);
	cancel_work_sync(&core->event_work);
	oc_writeback_exit(core);
	oc_buffers_exit(core);
	cancel_work_sync(&core->fresh.work);
	cancel_work_sync(&core->flush_work);
	cancel_work_sync(&core->defer_work);
	oc_checkpoint_exit(core);
	oc_journal_stop(&core->journal);
	oc_index_exit(&core->index);
	oc_slots_exit(&core->slots);
	kvfree(core->victim);
	core->victim = NULL;
	spin_lock(&loaded_lock);
	list_del_init(&core->loaded);
	spin_unlock(&loaded_lock);
	core->marked_failed = false;
	core->went_past = false;
	core->state = OC_CORE_NEW;
}

/* ---- running --------------------------------------------------------- */

void oc_core_apply(struct oc_core *core, const struct oc_options *opt)
{
	lockdep_assert_held(&core->admin);
	core->options = *opt;
	WRITE_ONCE(core->mode, opt->value[OPTCACHE_OPT_MODE]);
	WRITE_ONCE(core->seq_cutoff, opt->value[OPTCACHE_OPT_SEQ_CUTOFF] * (SZ_1K >> SECTOR_SHIFT));
	if (core->state == OC_CORE_RUNNING)
		oc_writeback_rules(core);
}

void oc_core_save(struct oc_core *core)
{
	/* unarmed, they go out with the first write */
	if (core->state == OC_CORE_RUNNING && core->armed && !oc_failed(core))
		queue_work(core->bg_wq, &core->save_work);
}

void oc_core_arm(struct oc_core *core)
{
	/* samples must be gone, from both places, before anything can change the origin */
	if ((!core->journal.epoch_durable || core->clean_stale) && oc_super_write(core) &&
	    core->stuck_dirty) {
		oc_refuse_armed(core);
		return;
	}
	oc_let_armed(core);
	oc_evict_kick(core);
	if (atomic64_read(&core->slots.nr_dirty))
		oc_writeback_kick(core);
}

void oc_core_event(struct oc_core *core)
{
	queue_work(core->bg_wq, &core->event_work);
}

static const char *const health_name[] = { "ok", "degraded", "failed" };

/* Return: it was better before. */
static bool worsen(struct oc_core *core, enum oc_health health)
{
	enum oc_health old = READ_ONCE(core->health);

	while (health > old)
		if (try_cmpxchg(&core->health, &old, health))
			return true;
	return false;
}

void oc_core_degrade(struct oc_core *core, enum oc_health health, const char *what)
{
	if (worsen(core, health)) {
		oc_core_event(core);
		DMERR("%s: %s: the cache is now %s; see optcachectl status",
		      dm_device_name(core->md), what, health_name[health]);
	} else {
		DMERR_LIMIT("%s: %s", dm_device_name(core->md), what);
	}
}

size_t oc_core_memory(struct oc_core *core)
{
	return sizeof(*core) + num_possible_cpus() * sizeof(struct oc_stats) +
	       OC_OWN_BIOS * (sizeof(struct bio) + BIO_MAX_VECS * sizeof(struct bio_vec)) +
	       OC_EVICT_BATCH * sizeof(*core->victim) + oc_journal_bytes(&core->journal) +
	       oc_checkpoint_bytes(core) + oc_buffers_bytes(core) + oc_writeback_bytes(core);
}
