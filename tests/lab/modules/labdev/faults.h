/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LABDEV_FAULTS_H
#define _LABDEV_FAULTS_H

#include <linux/blk_types.h>
#include <linux/list.h>

struct lab_dev;
struct lab_io;

enum lab_fault_op {
	LAB_FAULT_READ = 1,
	LAB_FAULT_WRITE = 2,
	LAB_FAULT_FLUSH = 4,
	LAB_FAULT_DISCARD = 8,
};

/* What shall happen to I/O of kinds @ops that touches @start..@end. */
struct lab_fault {
	struct list_head node;		/* dev->faults */
	unsigned int ops;
	sector_t start, end;
	u64 skip, count;		/* matches to let pass; then to hit */
	bool heals;			/* a write over it repairs it */
	blk_status_t status;		/* BLK_STS_OK: only delay */
	u64 delay_ns;
};

void lab_faults_apply(struct lab_dev *dev, struct lab_io *io);
void lab_faults_rewritten(struct lab_dev *dev, const struct lab_io *io);
void lab_faults_add(struct lab_dev *dev, struct lab_fault *fault);
void lab_faults_clear(struct lab_dev *dev);

#endif
