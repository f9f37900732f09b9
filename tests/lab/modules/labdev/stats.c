// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs labdev/NAME: counters and parameters, one key=value a line; writing
 * anything sets the counters to zero.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "labdev.h"

void lab_stats_arrive(struct lab_dev *dev, struct lab_io *io, u64 now)
{
	struct lab_stats *s = &dev->stats;
	u64 sectors = io->end - io->start;

	lockdep_assert_held(&dev->lock);
	if (list_is_singular(&dev->inflight))
		s->busy_since = now;
	s->flushes += !!(io->bio->bi_opf & REQ_PREFLUSH);
	if (!sectors)
		return;
	s->fua += !!(io->bio->bi_opf & REQ_FUA);
	if (lab_io_zeroes(io)) {
		s->discards++;
		s->sectors_discarded += sectors;
	} else if (lab_io_writes(io)) {
		s->writes++;
		s->sectors_written += sectors;
	} else {
		s->reads++;
		s->sectors_read += sectors;
	}
}

void lab_stats_leave(struct lab_dev *dev, struct lab_io *io, u64 now)
{
	lockdep_assert_held(&dev->lock);
	dev->stats.errors += !!io->status;
	if (list_empty(&dev->inflight))
		dev->stats.busy_ns += now - dev->stats.busy_since;
}

static const char * const lab_state_names[] = {
	[LAB_UP] = "up",
	[LAB_CUT] = "cut",
	[LAB_VANISHED] = "vanished",
};

static int lab_stat_show(struct seq_file *m, void *unused)
{
	struct lab_dev *dev = m->private;
	struct lab_stats s;
	u64 unstable;

	spin_lock_irq(&dev->lock);
	s = dev->stats;
	unstable = dev->unstable_bytes;
	spin_unlock_irq(&dev->lock);

	seq_printf(m, "state=%s\n", lab_state_names[READ_ONCE(dev->state)]);
	seq_printf(m, "ios=%llu\n", s.reads + s.writes + s.flushes + s.discards);
	seq_printf(m, "reads=%llu\nwrites=%llu\n", s.reads, s.writes);
	seq_printf(m, "sectors_read=%llu\nsectors_written=%llu\n",
		   s.sectors_read, s.sectors_written);
	seq_printf(m, "flushes=%llu\nfua=%llu\n", s.flushes, s.fua);
	seq_printf(m, "discards=%llu\nsectors_discarded=%llu\n", s.discards,
		   s.sectors_discarded);
	seq_printf(m, "errors=%llu\nbusy_ns=%llu\n", s.errors, s.busy_ns);
	seq_printf(m, "unstable_bytes=%llu\n", unstable);
	seq_printf(m, "cut_kept=%llu\ncut_torn=%llu\ncut_lost=%llu\n",
		   s.cut_kept, s.cut_torn, s.cut_lost);
	if (dev->engine->show)
		dev->engine->show(dev, m);
	lab_params_show(m, &dev->par);
	return 0;
}

static int lab_stat_open(struct inode *inode, struct file *file)
{
	return single_open(file, lab_stat_show, inode->i_private);
}

static ssize_t lab_stat_write(struct file *file, const char __user *from,
			      size_t bytes, loff_t *pos)
{
	struct seq_file *m = file->private_data;
	struct lab_dev *dev = m->private;

	spin_lock_irq(&dev->lock);
	dev->stats = (struct lab_stats){ .busy_since = ktime_get_ns() };
	spin_unlock_irq(&dev->lock);
	return bytes;
}

const struct file_operations lab_stat_fops = {
	.owner = THIS_MODULE,
	.open = lab_stat_open,
	.read = seq_read,
	.write = lab_stat_write,
	.llseek = seq_lseek,
	.release = single_release,
};
