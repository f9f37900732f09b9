// SPDX-License-Identifier: GPL-2.0
/*
 * Faults: rules that an arriving I/O is held against, in the order in which
 * they were made.  An I/O that is to fail still takes its time, and a write
 * that fails leaves the old content.
 */
#include <linux/slab.h>

#include "faults.h"
#include "labdev.h"

static unsigned int lab_fault_ops_of(const struct lab_io *io)
{
	unsigned int ops = 0;

	if (io->bio->bi_opf & REQ_PREFLUSH)
		ops |= LAB_FAULT_FLUSH;
	if (io->end == io->start)
		return ops;
	if (lab_io_zeroes(io))
		return ops | LAB_FAULT_DISCARD;
	return ops | (op_is_write(bio_op(io->bio)) ? LAB_FAULT_WRITE :
						     LAB_FAULT_READ);
}

static bool lab_fault_hits(struct lab_fault *f, const struct lab_io *io,
			   unsigned int ops)
{
	if (!(f->ops & ops))
		return false;
	/* an empty flush has no place, so it is everywhere */
	if (io->end > io->start && (io->start >= f->end || io->end <= f->start))
		return false;
	if (f->skip) {
		f->skip--;
		return false;
	}
	return true;
}

static void lab_fault_free(struct lab_fault *f)
{
	list_del(&f->node);
	kfree(f);
}

void lab_faults_apply(struct lab_dev *dev, struct lab_io *io)
{
	unsigned int ops = lab_fault_ops_of(io);
	struct lab_fault *f, *next;

	lockdep_assert_held(&dev->lock);
	list_for_each_entry_safe(f, next, &dev->faults, node) {
		if (!lab_fault_hits(f, io, ops))
			continue;
		if (!io->status)
			io->status = f->status;
		io->delay += f->delay_ns;
		if (f->count && !--f->count)
			lab_fault_free(f);
	}
}

/* Drives give a rewritten sector a new place. */
void lab_faults_rewritten(struct lab_dev *dev, const struct lab_io *io)
{
	struct lab_fault *f, *next;

	lockdep_assert_held(&dev->lock);
	list_for_each_entry_safe(f, next, &dev->faults, node)
		if (f->heals && io->start <= f->start && io->end >= f->end)
			lab_fault_free(f);
}

void lab_faults_add(struct lab_dev *dev, struct lab_fault *fault)
{
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	list_add_tail(&fault->node, &dev->faults);
	spin_unlock_irqrestore(&dev->lock, flags);
}

void lab_faults_clear(struct lab_dev *dev)
{
	struct lab_fault *f, *next;
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	list_for_each_entry_safe(f, next, &dev->faults, node)
		lab_fault_free(f);
	spin_unlock_irqrestore(&dev->lock, flags);
}
