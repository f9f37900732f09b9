// SPDX-License-Identifier: GPL-2.0-only
/* The journal: appending, committing, waiting; see journal.h. */
#include "io.h"
#include "trace.h"

#include <optcache/replay.h>

#include <linux/device-mapper.h>

#define OC_PENDING_MIN	32
#define OC_PENDING_MAX	8192

static u64 records_out(const struct oc_journal *j)
{
	return j->reserved + (j->head_lsn - j->issued_lsn);
}

static bool has_room(const struct oc_journal *j, u32 n)
{
	u64 units = div_u64(j->size - j->used, j->unit);

	return records_out(j) + n <= min_t(u64, j->pending_max, units);
}

u32 oc_journal_reserve(struct oc_journal *j, u32 least, u32 want)
{
	unsigned long flags;
	u64 room;
	u32 n = 0;

	spin_lock_irqsave(&j->lock, flags);
	if (!j->failed && has_room(j, least)) {
		room = min_t(u64, j->pending_max, div_u64(j->size - j->used, j->unit));
		n = min_t(u64, want, room - records_out(j));
		j->reserved += n;
	} else if (!j->failed) {
		j->wanted_lsn = j->head_lsn;	/* what is pending takes the room */
		oc_journal_kick(j);
	}
	spin_unlock_irqrestore(&j->lock, flags);
	return n;
}

/* lock held.  Who waits for space tries again. */
static void wake_space(struct oc_journal *j, struct list_head *list)
{
	if (!list_empty(&j->space_waiters) && (j->failed || has_room(j, OC_CREDITS_MAX)))
		list_splice_tail_init(&j->space_waiters, list);
}

static void continue_all(struct list_head *list)
{
	struct oc_io *io, *next;

	list_for_each_entry_safe(io, next, list, list) {
		list_del_init(&io->list);
		oc_io_continue(io);
	}
}

void oc_journal_unreserve(struct oc_journal *j, u32 n)
{
	unsigned long flags;
	LIST_HEAD(list);

	spin_lock_irqsave(&j->lock, flags);
	j->reserved -= n;
	wake_space(j, &list);
	spin_unlock_irqrestore(&j->lock, flags);
	continue_all(&list);
}

void oc_journal_wait_space(struct oc_journal *j, struct oc_io *io)
{
	unsigned long flags;
	LIST_HEAD(list);

	spin_lock_irqsave(&j->lock, flags);
	list_add_tail(&io->list, &j->space_waiters);
	wake_space(j, &list);
	spin_unlock_irqrestore(&j->lock, flags);
	continue_all(&list);
	oc_checkpoint_kick(j->core);
}

/*
 * May a block be written while others are?  Each takes the device's time from the data, so it
 * waits for its share of the writers that are under way: alone one goes at once, of many come
 * several with each block.  At the latest it goes when no other is left.
 */
static bool may_start(const struct oc_journal *j)
{
	u32 writers = j->open[0] + j->open[1];

	return !j->in_flight || (j->in_flight < OC_JOURNAL_DEPTH &&
				 j->waiting >= writers / OC_JOURNAL_DEPTH);
}

/* So many records that nobody wants are worth a block. */
#define OC_LAZY_RECORDS	128U
#define OC_LAZY_JIFFIES	(HZ / 100 + 1)

void oc_journal_kick(struct oc_journal *j)
{
	if (j->head_lsn == j->issued_lsn || j->failed)
		return;
	if (j->head_lsn - j->issued_lsn >= min(OC_LAZY_RECORDS, j->pending_max / 4))
		j->wanted_lsn = j->head_lsn;
	if (j->wanted_lsn <= j->issued_lsn)
		queue_delayed_work(j->core->journal_wq, &j->lazy, OC_LAZY_JIFFIES);
	else if (may_start(j))
		queue_work(j->core->journal_wq, &j->work);
}

/* May @r, of one slot, be added to the end of @last? */
static bool melts(const struct oc_record *last, const struct oc_record *r)
{
	if (last->type != r->type || r->type == OPTCACHE_REC_INTENT || last->count == 256 ||
	    from_slot(last->slot) + last->count != from_slot(r->slot))
		return false;
	if (r->type != OPTCACHE_REC_MAP)
		return true;
	return last->dirty == r->dirty && last->valid == r->valid &&
	       from_oblock(last->block) + last->count == from_oblock(r->block);
}

static void append(struct oc_journal *j, const struct oc_record *r, unsigned int how)
{
	struct oc_record *last = &j->pending[(j->head_lsn - 1) & (j->pending_max - 1)];

	lockdep_assert_held(&j->lock);
	j->reserved--;
	oc_checkpoint_dirty(j->core, r->slot);
	if (j->head_lsn > j->closed_lsn && melts(last, r)) {
		last->count++;
	} else {
		j->pending[j->head_lsn & (j->pending_max - 1)] = *r;
		WRITE_ONCE(j->head_lsn, j->head_lsn + 1);
	}
	if (how & OC_WANTED)
		j->wanted_lsn = j->head_lsn;
	if (how & OC_UNFLUSHED)
		j->flush_lsn = j->head_lsn;
}

void oc_journal_map(struct oc_journal *j, oc_slot_t slot, u64 word, unsigned int how)
{
	append(j, &(struct oc_record) {
		.type = OPTCACHE_REC_MAP,
		.dirty = word & OC_WORD_DIRTY,
		.valid = oc_word_valid(word),
		.slot = slot,
		.block = oc_word_block(word),
		.count = 1,
	}, how);
}

void oc_journal_unmap(struct oc_journal *j, oc_slot_t slot, unsigned int how)
{
	append(j, &(struct oc_record) {
		.type = OPTCACHE_REC_UNMAP, .slot = slot, .count = 1,
	}, how);
}

/* The last write to the slot must be durable before it counts as clean. */
void oc_journal_clean(struct oc_journal *j, oc_slot_t slot)
{
	append(j, &(struct oc_record) {
		.type = OPTCACHE_REC_CLEAN, .slot = slot, .count = 1,
	}, OC_WANTED | OC_UNFLUSHED);
}

/* ---- intents --------------------------------------------------------- */

void oc_journal_intent(struct oc_journal *j, const struct oc_intent *in)
{
	append(j, &(struct oc_record) {
		.type = OPTCACHE_REC_INTENT,
		.valid = in->valid,
		.slot = in->slot,
		.block = in->block,
		.count = 1,
		.crc = in->crc,
	}, OC_WANTED);
	j->waiting++;
}

u8 oc_journal_open_intents(struct oc_journal *j)
{
	lockdep_assert_held(&j->lock);
	j->open[j->generation]++;
	return j->generation;
}

void oc_journal_close_intents(struct oc_journal *j, u8 generation)
{
	lockdep_assert_held(&j->lock);
	WRITE_ONCE(j->open[generation], j->open[generation] - 1);
	if (!j->open[generation] && wq_has_sleeper(&j->wait))
		wake_up_all(&j->wait);
}

void oc_journal_wait_intents(struct oc_journal *j)
{
	u8 old;

	spin_lock_irq(&j->lock);
	old = j->generation;
	j->generation = !old;
	spin_unlock_irq(&j->lock);
	wait_event(j->wait, !READ_ONCE(j->open[old]));
}

/* ---- waiting --------------------------------------------------------- */

/* lock held.  Most who come last wait for the most. */
static void add_waiter(struct oc_journal *j, struct oc_io *io)
{
	struct oc_io *before;

	list_for_each_entry_reverse(before, &j->waiters, list)
		if (before->lsn <= io->lsn)
			break;
	list_add(&io->list, &before->list);
}

/* @which: read under the lock. */
static enum oc_durable wait_for(struct oc_journal *j, struct oc_io *io, const u64 *which)
{
	enum oc_durable state = OC_DURABLE;
	unsigned long flags;
	u64 lsn;

	spin_lock_irqsave(&j->lock, flags);
	lsn = *which;
	if (j->durable_lsn < lsn)
		state = j->failed ? OC_NEVER : OC_PENDING;
	if (state == OC_PENDING) {
		io->lsn = lsn;
		add_waiter(j, io);
		j->wanted_lsn = max(j->wanted_lsn, lsn);
		oc_journal_kick(j);
	}
	spin_unlock_irqrestore(&j->lock, flags);
	return state;
}

enum oc_durable oc_journal_wait_io(struct oc_journal *j, struct oc_io *io)
{
	return wait_for(j, io, &io->lsn);
}

enum oc_durable oc_journal_wait_all(struct oc_journal *j, struct oc_io *io)
{
	return wait_for(j, io, &j->head_lsn);
}

enum oc_durable oc_journal_wait_done(struct oc_journal *j, struct oc_io *io)
{
	return wait_for(j, io, &j->done_lsn);
}

bool oc_journal_settled(struct oc_journal *j)
{
	unsigned long flags;
	bool settled;

	spin_lock_irqsave(&j->lock, flags);
	settled = j->durable_lsn == j->head_lsn;
	spin_unlock_irqrestore(&j->lock, flags);
	return settled;
}

void oc_journal_idle(struct oc_journal *j)
{
	flush_work(&j->work);
	wait_event(j->wait, !READ_ONCE(j->in_flight));
	flush_work(&j->work);
}

static int sync_to(struct oc_journal *j, const u64 *which)
{
	u64 lsn;

	spin_lock_irq(&j->lock);
	lsn = *which;
	j->wanted_lsn = max(j->wanted_lsn, lsn);
	oc_journal_kick(j);
	spin_unlock_irq(&j->lock);
	wait_event(j->wait, READ_ONCE(j->durable_lsn) >= lsn || READ_ONCE(j->failed));
	return READ_ONCE(j->durable_lsn) >= lsn ? 0 : -EIO;
}

int oc_journal_sync(struct oc_journal *j)
{
	return sync_to(j, &j->head_lsn);
}

int oc_journal_sync_done(struct oc_journal *j)
{
	return sync_to(j, &j->done_lsn);
}

/*
 * What a flush that is sent now will cover.  A record below must not take in a neighbour
 * whose data comes later.  lock held.
 */
static u64 close_head(struct oc_journal *j)
{
	j->closed_lsn = j->head_lsn;
	return j->head_lsn;
}

u64 oc_journal_flushing(struct oc_journal *j)
{
	unsigned long flags;
	u64 lsn;

	spin_lock_irqsave(&j->lock, flags);
	lsn = close_head(j);
	spin_unlock_irqrestore(&j->lock, flags);
	return lsn;
}

void oc_journal_covered(struct oc_journal *j, u64 lsn)
{
	unsigned long flags;

	spin_lock_irqsave(&j->lock, flags);
	j->covered_lsn = max(j->covered_lsn, lsn);
	spin_unlock_irqrestore(&j->lock, flags);
}

/* ---- failing --------------------------------------------------------- */

/*
 * Could the device hold a dirty block that memory no longer calls so, because the
 * record that ended it was lost?  lock held.
 */
static bool lost_an_end(const struct oc_journal *j)
{
	u64 lsn;

	if (j->in_flight)
		return true;	/* do not look closer */
	for (lsn = j->issued_lsn; lsn < j->head_lsn; lsn++)
		if (j->pending[lsn & (j->pending_max - 1)].type != OPTCACHE_REC_MAP)
			return true;
	return false;
}

void oc_journal_fail(struct oc_journal *j)
{
	struct oc_core *core = j->core;
	LIST_HEAD(list);
	bool first;

	spin_lock_irq(&j->lock);
	first = !j->failed;
	if (first && (atomic64_read(&core->slots.nr_dirty) ||
		      j->open[0] || j->open[1] || (core->ever_dirty && lost_an_end(j))))
		WRITE_ONCE(core->stuck_dirty, true);
	WRITE_ONCE(j->failed, true);
	wake_space(j, &list);
	spin_unlock_irq(&j->lock);
	if (first) {
		oc_core_degrade(core, OC_FAILED, "the metadata cannot be written");
		queue_work(core->bg_wq, &core->save_work);
		/* who knows whether it can be read later: save what is dirty while it runs */
		if (atomic64_read(&core->slots.nr_dirty))
			oc_writeback_flush(core);
	}
	wake_up_all(&j->wait);
	continue_all(&list);
}

bool oc_journal_wait_fence(struct oc_journal *j, struct oc_io *io)
{
	unsigned long flags;
	bool wait;

	spin_lock_irqsave(&j->lock, flags);
	wait = !j->fenced;
	if (wait)
		list_add_tail(&io->list, &j->waiters);
	spin_unlock_irqrestore(&j->lock, flags);
	return wait;
}

void oc_journal_fence(struct oc_journal *j)
{
	struct oc_io *io;
	LIST_HEAD(list);

	spin_lock_irq(&j->lock);
	j->fenced = true;
	list_for_each_entry(io, &j->waiters, list) {
		io->status = BLK_STS_IOERR;
		io->flags &= ~OC_IO_ENDED;	/* it did not become durable */
		if (io->kind == OC_IO_FLUSH)
			io->flags &= ~OC_IO_FINISH;	/* perhaps nothing is lost by it */
	}
	list_splice_init(&j->waiters, &list);
	spin_unlock_irq(&j->lock);
	continue_all(&list);
}

/* ---- committing ------------------------------------------------------ */

static void finish_blocks(struct oc_journal *j, bool atomic);

static void block_endio(struct bio *bio)
{
	struct oc_journal_block *b = container_of(bio, struct oc_journal_block, bio);
	struct oc_journal *j = b->journal;
	unsigned long flags;

	spin_lock_irqsave(&j->lock, flags);
	b->status = bio->bi_status;
	b->answered = true;
	spin_unlock_irqrestore(&j->lock, flags);
	finish_blocks(j, true);
}

/* The block of the ring that is to be written next, with @nr records; lock held. */
static struct oc_journal_block *start_block(struct oc_journal *j, u32 nr, u32 size, u64 *offset)
{
	struct oc_journal_block *b;

	b = &j->block[(j->oldest + j->in_flight) % OC_JOURNAL_DEPTH];
	WRITE_ONCE(j->in_flight, j->in_flight + 1);
	b->answered = false;
	b->lsn = j->issued_lsn;
	b->nr = nr;
	b->slots = 0;
	b->covers = 0;
	if (j->flush_lsn > j->covered_lsn && j->flush_lsn > b->lsn)
		b->covers = close_head(j);
	*offset = j->head_offset;
	j->issued_lsn += nr;
	j->waiting = 0;
	j->closed_lsn = max(j->closed_lsn, j->issued_lsn);
	j->head_offset += size;
	if (j->head_offset == j->size)
		j->head_offset = 0;
	j->used += size;
	return b;
}

/* Take as many pending records as one block holds.  NULL: nothing to be done, or not now. */
static struct oc_journal_block *fill_block(struct oc_journal *j, u32 *size, u64 *offset)
{
	struct oc_journal_block *b = NULL;
	struct optcache_record *disk;
	const struct oc_record *r;
	unsigned long flags;
	u32 nr, i;

	spin_lock_irqsave(&j->lock, flags);
	if (j->failed || !j->epoch_durable || j->wanted_lsn <= j->issued_lsn ||
	    !may_start(j))
		goto out;
	*size = min_t(u64, j->size - j->head_offset, OPTCACHE_JOURNAL_BLOCK_MAX);
	nr = min_t(u64, j->head_lsn - j->issued_lsn, OPTCACHE_RECORDS_IN(*size));
	*size = round_up(sizeof(struct optcache_journal_header) + nr * sizeof(*disk), j->unit);
	b = start_block(j, nr, *size, offset);
	disk = b->data + sizeof(struct optcache_journal_header);
	for (i = 0; i < nr; i++) {
		r = &j->pending[(b->lsn + i) & (j->pending_max - 1)];
		b->slots += r->count;
		oc_record_encode(r, &disk[i]);
	}
out:
	spin_unlock_irqrestore(&j->lock, flags);
	return b;
}

/*
 * FUA: a plain block could be lost while a later one survives, which would hide the
 * later one's records.  PREFLUSH: the data that records speak of must be there before.
 */
static void write_block(struct oc_journal *j, struct oc_journal_block *b, u32 size, u64 offset)
{
	struct oc_core *core = j->core;
	blk_opf_t opf = REQ_OP_WRITE | REQ_SYNC | REQ_META | REQ_FUA;

	if (b->covers)
		opf |= REQ_PREFLUSH;
	oc_journal_seal(b->data, size, core->super.uuid, j->epoch, b->lsn, b->nr);
	bio_init(&b->bio, core->cache, &b->bvec, 1, opf);
	b->bio.bi_iter.bi_sector = (core->super.geo.journal_start + offset) >> SECTOR_SHIFT;
	b->bio.bi_end_io = block_endio;
	__bio_add_page(&b->bio, virt_to_page(b->data), size, 0);
	oc_count(core, journal_commits);
	oc_count_add(core, journal_records, b->nr);
	trace_optcache_journal_commit(core, b->lsn, b->nr, size);
	submit_bio(&b->bio);
}

void oc_journal_commit(struct oc_journal *j)
{
	struct oc_journal_block *b;
	u64 offset;
	u32 size;

	/*
	 * A block of this epoch must not exist before the superblock says so, or
	 * after a crash a late block of a lost run could pass for a new one.
	 */
	if (unlikely(!READ_ONCE(j->epoch_durable))) {
		queue_work(j->core->journal_wq, &j->work);
		return;
	}
	while ((b = fill_block(j, &size, &offset)))
		write_block(j, b, size, offset);
}

/* What the records of a durable block allow: GONE slots, LIVE slots. */
static void apply_block(struct oc_journal *j, struct oc_journal_block *b)
{
	struct oc_core *core = j->core;
	const struct optcache_record *disk =
		b->data + sizeof(struct optcache_journal_header);
	struct oc_record r;
	oc_slot_t slot;
	u32 i, k;

	for (i = 0; i < b->nr; i++) {
		if (WARN_ON_ONCE(oc_record_decode(&r, &disk[i], &core->super.geo)))
			continue;	/* it was ours */
		for (k = 0; k < r.count; k++) {
			slot = slot_add(r.slot, k);
			if (r.type == OPTCACHE_REC_MAP)
				oc_slot_confirm(&core->slots, slot, r.valid);
			else if (r.type == OPTCACHE_REC_UNMAP &&
				 oc_slot_gone(&core->slots, slot))
				oc_index_release(&core->index, slot);
		}
	}
}

/* So many slots are changed in the device's completion; more of them by the worker. */
#define OC_APPLY_ATOMIC	16

/* The oldest block, if its time has come; it is ours until retire(). */
static struct oc_journal_block *next_answered(struct oc_journal *j, bool atomic)
{
	struct oc_journal_block *b;
	unsigned long flags;

	spin_lock_irqsave(&j->lock, flags);
	b = &j->block[j->oldest];
	if (!j->in_flight || !b->answered || j->finishing) {
		b = NULL;
	} else if (atomic && (b->status || b->slots > OC_APPLY_ATOMIC)) {
		queue_work(j->core->journal_wq, &j->work);
		b = NULL;
	} else {
		j->finishing = true;
	}
	spin_unlock_irqrestore(&j->lock, flags);
	return b;
}

/* The block is durable and applied, or lost: who waited for it goes on, or for the fence. */
static void retire(struct oc_journal *j, struct oc_journal_block *b)
{
	struct oc_io *io, *next;
	unsigned long flags;
	LIST_HEAD(list);

	bio_uninit(&b->bio);
	spin_lock_irqsave(&j->lock, flags);
	j->oldest = (j->oldest + 1) % OC_JOURNAL_DEPTH;
	j->finishing = false;
	WRITE_ONCE(j->in_flight, j->in_flight - 1);
	if (!j->broken) {
		WRITE_ONCE(j->durable_lsn, b->lsn + b->nr);
		j->covered_lsn = max(j->covered_lsn, b->covers);
	}
	list_for_each_entry_safe(io, next, &j->waiters, list) {
		if (io->lsn > j->durable_lsn)
			break;
		list_move_tail(&io->list, &list);
	}
	wake_space(j, &list);
	oc_journal_kick(j);
	spin_unlock_irqrestore(&j->lock, flags);
	if (wq_has_sleeper(&j->wait))
		wake_up_all(&j->wait);
	continue_all(&list);
}

static void finish_blocks(struct oc_journal *j, bool atomic)
{
	struct oc_journal_block *b;

	while ((b = next_answered(j, atomic))) {
		if (b->status) {
			oc_count(j->core, cache_errors);
			j->broken = true;
			oc_journal_fail(j);
		}
		if (!j->broken)
			apply_block(j, b);
		retire(j, b);
	}
	if (READ_ONCE(j->used) > j->size / 2)
		oc_checkpoint_kick(j->core);
}

static void journal_work(struct work_struct *work)
{
	struct oc_journal *j = container_of(work, struct oc_journal, work);

	finish_blocks(j, false);
	if (!j->epoch_durable && !j->failed && j->head_lsn != j->issued_lsn)
		oc_super_write(j->core);
	if (j->epoch_durable)
		oc_journal_commit(j);
}

static void lazy_work(struct work_struct *work)
{
	struct oc_journal *j = container_of(to_delayed_work(work), struct oc_journal, lazy);

	spin_lock_irq(&j->lock);
	j->wanted_lsn = j->head_lsn;
	oc_journal_kick(j);
	spin_unlock_irq(&j->lock);
}

/* ---- life cycle ------------------------------------------------------ */

int oc_journal_init(struct oc_journal *j, struct oc_core *core)
{
	u32 i;

	j->core = core;
	spin_lock_init(&j->lock);
	INIT_LIST_HEAD(&j->waiters);
	INIT_LIST_HEAD(&j->space_waiters);
	init_waitqueue_head(&j->wait);
	INIT_WORK(&j->work, journal_work);
	INIT_DELAYED_WORK(&j->lazy, lazy_work);
	j->block = kcalloc(OC_JOURNAL_DEPTH, sizeof(*j->block), GFP_KERNEL);
	if (!j->block)
		return -ENOMEM;
	for (i = 0; i < OC_JOURNAL_DEPTH; i++) {
		j->block[i].journal = j;
		j->block[i].data = (void *)get_zeroed_page(GFP_KERNEL);
		if (!j->block[i].data)
			return -ENOMEM;
	}
	return 0;
}

size_t oc_journal_bytes(const struct oc_journal *j)
{
	return OC_JOURNAL_DEPTH * (sizeof(*j->block) + PAGE_SIZE) +
	       j->pending_max * sizeof(*j->pending);
}

static void cancel_works(struct oc_journal *j)
{
	cancel_delayed_work_sync(&j->lazy);
	cancel_work_sync(&j->work);
}

void oc_journal_exit(struct oc_journal *j)
{
	u32 i;

	cancel_works(j);
	for (i = 0; j->block && i < OC_JOURNAL_DEPTH; i++)
		free_page((unsigned long)j->block[i].data);
	kfree(j->block);
}

void oc_journal_stop(struct oc_journal *j)
{
	cancel_works(j);
	kvfree(j->pending);
	j->pending = NULL;
	j->failed = false;
	j->broken = false;
	j->fenced = false;
}

int oc_journal_start(struct oc_journal *j, u64 lsn, u64 offset, u64 used)
{
	const struct oc_geometry *geo = &j->core->super.geo;
	u32 units = div_u64(geo->journal_size, geo->journal_unit);
	u32 most = min_t(u32, units / 4, geo->nr_slots / 256);

	oc_journal_stop(j);
	j->size = geo->journal_size;
	j->unit = geo->journal_unit;
	j->pending_max = rounddown_pow_of_two(clamp_t(u32, most, OC_PENDING_MIN, OC_PENDING_MAX));
	j->pending = kvcalloc(j->pending_max, sizeof(*j->pending), GFP_KERNEL);
	if (!j->pending)
		return -ENOMEM;
	j->head_lsn = lsn;
	j->wanted_lsn = lsn;
	j->issued_lsn = lsn;
	j->durable_lsn = lsn;
	j->closed_lsn = lsn;
	j->done_lsn = lsn;
	j->decided_lsn = lsn;
	j->flush_lsn = lsn;
	j->covered_lsn = lsn;
	j->head_offset = offset;
	j->used = used;
	j->epoch = j->core->super.epoch + 1;
	j->epoch_durable = false;
	return 0;
}
