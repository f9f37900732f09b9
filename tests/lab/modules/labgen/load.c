// SPDX-License-Identifier: GPL-2.0
/*
 * One run of a job.  The submitter takes a free slot (there are qd of them, and
 * it sleeps while all are in flight), fills it and sends it; the completion,
 * in interrupt context, accounts for it and frees the slot.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include "labgen.h"
#include "random.h"

struct gen_run;

struct gen_slot {
	struct list_head node;		/* run->free */
	struct gen_run *run;
	struct page *pages;
	u64 sent, block;
	u32 generation;			/* written, or to be found */
	u64 unflushed;			/* writes since this slot's last flush */
	enum req_op op;
};

struct gen_run {
	struct gen_result *result;
	const struct gen_job *job;
	struct block_device *bdev;
	u64 nr_blocks, random;
	u64 begun, sent;
	struct gen_slot *slots;
	struct page *shared;		/* buffer of all, if nobody looks at it */
	u32 *table;			/* mix, verify: generation of each block */
	struct semaphore idle;		/* counts free slots */

	spinlock_t lock;		/* everything below, and *result */
	struct list_head free;
	u64 last_done;
};

#define GEN_BUSY	GEN_SHADOW	/* in the table: I/O in flight */

static void *gen_slot_buffer(const struct gen_slot *slot)
{
	return page_address(slot->pages);
}

static sector_t gen_slot_sector(const struct gen_slot *slot)
{
	const struct gen_job *job = slot->run->job;

	return (job->start + slot->block * job->block) >> SECTOR_SHIFT;
}

static void gen_check_read(struct gen_run *run, struct gen_slot *slot)
{
	struct gen_result *r = run->result;
	sector_t first_bad;
	unsigned int bad;

	bad = gen_pattern_check(gen_slot_buffer(slot), gen_slot_sector(slot),
				run->job->block >> SECTOR_SHIFT,
				slot->generation, &first_bad);
	if (bad && (!r->mismatches || first_bad < r->first_mismatch))
		r->first_mismatch = first_bad;
	r->mismatches += bad;
}

static void gen_account(struct gen_run *run, struct gen_slot *slot, u64 now)
{
	struct gen_result *r = run->result;
	u64 bin;

	if (slot->op == REQ_OP_FLUSH) {
		gen_latency_add(&r->flush, now - slot->sent);
		return;
	}
	gen_latency_add(&r->io, now - slot->sent);
	r->bytes += run->job->block;
	if (!r->bins)
		return;
	bin = div64_u64(now - run->begun, run->job->bin_ms * NSEC_PER_MSEC);
	if (bin >= GEN_BINS)
		return;
	r->bins[bin].ios++;
	r->bins[bin].sectors += run->job->block >> SECTOR_SHIFT;
	r->nr_bins = max_t(unsigned int, r->nr_bins, bin + 1);
}

static void gen_end_io(struct bio *bio)
{
	struct gen_slot *slot = bio->bi_private;
	struct gen_run *run = slot->run;
	u64 now = ktime_get_ns();
	unsigned long flags;

	spin_lock_irqsave(&run->lock, flags);
	run->last_done = now;
	gen_account(run, slot, now);
	if (bio->bi_status)
		run->result->errors++;
	else if (run->job->verify && slot->op == REQ_OP_READ)
		gen_check_read(run, slot);
	/* what a failed write has left is not known */
	if (run->table && slot->op != REQ_OP_FLUSH)
		run->table[slot->block] = bio->bi_status ? GEN_ANY :
					  slot->generation;
	list_add(&slot->node, &run->free);
	spin_unlock_irqrestore(&run->lock, flags);
	bio_put(bio);
	up(&run->idle);
}

static bool gen_is_write(struct gen_run *run)
{
	const struct gen_job *job = run->job;

	if (job->op == GEN_MIX)
		return lab_random_below(&run->random, 100) >= job->read_percent;
	return job->op == GEN_WRITE;
}

/* Keep two I/Os to one block apart, where their order would matter. */
static void gen_choose_block(struct gen_run *run, struct gen_slot *slot)
{
	unsigned long flags;
	bool taken = true;
	u32 *entry;

	slot->block = gen_block_of(run->job, run->nr_blocks, run->sent,
				   &run->random);
	if (!run->table)
		return;
	while (taken) {
		entry = &run->table[slot->block];
		spin_lock_irqsave(&run->lock, flags);
		taken = *entry & GEN_BUSY;
		if (!taken) {
			slot->generation = *entry;
			*entry |= GEN_BUSY;
		}
		spin_unlock_irqrestore(&run->lock, flags);
		if (taken && ++slot->block == run->nr_blocks)
			slot->block = 0;
	}
}

static void gen_prepare(struct gen_run *run, struct gen_slot *slot)
{
	const struct gen_job *job = run->job;

	slot->op = gen_is_write(run) ? REQ_OP_WRITE : REQ_OP_READ;
	slot->generation = job->generation;
	gen_choose_block(run, slot);
	run->sent++;
	if (slot->op == REQ_OP_READ)
		return;
	slot->unflushed++;
	if (run->table)
		slot->generation = (job->generation + run->sent) & ~GEN_BUSY;
	else if (!slot->generation)
		slot->generation = 1;
	if (job->verify)
		gen_pattern_fill(gen_slot_buffer(slot), gen_slot_sector(slot),
				 job->block >> SECTOR_SHIFT, slot->generation);
}

static blk_opf_t gen_flags(const struct gen_run *run, const struct gen_slot *slot)
{
	if (slot->op == REQ_OP_FLUSH)
		return REQ_OP_WRITE | REQ_PREFLUSH | REQ_SYNC;
	if (slot->op == REQ_OP_READ)
		return REQ_OP_READ;
	/* as direct I/O does */
	return REQ_OP_WRITE | REQ_SYNC | REQ_IDLE |
	       (run->job->fua ? REQ_FUA : 0);
}

static void gen_send(struct gen_run *run, struct gen_slot *slot)
{
	bool data = slot->op != REQ_OP_FLUSH;
	struct bio *bio = bio_alloc(run->bdev, data ? 1 : 0,
				    gen_flags(run, slot), GFP_KERNEL);

	bio->bi_end_io = gen_end_io;
	bio->bi_private = slot;
	if (data) {
		bio->bi_iter.bi_sector = gen_slot_sector(slot);
		__bio_add_page(bio, slot->pages, run->job->block, 0);
	}
	slot->sent = ktime_get_ns();
	submit_bio(bio);
}

/*
 * What a careless application does: change a page that is being written.  One
 * that has just been sent, whose sectors now turn into the same generation's
 * shadow (its top bit set), which is as legal a content.  Without verify=1 the
 * bytes are of no meaning.
 */
static void gen_scribble(struct gen_run *run, struct gen_slot *slot)
{
	unsigned int i, sectors = run->job->block >> SECTOR_SHIFT;
	u8 *buffer = gen_slot_buffer(slot);
	u64 coins = lab_random(&run->random);

	for (i = 0; i < sectors; i++)
		if (coins >> (i % 64) & 1)
			gen_pattern_fill(buffer + (i << SECTOR_SHIFT),
					 gen_slot_sector(slot) + i, 1,
					 slot->generation | GEN_SHADOW);
}

static struct gen_slot *gen_free_slot(struct gen_run *run)
{
	struct gen_slot *slot;
	unsigned long flags;

	spin_lock_irqsave(&run->lock, flags);
	slot = list_first_entry(&run->free, struct gen_slot, node);
	list_del(&slot->node);
	spin_unlock_irqrestore(&run->lock, flags);
	return slot;
}

static void gen_put_slot(struct gen_run *run, struct gen_slot *slot)
{
	unsigned long flags;

	spin_lock_irqsave(&run->lock, flags);
	list_add(&slot->node, &run->free);
	spin_unlock_irqrestore(&run->lock, flags);
	up(&run->idle);
}

static bool gen_over(const struct gen_run *run)
{
	const struct gen_job *job = run->job;

	if (job->ios && run->sent >= job->ios)
		return true;
	return job->ms && ktime_get_ns() - run->begun >=
			  job->ms * NSEC_PER_MSEC;
}

static void gen_sleep(u64 us)
{
	ktime_t gap = ns_to_ktime(us * NSEC_PER_USEC);

	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout(&gap, HRTIMER_MODE_REL);
}

/* The next step of @slot; false: there is none, the run is over. */
static bool gen_step(struct gen_run *run, struct gen_slot *slot)
{
	const struct gen_job *job = run->job;

	if (job->flush_every && slot->unflushed >= job->flush_every) {
		slot->op = REQ_OP_FLUSH;
		slot->unflushed = 0;
		gen_send(run, slot);
		return true;
	}
	if (gen_over(run))
		return false;
	gen_prepare(run, slot);
	gen_send(run, slot);
	if (job->scribble && slot->op == REQ_OP_WRITE)
		gen_scribble(run, slot);
	if (job->gap_us)
		gen_sleep(job->gap_us);
	return true;
}

static int gen_submit_all(struct gen_run *run)
{
	struct gen_slot *slot;
	int ret;

	run->begun = ktime_get_ns();
	while (!(ret = down_killable(&run->idle))) {
		slot = gen_free_slot(run);
		if (!gen_step(run, slot)) {
			gen_put_slot(run, slot);
			break;
		}
	}
	return ret;
}

static void gen_wait(struct gen_run *run, unsigned int slots)
{
	while (slots--)
		down(&run->idle);
}

/* The last writes of some slots still want their flush. */
static void gen_finish(struct gen_run *run)
{
	const struct gen_job *job = run->job;
	unsigned int i, sent = 0;

	gen_wait(run, job->depth);
	for (i = 0; job->flush_every && i < job->depth; i++) {
		struct gen_slot *slot = &run->slots[i];

		if (slot->unflushed < job->flush_every)
			continue;
		spin_lock_irq(&run->lock);
		list_del(&slot->node);
		spin_unlock_irq(&run->lock);
		gen_step(run, slot);
		sent++;
	}
	gen_wait(run, sent);
	if (run->last_done > run->begun)
		run->result->ns = run->last_done - run->begun;
}

static int gen_alloc_buffers(struct gen_run *run)
{
	bool private = run->job->verify || run->job->scribble;
	unsigned int i, order = get_order(run->job->block);

	if (!private) {
		run->shared = alloc_pages(GFP_KERNEL | __GFP_ZERO, order);
		if (!run->shared)
			return -ENOMEM;
	}
	for (i = 0; i < run->job->depth; i++) {
		struct gen_slot *slot = &run->slots[i];

		slot->run = run;
		slot->pages = run->shared ?:
			      alloc_pages(GFP_KERNEL | __GFP_ZERO, order);
		if (!slot->pages)
			return -ENOMEM;
		list_add_tail(&slot->node, &run->free);
	}
	return 0;
}

static void gen_free_buffers(struct gen_run *run)
{
	unsigned int i, order = get_order(run->job->block);

	for (i = 0; run->slots && i < run->job->depth; i++)
		if (run->slots[i].pages && !run->shared)
			__free_pages(run->slots[i].pages, order);
	if (run->shared)
		__free_pages(run->shared, order);
	vfree(run->slots);
	vfree(run->table);
}

static int gen_alloc(struct gen_run *run)
{
	const struct gen_job *job = run->job;

	run->slots = vcalloc(job->depth, sizeof(*run->slots));
	if (!run->slots)
		return -ENOMEM;
	if (job->verify && job->op == GEN_MIX) {
		run->table = vcalloc(run->nr_blocks, sizeof(*run->table));
		if (!run->table)
			return -ENOMEM;
	}
	return gen_alloc_buffers(run);
}

static int gen_span(struct gen_run *run)
{
	const struct gen_job *job = run->job;
	u64 size = bdev_nr_bytes(run->bdev);

	if (job->start >= size || job->span > size - job->start)
		return -ERANGE;
	run->nr_blocks = div64_u64(job->span ?: size - job->start, job->block);
	if (!run->nr_blocks)
		return -ERANGE;
	/* a run that checks itself needs blocks to be apart */
	if (job->verify && job->op == GEN_MIX && run->nr_blocks < job->depth)
		return -ERANGE;
	return 0;
}

int gen_load(struct gen_result *r)
{
	struct gen_run run = {
		.result = r, .job = &r->job, .random = lab_mix(r->job.seed),
	};
	struct file *file = gen_target_open(&r->job, &run.bdev);
	int ret;

	if (IS_ERR(file))
		return PTR_ERR(file);
	spin_lock_init(&run.lock);
	INIT_LIST_HEAD(&run.free);
	sema_init(&run.idle, r->job.depth);
	ret = gen_span(&run);
	ret = ret ?: gen_alloc(&run);
	if (!ret) {
		ret = gen_submit_all(&run);
		gen_finish(&run);
	}
	gen_free_buffers(&run);
	fput(file);
	return ret;
}
