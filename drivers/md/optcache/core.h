/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One cache: the state that lives as long as the pair of devices is in use, handed
 * from table to table.
 *
 * Lock order (outer to inner):
 *	admin (mutex)		start, stop, option changes, messages
 *	super_lock (mutex)	the superblock and its buffer
 *	flushed_lock (mutex)	origin_state.flushed
 *	journal.lock		recorded state of the slots
 *	index stripe, range stripe, fresh.lock, buffer pool, defer_lock, flush_lock
 *	slots.free_lock
 */
#ifndef _OC_CORE_H
#define _OC_CORE_H

#include <optcache/format.h>
#include <optcache/index.h>
#include <optcache/options.h>
#include <optcache/order.h>
#include <optcache/policy.h>
#include <optcache/slots.h>
#include <optcache/stream.h>

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/kobject.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "journal.h"
#include "lost.h"
#include "range.h"
#include "stats.h"

struct mapped_device;
struct dm_target;

#define DM_MSG_PREFIX	"optcache"

enum oc_core_state {
	OC_CORE_NEW,		/* nothing read yet */
	OC_CORE_STOPPED,	/* metadata in memory and on the device agree; no I/O */
	OC_CORE_RUNNING,
};

/* What is wrong, as the status line says it; only ever gets worse. */
enum oc_health {
	OC_OK,
	OC_DEGRADED,		/* errors were met and contained */
	OC_FAILED,		/* the cache device cannot be trusted with new mappings */
};

/* Does the origin owe a flush?  writes counts completed origin writes. */
struct oc_origin {
	atomic64_t writes;	/* all of them: what FRESH and CLEAN have to wait for */
	atomic64_t user_writes;	/* without write-back's own: what a user's flush has to cover */
	u64 flushed;		/* value of writes that the last flush covered */
	u64 user_flushed;
	int user_error;		/* of a flush of users' writes that none of them has seen */
};

/* Clean slots mapped in memory only, until an origin flush lets the journal know them. */
struct oc_fresh_entry {
	oc_slot_t first;
	u32 nr;
	u64 gen;		/* may be recorded once origin.flushed >= gen */
};

#define OC_FRESH_MAX	1024

struct oc_fresh {
	spinlock_t lock;
	struct oc_fresh_entry ring[OC_FRESH_MAX];
	u32 head, tail;		/* free running */
	u32 reserved;		/* entries promised */
	u64 lost;		/* a flush of lower gens has failed: they are never recorded */
	struct work_struct work;
};

struct oc_buffer_pool;
struct oc_writeback;
struct oc_checkpoint;

struct oc_core {
	/* read by every I/O */
	struct oc_index index;
	struct block_device *cache;
	struct block_device *origin;
	sector_t data_sector;		/* of slot 0 on the cache device */
	struct oc_slots slots;
	struct oc_stats __percpu *stats;
	u32 mode;			/* options.value[OPTCACHE_OPT_MODE], READ_ONCE */
	u32 seq_cutoff;			/* sectors, 0 = none */
	enum oc_health health;
	bool stuck_dirty;	/* failed, and the device may hold what is newer than the origin */
	bool went_past;		/* failed, and a mapping that still stands was written past */
	bool ever_dirty;		/* some block has been dirty since activation */
	/*
	 * Hazard 19: until a user has written, nothing is written at all, so that an
	 * image resumed from hibernation finds the cache as it left it.
	 */
	bool armed;
	bool clean_stale;		/* the origin was changed: nothing clean is believed */
	bool keep_dirty;		/* ... but what is dirty wins over it; table word */
	blk_opf_t strip;		/* flags that must not reach the cache device */
	bool starved;			/* somebody waits for a pin, see oc_starve() */

	struct oc_ranges ranges;
	struct oc_journal journal;
	struct oc_origin origin_state;
	struct oc_policy policy;
	struct oc_streams streams;
	struct oc_fresh fresh;
	struct oc_lost lost;

	/*
	 * Each queue has one rescuer, so a work item may wait only for work of the
	 * queues after its own: wb_wq, bg_wq, wq, journal_wq.
	 */
	struct workqueue_struct *wb_wq;		/* write-back */
	struct workqueue_struct *bg_wq;		/* flushes, checkpoints, eviction */
	struct workqueue_struct *wq;		/* routing: never waits */
	struct workqueue_struct *journal_wq;	/* commits: wait for the device only */
	struct bio_set bs;		/* our own I/O */

	spinlock_t defer_lock;
	struct list_head deferred;	/* oc_io to be routed by defer_work */
	struct list_head starving;	/* oc_io that found all pins taken */
	struct list_head arming;	/* oc_io that must not go on before armed */
	struct work_struct arm_work;
	struct work_struct defer_work;

	spinlock_t flush_lock;
	struct list_head flushing;	/* oc_io of flush bios */
	bool flush_wanted;		/* the origin should be flushed for our own sake */
	u32 durable_writes;		/* new blocks to be written with INTENTs, see intent.c */
	struct work_struct flush_work;
	struct mutex flushed_lock;	/* origin_state.flushed */

	struct work_struct evict_work;
	u32 free_low, free_high;	/* evict below, up to */
	u32 run_wanted;			/* slots in a row that were not there, and are to be */
	oc_slot_t *victim;		/* evict_work's */
	struct delayed_work drop_work;
	u32 drop_next;			/* next slot of drop-clean */

	struct oc_buffer_pool *buffers;
	struct oc_checkpoint *checkpoint;
	struct oc_writeback *writeback;

	struct mutex super_lock;
	struct oc_super super;
	struct oc_super *super_next;	/* being written; super is what is on the device */
	unsigned int super_place;	/* of the last good copy */
	bool marked_failed;		/* that copy says so */
	struct work_struct save_work;
	struct work_struct event_work;
	struct page *super_page;	/* one copy, to be written */

	struct mutex admin;
	enum oc_core_state state;
	struct oc_options options;	/* what is in force; mask: set by table or user */
	struct mapped_device *md;
	struct dm_table *table;		/* the last one that took a reference; registry lock */
	struct dm_target *ti;		/* of the table in force */
	struct kobject *kobj;		/* optcache/ in the dm device's sysfs folder */

	bool stopping;			/* suspend is under way: no new background work */
	struct list_head registry;
	struct list_head loaded;	/* core.c: all whose metadata is in memory */
	dev_t cache_devt, origin_devt;
	unsigned int users;		/* tables; registry lock */
	sector_t origin_sectors;
};

/* ---- core.c: life cycle ---- */

/*
 * Find or make the core of a pair of devices.  Refuses (-EBUSY, @why) when one of
 * the devices belongs to a cache under another dm device.  Sleeps.
 */
struct oc_core *oc_core_get(struct dm_target *ti, struct block_device *cache,
			    struct block_device *origin, char why[OC_WHY_MAX]);
void oc_core_put(struct oc_core *core, const struct dm_table *table);
/* Do the devices go with @geo?  Return: 0 or -EINVAL, and the log says why. */
int oc_core_check_sizes(const struct oc_core *core, const struct oc_geometry *geo,
			struct block_device *cache, sector_t origin_sectors);
void oc_core_forget_all(void);		/* module exit: which caches must not come back */

/*
 * Read the metadata (first time) and let I/O in.  @table: options of the table line,
 * they win over saved ones.  Return: 0 or -errno, logged.  Sleeps.
 */
int oc_core_resume(struct oc_core *core, const struct oc_options *table);
/* No user I/O is left: settle everything on the devices.  */
void oc_core_suspend(struct oc_core *core);
/*
 * Suspended, and nobody has taken over the devices: leave a fingerprint of the origin, if
 * anything was written at all.  Sleeps.
 */
void oc_core_seal(struct oc_core *core);

/*
 * The first time that a user wants something to change: from now on the devices may be
 * written, which the superblock knows first.  Sleeps.
 */
void oc_core_arm(struct oc_core *core);

/* The journal has failed: nothing new can be mapped, or durably unmapped. */
static inline bool oc_failed(const struct oc_core *core)
{
	return READ_ONCE(core->journal.failed);
}

/* New options, checked by the caller, go into force.  admin held. */
void oc_core_apply(struct oc_core *core, const struct oc_options *opt);

/* Write the options to the superblock soon.  Does not wait. */
void oc_core_save(struct oc_core *core);

/* Tell user space that something is worth a look (dm event).  Any context. */
void oc_core_event(struct oc_core *core);

/* Bytes allocated beside slots and index: pools, buffers, per-CPU data, the core itself. */
size_t oc_core_memory(struct oc_core *core);

/* Remember trouble; never gets better again before the next activation. */
void oc_core_degrade(struct oc_core *core, enum oc_health health, const char *what);

/* ---- superblock.c: all sleep ---- */
int oc_sync_page_io(struct block_device *bdev, blk_opf_t opf, u64 offset, struct page *page,
		    unsigned int start, unsigned int bytes);	/* @start: in the page */
int oc_super_load(struct block_device *cache, struct oc_super *sb, unsigned int *place,
		  const char **why);
/* Makes the epoch (and whatever else changed) durable. */
int oc_super_write(struct oc_core *core);
int oc_super_set_tail(struct oc_core *core, u64 lsn, u64 offset, bool clean_stop);
int oc_super_seal(struct oc_core *core);	/* with a fingerprint; admin held, stopped */
void oc_super_save_work(struct work_struct *work);
/* The options saved in @sb. */
void oc_super_options(const struct oc_super *sb, struct oc_options *opt);

/* ---- fingerprint.c: all sleep ---- */
void oc_fingerprint_take(struct oc_core *core, struct oc_super *sb);
/*
 * Slots are loaded: sets clean_stale if the origin was changed.  Return: 0; -EUCLEAN: it was,
 * there are dirty blocks, and nobody has said that they win; logged.
 */
int oc_fingerprint_check(struct oc_core *core);

/* ---- recovery.c ---- */
int oc_recover(struct oc_core *core);	/* slots, index, checkpoint, journal position; sleeps */

/* ---- format.c of the shell: format_dev.c ---- */
int oc_format(struct block_device *cache, struct block_device *origin, const char **why);

/* ---- checkpoint.c ---- */
int oc_checkpoint_init(struct oc_core *core);
void oc_checkpoint_exit(struct oc_core *core);
/* Room in the journal is getting short.  Any context. */
void oc_checkpoint_kick(struct oc_core *core);
/* Write every dirty page, move the tail.  Return: 0 or -errno, the journal has failed.  Sleeps. */
int oc_checkpoint_run(struct oc_core *core, bool clean_stop);
/* The slot's page is behind the journal.  Any context. */
void oc_checkpoint_dirty(struct oc_core *core, oc_slot_t slot);
void oc_checkpoint_loaded(struct oc_core *core, u32 page, u64 seq, unsigned int place,
			  bool behind);
/* core->stopping is set: none runs and none will.  Sleeps. */
void oc_checkpoint_stop(struct oc_core *core);
size_t oc_checkpoint_bytes(const struct oc_core *core);
size_t oc_checkpoint_slot_bytes(const struct oc_core *core);	/* that grow with the slots */

/* ---- evict.c ---- */
#define OC_EVICT_BATCH	256
void oc_evict_work(struct work_struct *work);
void oc_evict_all(struct oc_core *core);	/* drop everything clean; returns at once */
void oc_drop_work(struct work_struct *work);
/* clean_stale: the same before the first I/O.  Return: 0, or -errno when the journal has failed. */
int oc_evict_stale(struct oc_core *core);
static inline void oc_evict_kick(struct oc_core *core)
{
	if (oc_slots_nr_free(&core->slots) < core->free_low && READ_ONCE(core->armed) &&
	    !READ_ONCE(core->stopping))
		queue_work(core->bg_wq, &core->evict_work);
}

/* There are free slots, but not @nr in a row: make some more, neighbours.  Any context. */
static inline void oc_evict_for_run(struct oc_core *core, u32 nr)
{
	WRITE_ONCE(core->run_wanted, nr);
	if (READ_ONCE(core->armed) && !READ_ONCE(core->stopping))
		queue_work(core->bg_wq, &core->evict_work);
}

/* ---- flush.c ---- */
void oc_flush_work(struct work_struct *work);
void oc_origin_flush_kick(struct oc_core *core);
int oc_origin_flush(struct oc_core *core);	/* sleeps */
static inline void oc_origin_wrote(struct oc_core *core)
{
	atomic64_inc(&core->origin_state.user_writes);
	atomic64_inc(&core->origin_state.writes);
}

/* ---- fresh.c ---- */
void oc_fresh_init(struct oc_core *core);
/* Installed FRESH slots, in the index; the ring records or frees them later. */
/* Room for one entry, before the slots are written.  Any context. */
bool oc_fresh_reserve(struct oc_core *core);
void oc_fresh_hurry(struct oc_core *core);	/* flush or record, so that some leave */
void oc_fresh_unreserve(struct oc_core *core);
void oc_fresh_add(struct oc_core *core, oc_slot_t first, u32 nr, u64 gen);
void oc_fresh_settle(struct oc_core *core);	/* origin was flushed, or there is room */
/* A flush of the origin has failed that was to cover its writes up to @gen. */
void oc_fresh_lost(struct oc_core *core, u64 gen);
bool oc_fresh_waiting(struct oc_core *core);	/* some are not recorded yet */

/* ---- writeback.c ---- */
int oc_writeback_init(struct oc_core *core);
void oc_writeback_exit(struct oc_core *core);
void oc_writeback_start(struct oc_core *core);
void oc_writeback_stop(struct oc_core *core);
/* Something became dirty: look at it after the delay.  Any context. */
void oc_writeback_kick(struct oc_core *core);
/* Nothing but dirty blocks is left, and room is needed: look at once. */
void oc_writeback_hurry(struct oc_core *core);
/* Options have changed: at once what must be, the rest after the new delay. */
void oc_writeback_rules(struct oc_core *core);
void oc_writeback_flush(struct oc_core *core);	/* write everything back, once armed; any context */
void oc_writeback_cancel(struct oc_core *core);
/*
 * Is a flush under way?  @left: dirty blocks, or after its end those that the last flush
 * could not bring to the origin.
 */
bool oc_writeback_flushing(struct oc_core *core, u64 *left);
size_t oc_writeback_bytes(const struct oc_core *core);

#endif /* _OC_CORE_H */
