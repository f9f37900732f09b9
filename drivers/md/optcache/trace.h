/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints: one at every decision, /sys/kernel/tracing/events/optcache/.
 * dev is the dm device; sectors count 512 bytes and are relative to the target.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM optcache

#if !defined(_OC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _OC_TRACE_H

#include <linux/device-mapper.h>
#include <linux/tracepoint.h>

#include "io.h"

/* ---- a bio ----------------------------------------------------------- */

DECLARE_EVENT_CLASS(optcache_io,
	TP_PROTO(struct oc_io *io),
	TP_ARGS(io),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, sector)
		__field(u32, sectors)
		__field(bool, write)
	),
	TP_fast_assign(
		__entry->dev = disk_devt(dm_disk(io->core->md));
		__entry->sector = io->bio->bi_iter.bi_sector;
		__entry->sectors = bio_sectors(io->bio);
		__entry->write = oc_io_is_write(io);
	),
	TP_printk("%d:%d %c %llu + %u", MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->write ? 'W' : 'R', __entry->sector, __entry->sectors)
);

/* A read that the origin answers, to be kept. */
DEFINE_EVENT(optcache_io, optcache_miss, TP_PROTO(struct oc_io *io), TP_ARGS(io));

/* Parked, or for another reason on its way through the worker. */
DEFINE_EVENT(optcache_io, optcache_defer, TP_PROTO(struct oc_io *io), TP_ARGS(io));

/* A flush that a user waits for. */
DEFINE_EVENT(optcache_io, optcache_flush, TP_PROTO(struct oc_io *io), TP_ARGS(io));

DECLARE_EVENT_CLASS(optcache_io_slot,
	TP_PROTO(struct oc_io *io, oc_slot_t slot),
	TP_ARGS(io, slot),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, sector)
		__field(u32, sectors)
		__field(u32, slot)
		__field(bool, write)
	),
	TP_fast_assign(
		__entry->dev = disk_devt(dm_disk(io->core->md));
		__entry->sector = io->bio->bi_iter.bi_sector;
		__entry->sectors = bio_sectors(io->bio);
		__entry->slot = from_slot(slot);
		__entry->write = oc_io_is_write(io);
	),
	TP_printk("%d:%d %c %llu + %u slot %u", MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->write ? 'W' : 'R', __entry->sector, __entry->sectors, __entry->slot)
);

/* In place in the slots from slot on. */
DEFINE_EVENT(optcache_io_slot, optcache_hit,
	TP_PROTO(struct oc_io *io, oc_slot_t slot),
	TP_ARGS(io, slot)
);

/* A write to slots that it has just been given. */
DEFINE_EVENT(optcache_io_slot, optcache_new,
	TP_PROTO(struct oc_io *io, oc_slot_t slot),
	TP_ARGS(io, slot)
);

#define OC_TRACE_REASON_MAX	16

/* To the origin only; reason: one word. */
TRACE_EVENT(optcache_bypass,
	TP_PROTO(struct oc_io *io, const char *reason),
	TP_ARGS(io, reason),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, sector)
		__field(u32, sectors)
		__field(bool, write)
		__array(char, reason, OC_TRACE_REASON_MAX)
	),
	TP_fast_assign(
		__entry->dev = disk_devt(dm_disk(io->core->md));
		__entry->sector = io->bio->bi_iter.bi_sector;
		__entry->sectors = bio_sectors(io->bio);
		__entry->write = oc_io_is_write(io);
		strscpy(__entry->reason, reason, OC_TRACE_REASON_MAX);
	),
	TP_printk("%d:%d %c %llu + %u %s", MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->write ? 'W' : 'R', __entry->sector, __entry->sectors, __entry->reason)
);

/* ---- blocks in slots ------------------------------------------------- */

DECLARE_EVENT_CLASS(optcache_blocks,
	TP_PROTO(struct oc_core *core, oc_block_t block, u32 nr, oc_slot_t slot),
	TP_ARGS(core, block, nr, slot),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, block)
		__field(u32, nr)
		__field(u32, slot)
	),
	TP_fast_assign(
		__entry->dev = disk_devt(dm_disk(core->md));
		__entry->block = from_oblock(block);
		__entry->nr = nr;
		__entry->slot = from_slot(slot);
	),
	TP_printk("%d:%d block %llu + %u slot %u", MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->block, __entry->nr, __entry->slot)
);

/* What a miss read goes to slots. */
DEFINE_EVENT(optcache_blocks, optcache_fill,
	TP_PROTO(struct oc_core *core, oc_block_t block, u32 nr, oc_slot_t slot),
	TP_ARGS(core, block, nr, slot)
);

/* A clean block leaves the cache; was: its slot's word until now. */
TRACE_EVENT(optcache_evict,
	TP_PROTO(struct oc_core *core, oc_slot_t slot, u64 was),
	TP_ARGS(core, slot, was),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, block)
		__field(u32, slot)
		__field(u32, freq)
	),
	TP_fast_assign(
		__entry->dev = disk_devt(dm_disk(core->md));
		__entry->block = from_oblock(oc_word_block(was));
		__entry->slot = from_slot(slot);
		__entry->freq = (was & OC_WORD_FREQ) >> OC_WORD_FREQ_SHIFT;
	),
	TP_printk("%d:%d block %llu slot %u freq %u", MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->block, __entry->slot, __entry->freq)
);

/* Dirty blocks go to the origin in one write; slot: of the first. */
DEFINE_EVENT(optcache_blocks, optcache_writeback,
	TP_PROTO(struct oc_core *core, oc_block_t block, u32 nr, oc_slot_t slot),
	TP_ARGS(core, block, nr, slot)
);

/* ---- durability ------------------------------------------------------ */

TRACE_EVENT(optcache_journal_commit,
	TP_PROTO(struct oc_core *core, u64 lsn, u32 nr, u32 bytes),
	TP_ARGS(core, lsn, nr, bytes),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, lsn)
		__field(u32, nr)
		__field(u32, bytes)
	),
	TP_fast_assign(
		__entry->dev = disk_devt(dm_disk(core->md));
		__entry->lsn = lsn;
		__entry->nr = nr;
		__entry->bytes = bytes;
	),
	TP_printk("%d:%d lsn %llu records %u bytes %u", MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->lsn, __entry->nr, __entry->bytes)
);

#endif /* _OC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
