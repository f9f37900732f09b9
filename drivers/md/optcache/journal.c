// SPDX-License-Identifier: GPL-2.0-only
/* The journal: appending, committing, waiting; see journal.h. */
#include "io.h"
#include "trace.h"

#include <linux/device-mapper.h>

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
	}
	spin_unlock_irqrestore(&j->lock, flags);
	return n;
}

/* lock held.  Who waits for space tries again. */
static void wake_space(struct oc_journal *j, struct list_head *list)
{
	if (!list_empty(&j->space_waiters) && (j->failed || has_room(j, 2)))
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

void oc_journal_kick(struct oc_journal *j)
{
	if (j->head_lsn != j->issued_lsn && j->phase == OC_JOURNAL_IDLE && !j->failed)
		queue_work(j->core->journal_wq, &j->work);
}

/* May @r, of one slot, be added to the end of @last? */
static bool melts(const struct oc_record *last, const struct oc_record *r)
{
	if (last->type != r->type || last->count == 256 ||
	    from_slot(last->slot) + last->count != from_slot(r->slot))
		return false;
	if (r->type != OPTCACHE_REC_MAP)
		return true;
	return last->dirty == r->dirty && last->valid == r->valid &&
	       from_oblock(last->block) + last->count == from_oblock(r->block);
}

static void append(struct oc_journal *j, const struct oc_record *r)
{
	struct oc_record *last;

	lockdep_assert_held(&j->lock);
	j->reserved--;
	oc_checkpoint_dirty(j->core, r->slot);
	if (j->head_lsn > j->closed_lsn) {
		last = &j->pending[(j->head_lsn - 1) & (j->pending_max - 1)];
		if (melts(last, r)) {
			last->count++;
			return;
		}
	}
	j->pending[j->head_lsn & (j->pending_max - 1)] = *r;
	WRITE_ONCE(j->head_lsn, j->head_lsn + 1);
}

void oc_journal_map(struct oc_journal *j, oc_slot_t slot, u64 word)
{
	append(j, &(struct oc_record) {
		.type = OPTCACHE_REC_MAP,
		.dirty = word & OC_WORD_DIRTY,
		.valid = oc_word_valid(word),
		.slot = slot,
		.block = oc_word_block(word),
		.count = 1,
	});
}

void oc_journal_unmap(struct oc_journal *j, oc_slot_t slot)
{
	append(j, &(struct oc_record) {
		.type = OPTCACHE_REC_UNMAP, .slot = slot, .count = 1,
	});
}

void oc_journal_clean(struct oc_journal *j, oc_slot_t slot)
{
	append(j, &(struct oc_record) {
		.type = OPTCACHE_REC_CLEAN, .slot = slot, .count = 1,
	});
}

enum oc_durable oc_journal_wait_io(struct oc_journal *j, struct oc_io *io)
{
	enum oc_durable state = OC_DURABLE;
	unsigned long flags;

	spin_lock_irqsave(&j->lock, flags);
	if (j->durable_lsn != j->head_lsn)
		state = j->failed ? OC_NEVER : OC_PENDING;
	if (state == OC_PENDING) {
		io->lsn = j->head_lsn;
		list_add_tail(&io->list, &j->waiters);
	}
	spin_unlock_irqrestore(&j->lock, flags);
	return state;
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
	do {
		flush_work(&j->work);
		wait_event(j->wait, READ_ONCE(j->phase) == OC_JOURNAL_IDLE);
		flush_work(&j->work);
	} while (READ_ONCE(j->phase) != OC_JOURNAL_IDLE ||
		 (!j->failed && j->head_lsn != j->issued_lsn));
}

int oc_journal_sync(struct oc_journal *j)
{
	u64 lsn;

	spin_lock_irq(&j->lock);
	lsn = j->head_lsn;
	spin_unlock_irq(&j->lock);
	queue_work(j->core->journal_wq, &j->work);
	wait_event(j->wait, READ_ONCE(j->durable_lsn) >= lsn || READ_ONCE(j->failed));
	return READ_ONCE(j->durable_lsn) >= lsn ? 0 : -EIO;
}

/*
 * Could the device hold a dirty block that memory no longer calls so, because the
 * record that ended it was lost?  lock held.
 */
static bool lost_an_end(const struct oc_journal *j)
{
	u64 lsn;

	if (j->phase != OC_JOURNAL_IDLE)
		return true;	/* the block in flight: do not look closer */
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
		      (core->ever_dirty && lost_an_end(j))))
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
	}
	list_splice_init(&j->waiters, &list);
	spin_unlock_irq(&j->lock);
	continue_all(&list);
}

/* ---- committing ------------------------------------------------------ */

static void block_endio(struct bio *bio)
{
	struct oc_journal *j = container_of(bio, struct oc_journal, bio);

	j->status = bio->bi_status;
	smp_store_release(&j->phase, OC_JOURNAL_WRITTEN);	/* status is set */
	queue_work(j->core->journal_wq, &j->work);
}

/* Take as many pending records as one block holds.  Return: bytes of the block, 0 = none. */
static u32 fill_block(struct oc_journal *j, u64 *offset)
{
	struct optcache_record *disk = j->block + sizeof(struct optcache_journal_header);
	u64 left = j->size - j->head_offset;
	u32 size = min_t(u64, left, OPTCACHE_JOURNAL_BLOCK_MAX);
	u32 nr, i;

	spin_lock_irq(&j->lock);
	nr = min_t(u64, j->head_lsn - j->issued_lsn, OPTCACHE_RECORDS_IN(size));
	if (!nr || j->failed) {
		spin_unlock_irq(&j->lock);
		return 0;
	}
	for (i = 0; i < nr; i++)
		oc_record_encode(&j->pending[(j->issued_lsn + i) & (j->pending_max - 1)],
				 &disk[i]);
	size = round_up(sizeof(struct optcache_journal_header) + nr * sizeof(*disk), j->unit);
	*offset = j->head_offset;
	j->block_lsn = j->issued_lsn;
	j->block_nr = nr;
	j->issued_lsn += nr;
	j->closed_lsn = max(j->closed_lsn, j->issued_lsn);
	j->head_offset += size;
	if (j->head_offset == j->size)
		j->head_offset = 0;
	j->used += size;
	j->phase = OC_JOURNAL_WRITING;
	spin_unlock_irq(&j->lock);
	return size;
}

static void write_block(struct oc_journal *j)
{
	struct oc_core *core = j->core;
	u64 offset;
	u32 size;

	/*
	 * A block of this epoch must not exist before the superblock says so, or
	 * after a crash a late block of a lost run could pass for a new one.
	 */
	if (j->failed || READ_ONCE(j->head_lsn) == j->issued_lsn)
		return;
	if (!j->epoch_durable && oc_super_write(core))
		return;
	size = fill_block(j, &offset);
	if (!size)
		return;
	oc_journal_seal(j->block, size, core->super.uuid, j->epoch, j->block_lsn, j->block_nr);
	bio_init(&j->bio, core->cache, &j->bvec, 1,
		 REQ_OP_WRITE | REQ_SYNC | REQ_META | REQ_PREFLUSH | REQ_FUA);
	j->bio.bi_iter.bi_sector = (core->super.geo.journal_start + offset) >> SECTOR_SHIFT;
	j->bio.bi_end_io = block_endio;
	__bio_add_page(&j->bio, virt_to_page(j->block), size, 0);
	oc_count(core, journal_commits);
	oc_count_add(core, journal_records, j->block_nr);
	trace_optcache_journal_commit(core, j->block_lsn, j->block_nr, size);
	submit_bio(&j->bio);
}

/* The records of the block are durable: free what they unmapped. */
static void apply_block(struct oc_journal *j)
{
	struct oc_core *core = j->core;
	const struct optcache_record *disk =
		j->block + sizeof(struct optcache_journal_header);
	struct oc_record r;
	u32 i, k;

	for (i = 0; i < j->block_nr; i++) {
		if (oc_record_decode(&r, &disk[i], &core->super.geo) ||
		    r.type != OPTCACHE_REC_UNMAP)
			continue;
		for (k = 0; k < r.count; k++)
			if (oc_slot_gone(&core->slots, slot_add(r.slot, k)))
				oc_index_release(&core->index, slot_add(r.slot, k));
	}
}

static void finish_block(struct oc_journal *j)
{
	struct oc_io *io, *next;
	LIST_HEAD(list);

	bio_uninit(&j->bio);
	if (j->status) {
		oc_count(j->core, cache_errors);
		oc_journal_fail(j);
		WRITE_ONCE(j->phase, OC_JOURNAL_IDLE);
		wake_up_all(&j->wait);
		return;
	}
	apply_block(j);
	spin_lock_irq(&j->lock);
	WRITE_ONCE(j->durable_lsn, j->issued_lsn);
	WRITE_ONCE(j->phase, OC_JOURNAL_IDLE);
	list_for_each_entry_safe(io, next, &j->waiters, list) {
		if (io->lsn > j->durable_lsn)
			break;
		list_move_tail(&io->list, &list);
	}
	wake_space(j, &list);
	spin_unlock_irq(&j->lock);
	wake_up_all(&j->wait);
	continue_all(&list);
	if (j->used > j->size / 2)
		oc_checkpoint_kick(j->core);
}

/* Work items do not run concurrently with themselves: this is the one committer. */
static void journal_work(struct work_struct *work)
{
	struct oc_journal *j = container_of(work, struct oc_journal, work);
	enum oc_journal_phase phase = smp_load_acquire(&j->phase);	/* then status is */

	if (phase == OC_JOURNAL_WRITTEN) {
		finish_block(j);
		phase = OC_JOURNAL_IDLE;
	}
	if (phase == OC_JOURNAL_IDLE)
		write_block(j);
}

/* ---- life cycle ------------------------------------------------------ */

int oc_journal_init(struct oc_journal *j, struct oc_core *core)
{
	j->core = core;
	spin_lock_init(&j->lock);
	INIT_LIST_HEAD(&j->waiters);
	INIT_LIST_HEAD(&j->space_waiters);
	init_waitqueue_head(&j->wait);
	INIT_WORK(&j->work, journal_work);
	j->block = (void *)get_zeroed_page(GFP_KERNEL);
	return j->block ? 0 : -ENOMEM;
}

void oc_journal_exit(struct oc_journal *j)
{
	cancel_work_sync(&j->work);
	free_page((unsigned long)j->block);
}

void oc_journal_stop(struct oc_journal *j)
{
	cancel_work_sync(&j->work);
	kvfree(j->pending);
	j->pending = NULL;
	j->failed = false;
	j->fenced = false;
}

int oc_journal_start(struct oc_journal *j, u64 lsn, u64 offset, u64 used)
{
	const struct oc_geometry *geo = &j->core->super.geo;
	u32 units = div_u64(geo->journal_size, geo->journal_unit);

	oc_journal_stop(j);
	j->size = geo->journal_size;
	j->unit = geo->journal_unit;
	j->pending_max = rounddown_pow_of_two(clamp_t(u32, units / 4, 4, OC_PENDING_MAX));
	j->pending = kvcalloc(j->pending_max, sizeof(*j->pending), GFP_KERNEL);
	if (!j->pending)
		return -ENOMEM;
	j->head_lsn = lsn;
	j->issued_lsn = lsn;
	j->durable_lsn = lsn;
	j->closed_lsn = lsn;
	j->head_offset = offset;
	j->used = used;
	j->epoch = j->core->super.epoch + 1;
	j->epoch_durable = false;
	return 0;
}
