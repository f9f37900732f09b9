// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs labgen/: run, result, timeline.  See README.md beside the modules.
 */
#define pr_fmt(fmt) "labgen: " fmt

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "labgen.h"
#include "words.h"

static struct dentry *gen_debugfs;

static int gen_run_line(char *line)
{
	struct lab_words *w = kmalloc(sizeof(*w), GFP_KERNEL);
	struct gen_result *r;
	struct gen_job job;
	int ret;

	if (!w)
		return -ENOMEM;
	ret = lab_words_parse(w, "run", line) ?: gen_job_parse(&job, w);
	kfree(w);
	if (ret)
		return ret;
	r = gen_result_alloc(&job);
	if (!r)
		return -ENOMEM;
	ret = gen_load(r);
	if (ret) {
		pr_err("run: %s: error %d\n", job.path, ret);
		gen_result_free(r);
		return ret;
	}
	gen_result_publish(r);
	return 0;
}

/* Blocks until the job is done.  I/O errors are a result, not a failure. */
static ssize_t gen_run_write(struct file *file, const char __user *from,
			     size_t bytes, loff_t *pos)
{
	char *line;
	int ret;

	if (bytes >= PAGE_SIZE)
		return -E2BIG;
	line = memdup_user_nul(from, bytes);
	if (IS_ERR(line))
		return PTR_ERR(line);
	ret = gen_run_line(line);
	kfree(line);
	return ret ?: bytes;
}

static const struct file_operations gen_run_fops = {
	.owner = THIS_MODULE,
	.write = gen_run_write,
	.llseek = noop_llseek,
};

static int gen_result_print(struct seq_file *m, void *unused)
{
	gen_result_show_all(m);
	return 0;
}

static int gen_result_open(struct inode *inode, struct file *file)
{
	return single_open(file, gen_result_print, NULL);
}

static ssize_t gen_result_write(struct file *file, const char __user *from,
				size_t bytes, loff_t *pos)
{
	gen_result_forget_all();
	return bytes;
}

static const struct file_operations gen_result_fops = {
	.owner = THIS_MODULE,
	.open = gen_result_open,
	.read = seq_read,
	.write = gen_result_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int gen_timeline_show(struct seq_file *m, void *unused)
{
	gen_result_show_timelines(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(gen_timeline);

static int __init labgen_init(void)
{
	gen_debugfs = debugfs_create_dir("labgen", NULL);
	if (IS_ERR(gen_debugfs))
		return PTR_ERR(gen_debugfs);
	debugfs_create_file("run", 0200, gen_debugfs, NULL, &gen_run_fops);
	debugfs_create_file("result", 0600, gen_debugfs, NULL,
			    &gen_result_fops);
	debugfs_create_file("timeline", 0400, gen_debugfs, NULL,
			    &gen_timeline_fops);
	return 0;
}

static void __exit labgen_exit(void)
{
	debugfs_remove(gen_debugfs);
	gen_result_forget_all();
}

module_init(labgen_init);
module_exit(labgen_exit);
MODULE_DESCRIPTION("In-kernel block load generator for tests");
MODULE_LICENSE("GPL");
