// SPDX-License-Identifier: GPL-2.0
/*
 * A run: a kernel thread sends the ops, each not before its time and at most depth of them
 * at once.  A control stops at the caller, who waits for it in CUT_IOC_WAIT; one that is
 * to be alone comes when no I/O is in flight and the device is closed, and is waited for;
 * the others go on beside the load.
 *
 * A run ends early when the power is cut or an I/O fails.  An acknowledgment that arrives
 * after the cut did not happen: nobody was there any more to hear it.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "labcut.h"
#include "labdev/cuts.h"
#include "random.h"

#define CUT_PATIENCE	(100 * HZ)	/* for I/O that does not come back */
#define CUT_BUFFER	((CUT_IO_SECTORS + 1) * SECTOR_SIZE)
#define CUT_POISON	0x5a

struct cut_slot {
	struct cut_op op;
	u32 tick;		/* at sending */
	bool busy;
	u8 *buffer;		/* a sector more than the longest I/O */
};

enum cut_ask { CUT_ASK_NOTHING, CUT_ASK_CALLER, CUT_ASK_TAKEN };

static struct cut_load {
	struct task_struct *task;
	struct cut_run run;
	struct cut_op *ops;
	struct cut_slot slot[CUT_MAX_DEPTH];
	wait_queue_head_t wait;

	/* cut.lock */
	unsigned int inflight;
	bool stop;		/* no more ops */
	enum cut_ask ask;
	u32 ask_index;
	bool done, stuck;
} load;

/*
 * What is seen goes into the hash, in its order, so that two runs can be compared.  Not
 * when it is seen: the clock depends on a few ns on what the guest did before.
 */
void cut_note(u64 what)
{
	lockdep_assert_held(&cut.lock);
	cut.result.hash = lab_mix(cut.result.hash ^ lab_mix(what));
}

struct file *cut_open(const char *path, bool write, struct block_device **bdev)
{
	struct file *file = filp_open(path, (write ? O_RDWR : O_RDONLY) | O_LARGEFILE, 0);

	if (IS_ERR(file))
		return file;
	if (!S_ISBLK(file_inode(file)->i_mode)) {
		fput(file);
		return ERR_PTR(-ENOTBLK);
	}
	*bdev = I_BDEV(file->f_mapping->host);
	return file;
}

/* ---- one op ---------------------------------------------------------- */

static u8 *cut_data(const struct cut_slot *slot)
{
	/* now and then not at the start of a page, if a bio can have one more */
	bool aside = slot->op.id & 1 && slot->op.sectors < CUT_IO_SECTORS - 8;

	return slot->buffer + (aside ? SECTOR_SIZE : 0);
}

static u8 *cut_data_of(const struct cut_slot *slot, u32 i)
{
	return cut_data(slot) + i * SECTOR_SIZE;
}

static bool cut_has_data(const struct cut_op *op)
{
	return op->kind == CUT_READ || op->kind == CUT_WRITE || op->kind == CUT_ZEROES;
}

static void cut_fill(struct cut_slot *slot, u32 variant)
{
	const struct cut_op *op = &slot->op;
	u32 value = op->kind == CUT_ZEROES ? CUT_ZERO : cut_value(op->id, variant), i;

	for (i = 0; i < op->sectors; i++)
		cut_sector_fill(cut_data_of(slot, i), cut.seed, op->sector + i, value);
}

/* Some sectors of a write that is on its way turn into the other variant. */
static void cut_scribble(struct cut_slot *slot, u32 round)
{
	u64 coins = lab_mix(cut.seed ^ lab_mix(slot->op.id ^ (u64)round << 32));
	u32 i;

	for (i = 0; i < slot->op.sectors; i++)
		if (lab_mix(coins ^ i) & 1)
			cut_sector_fill(cut_data_of(slot, i), cut.seed, slot->op.sector + i,
					cut_value(slot->op.id, round & 1));
}

static void cut_read_ended(struct cut_slot *slot)
{
	const struct cut_op *op = &slot->op;
	u32 i, value, got;

	for (i = 0; i < op->sectors; i++) {
		value = cut_sector_value(cut_data_of(slot, i), cut.seed, op->sector + i, &got);
		cut_note(value);
		cut_oracle_read(op->sector + i, value, got, slot->tick, ~0u);
	}
}

static bool cut_power_gone(void)
{
	return lab_power_cuts(NULL) != cut.cuts;
}

static void cut_end_io(struct bio *bio)
{
	struct cut_slot *slot = bio->bi_private;
	struct cut_record *r = &cut.record[slot->op.id];
	bool late = cut_power_gone();
	unsigned long flags;

	spin_lock_irqsave(&cut.lock, flags);
	r->trace.done_ns = ktime_get_ns() - cut.start_ns;
	if (!late)
		r->trace.status = blk_status_to_errno(bio->bi_status);
	cut_note((u64)r->trace.status << 16 | slot->op.id);
	cut.result.ended++;
	if (late) {
		cut.result.late += !bio->bi_status;
		load.stop = true;
	} else if (bio->bi_status) {
		cut.result.bad[CUT_ERROR]++;
		r->state = CUT_FAILED;
		load.stop = true;
	} else {
		cut_oracle_ended(slot->op.id);
		if (slot->op.kind == CUT_READ)
			cut_read_ended(slot);
	}
	/* whoever still looks at it is caught */
	if (slot->op.kind == CUT_READ)
		memset(cut_data(slot), CUT_POISON, slot->op.sectors * SECTOR_SIZE);
	slot->busy = false;
	load.inflight--;
	spin_unlock_irqrestore(&cut.lock, flags);
	bio_put(bio);
	wake_up(&load.wait);
}

static blk_opf_t cut_opf(const struct cut_op *op, struct block_device *bdev)
{
	blk_opf_t opf = REQ_OP_WRITE | REQ_SYNC;

	if (op->kind == CUT_READ)
		return REQ_OP_READ;
	if (op->kind == CUT_DISCARD)
		return REQ_OP_DISCARD;
	if (op->kind == CUT_FLUSH)
		return opf | REQ_PREFLUSH;
	/* where a device cannot, write data as the block layer would; it takes no flags either */
	if (op->kind == CUT_ZEROES && !(op->flags & (CUT_FUA | CUT_PREFLUSH)) &&
	    bdev_write_zeroes_sectors(bdev) >= op->sectors)
		opf = REQ_OP_WRITE_ZEROES | REQ_NOUNMAP;
	if (op->flags & CUT_FUA)
		opf |= REQ_FUA;
	if (op->flags & CUT_PREFLUSH)
		opf |= REQ_PREFLUSH;
	return opf;
}

/* A bio for @sectors of them from @data, which is vmalloc'ed, on. */
struct bio *cut_bio(struct block_device *bdev, blk_opf_t opf, u8 *data, u32 sectors)
{
	unsigned int left = sectors * SECTOR_SIZE, len;
	struct bio *bio = bio_alloc(bdev, DIV_ROUND_UP(offset_in_page(data) + left, PAGE_SIZE),
				    opf, GFP_KERNEL);

	for (; left; left -= len, data += len) {
		len = min_t(unsigned int, left, PAGE_SIZE - offset_in_page(data));
		__bio_add_page(bio, vmalloc_to_page(data), len, offset_in_page(data));
	}
	return bio;
}

static void cut_send(struct cut_slot *slot, struct block_device *bdev)
{
	const struct cut_op *op = &slot->op;
	blk_opf_t opf = cut_opf(op, bdev);
	bool data = cut_has_data(op) && (opf & REQ_OP_MASK) != REQ_OP_WRITE_ZEROES;
	struct bio *bio = cut_bio(bdev, opf, cut_data(slot), data ? op->sectors : 0);

	bio->bi_iter.bi_sector = op->kind == CUT_FLUSH ? 0 : op->sector;
	bio->bi_private = slot;
	bio->bi_end_io = cut_end_io;
	if (!data)
		bio->bi_iter.bi_size = op->sectors * SECTOR_SIZE;
	if (op->kind == CUT_WRITE || op->kind == CUT_ZEROES)
		cut_fill(slot, 0);
	submit_bio(bio);
}

/* ---- the thread ------------------------------------------------------ */

static struct cut_slot *cut_free_slot(void)
{
	struct cut_slot *slot = NULL;
	unsigned int i;

	spin_lock_irq(&cut.lock);
	for (i = 0; i < load.run.depth && !slot; i++)
		if (!load.slot[i].busy)
			slot = &load.slot[i];
	if (load.stop)
		slot = NULL;
	spin_unlock_irq(&cut.lock);
	return slot;
}

/* Return: it was sent. */
static bool cut_op(const struct cut_op *op, struct block_device *bdev)
{
	struct cut_slot *slot = cut_free_slot();
	bool room;

	if (!slot)
		return false;
	if (op->kind == CUT_DISCARD && !bdev_max_discard_sectors(bdev))
		return false;
	spin_lock_irq(&cut.lock);
	room = cut_oracle_room(op);
	if (room) {
		slot->op = *op;
		slot->busy = true;
		load.inflight++;
		cut_oracle_sent(op);
		slot->tick = cut.record[op->id].sent;
		cut.record[op->id].trace.sent_ns = ktime_get_ns() - cut.start_ns;
		cut.result.sent++;
	} else {
		cut.result.skipped++;
	}
	spin_unlock_irq(&cut.lock);
	if (!room)
		return false;
	cut_send(slot, bdev);
	return true;
}

static struct cut_slot *cut_slot_of(u16 id)
{
	unsigned int i;

	for (i = 0; i < load.run.depth; i++)
		if (load.slot[i].busy && load.slot[i].op.id == id)
			return &load.slot[i];
	return NULL;
}

/* Still in flight: change it under whoever writes it. */
static void cut_scribble_on(const struct cut_op *op, u32 round)
{
	struct cut_slot *slot;

	if (op->kind != CUT_WRITE || !(op->flags & CUT_SCRIBBLE))
		return;
	spin_lock_irq(&cut.lock);
	slot = cut_slot_of(op->id);
	if (slot)
		cut_scribble(slot, round);
	spin_unlock_irq(&cut.lock);
}

static void cut_sleep_until(u64 ns)
{
	ktime_t when = ns_to_ktime(cut.start_ns + ns);

	if (ktime_compare(ktime_get(), when) >= 0)
		return;
	/* no slack: other timers would decide when it ends */
	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout_range(&when, 0, HRTIMER_MODE_ABS);
}

static bool cut_stopped(void)
{
	return READ_ONCE(load.stop) || cut_power_gone();
}

static bool cut_drain(void)
{
	if (wait_event_timeout(load.wait, !READ_ONCE(load.inflight), CUT_PATIENCE))
		return true;
	WRITE_ONCE(load.stuck, true);
	return false;
}

static void cut_set_ask(enum cut_ask ask, u32 index)
{
	spin_lock_irq(&cut.lock);
	load.ask = ask;
	load.ask_index = index;
	spin_unlock_irq(&cut.lock);
	wake_up(&load.wait);
}

/* Hand control @index to the caller, when he is done with the last one. */
static void cut_ask(u32 index, bool alone)
{
	wait_event(load.wait, READ_ONCE(load.ask) == CUT_ASK_NOTHING);
	cut_set_ask(CUT_ASK_CALLER, index);
	if (alone)
		wait_event(load.wait, READ_ONCE(load.ask) == CUT_ASK_NOTHING);
}

static struct file *cut_reopen(struct block_device **bdev)
{
	struct file *file = cut_open(load.run.path, true, bdev);

	if (IS_ERR(file)) {
		if (!cut_power_gone())
			cut.result.bad[CUT_ERROR]++;
		return NULL;
	}
	cut.cached = bdev_write_cache(*bdev);
	return file;
}

static struct file *cut_control(const struct cut_op *op, u32 index, struct file *file,
				struct block_device **bdev)
{
	bool alone = op->flags & CUT_ALONE;

	if (!alone) {
		cut_ask(index, false);
		return file;
	}
	if (!cut_drain())
		return file;
	fput(file);
	flush_delayed_fput();
	cut_ask(index, true);
	return cut_stopped() ? NULL : cut_reopen(bdev);
}

static struct file *cut_ops(struct file *file, struct block_device *bdev)
{
	const struct cut_op *op, *last = NULL;
	u32 i;

	for (i = 0; i < load.run.nr && file && !cut_stopped(); i++) {
		op = &load.ops[i];
		cut_sleep_until(op->at_ns);
		if (last)
			cut_scribble_on(last, 2);
		if (op->kind == CUT_CONTROL) {
			file = cut_control(op, i, file, &bdev);
			continue;
		}
		wait_event(load.wait, cut_stopped() || cut_free_slot());
		if (cut_stopped())
			break;
		if (!cut_op(op, bdev))
			continue;
		cut_scribble_on(op, 1);
		last = op;
	}
	return file;
}

static int cut_thread(void *unused)
{
	struct block_device *bdev;
	struct file *file = cut_reopen(&bdev);

	if (file)
		file = cut_ops(file, bdev);
	cut_drain();
	if (file && !load.stuck)
		fput(file);
	flush_delayed_fput();
	wait_event(load.wait, READ_ONCE(load.ask) == CUT_ASK_NOTHING);
	spin_lock_irq(&cut.lock);
	load.done = true;
	spin_unlock_irq(&cut.lock);
	wake_up(&load.wait);
	return 0;
}

/* ---- the caller's side ----------------------------------------------- */

/* Room for the longest I/O, while no load runs.  UML maps new memory page by page. */
u8 *cut_scratch(void)
{
	return load.slot[CUT_MAX_DEPTH - 1].buffer;
}

bool cut_load_busy(void)
{
	return load.task && (!READ_ONCE(load.done) || load.stuck);
}

static int cut_take_ops(const struct cut_run *run)
{
	size_t bytes = array_size(run->nr, sizeof(*load.ops));
	u32 i;

	if (!run->nr || run->nr > CUT_MAX_OPS || !run->depth || run->depth > CUT_MAX_DEPTH)
		return -EINVAL;
	if (copy_from_user(load.ops, u64_to_user_ptr(run->ops), bytes))
		return -EFAULT;
	for (i = 0; i < run->nr; i++) {
		const struct cut_op *op = &load.ops[i];

		if (op->kind == CUT_CONTROL)
			continue;
		if (op->kind > CUT_CONTROL || op->id < CUT_FIRST_ID || op->id >= CUT_MAX_OPS ||
		    op->sectors > CUT_IO_SECTORS || op->sector + op->sectors > cut.sectors ||
		    (op->sectors ? op->kind == CUT_FLUSH : op->kind != CUT_FLUSH))
			return -EINVAL;
	}
	return 0;
}

int cut_load_start(const struct cut_run *run)
{
	int ret;

	if (cut_load_busy())
		return -EBUSY;
	ret = cut_take_ops(run);
	if (ret)
		return ret;
	load.run = *run;
	load.run.path[CUT_PATH - 1] = '\0';
	load.done = false;
	load.stop = false;
	load.ask = CUT_ASK_NOTHING;
	cut.runs++;
	cut.cuts = lab_power_cuts(NULL);
	cut.start_ns = ktime_get_ns();
	load.task = kthread_run(cut_thread, NULL, "labcut");
	if (IS_ERR(load.task)) {
		ret = PTR_ERR(load.task);
		load.task = NULL;
	}
	return ret;
}

static bool cut_asked_or_done(void)
{
	return READ_ONCE(load.done) || READ_ONCE(load.ask) == CUT_ASK_CALLER;
}

int cut_load_wait(struct cut_wait *wait)
{
	if (!load.task)
		return -EINVAL;
	if (wait_event_interruptible(load.wait, cut_asked_or_done()))
		return -EINTR;
	if (load.ask == CUT_ASK_CALLER) {
		wait->event = CUT_DO_CONTROL;
		wait->index = load.ask_index;
		cut_set_ask(CUT_ASK_TAKEN, load.ask_index);
	} else {
		wait->event = CUT_DONE;
		wait->stuck = load.stuck;
	}
	return 0;
}

/* The control that was taken is done. */
void cut_load_go(void)
{
	cut_set_ask(CUT_ASK_NOTHING, 0);
}

void cut_load_exit(void)
{
	unsigned int i;

	for (i = 0; i < CUT_MAX_DEPTH; i++)
		vfree(load.slot[i].buffer);
	vfree(load.ops);
}

int cut_load_init(void)
{
	unsigned int i;

	init_waitqueue_head(&load.wait);
	load.ops = vmalloc(array_size(CUT_MAX_OPS, sizeof(*load.ops)));
	if (!load.ops)
		return -ENOMEM;
	for (i = 0; i < CUT_MAX_DEPTH; i++) {
		load.slot[i].buffer = vzalloc(CUT_BUFFER);
		if (!load.slot[i].buffer) {
			cut_load_exit();
			return -ENOMEM;
		}
	}
	return 0;
}
