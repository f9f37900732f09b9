// SPDX-License-Identifier: GPL-2.0
/*
 * Opening the device under test.  Through its file, not through the block
 * layer's own calls: those have changed four times between 6.1 and 6.9.
 */
#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>

#include "labgen.h"

/* To be closed with fput(). */
struct file *gen_target_open(const struct gen_job *job,
			     struct block_device **bdev)
{
	int mode = job->op == GEN_READ ? O_RDONLY : O_RDWR;
	struct file *file = filp_open(job->path, mode | O_LARGEFILE, 0);

	if (IS_ERR(file))
		return file;
	if (!S_ISBLK(file_inode(file)->i_mode)) {
		fput(file);
		return ERR_PTR(-ENOTBLK);
	}
	*bdev = I_BDEV(file->f_mapping->host);
	return file;
}
