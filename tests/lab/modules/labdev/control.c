// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs labdev/control: one command a line.  Reading it gives the commands,
 * the models, the parameters and the devices there are.  What is refused is
 * explained in one line of the kernel log.
 */
#define pr_fmt(fmt) "labdev: " fmt

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "labdev.h"
#include "orders.h"
#include "words.h"

#define LAB_MAX_LINES	4096	/* bytes of one write() */

struct dentry *lab_debugfs;

static int lab_obey(char *line)
{
	struct lab_words *w = kmalloc(sizeof(*w), GFP_KERNEL);
	char *verb = strsep(&line, " \t");
	const struct lab_command *c;
	int ret = 0;

	if (!w)
		return -ENOMEM;
	for (c = lab_commands; c->verb; c++)
		if (!strcmp(c->verb, verb))
			break;
	if (!c->verb) {
		pr_err("unknown command '%s'; read the control file for a list\n",
		       verb);
		ret = -EINVAL;
	}
	ret = ret ?: lab_words_parse(w, verb, line);
	ret = ret ?: c->run(w);
	kfree(w);
	return ret;
}

static ssize_t lab_control_write(struct file *file, const char __user *from,
				 size_t bytes, loff_t *pos)
{
	char *lines, *rest, *line;
	int ret = 0;

	if (bytes > LAB_MAX_LINES)
		return -E2BIG;
	lines = memdup_user_nul(from, bytes);
	if (IS_ERR(lines))
		return PTR_ERR(lines);
	rest = lines;
	mutex_lock(&lab_mutex);
	while (!ret && (line = strsep(&rest, "\n"))) {
		line = strim(line);
		if (*line && *line != '#')
			ret = lab_obey(line);
	}
	mutex_unlock(&lab_mutex);
	kfree(lines);
	return ret ?: bytes;
}

/* "#   TITLE first line", and the other lines below it. */
static void lab_show_lines(struct seq_file *m, const char *title,
			   const char *lines)
{
	size_t length;

	seq_printf(m, "#   %s ", title);
	for (; *lines; lines += length) {
		length = strcspn(lines, "\n");
		seq_printf(m, "%.*s\n", (int)length, lines);
		if (!lines[length])
			return;
		length++;
		seq_puts(m, "#\t");
	}
	seq_putc(m, '\n');
}

static int lab_control_show(struct seq_file *m, void *unused)
{
	const struct lab_preset *p;
	const struct lab_command *c;
	struct lab_dev *dev;

	seq_puts(m, "# commands\n");
	for (c = lab_commands; c->verb; c++)
		lab_show_lines(m, c->verb, c->usage);
	seq_puts(m, "# models\n");
	for (p = lab_presets; p->name; p++)
		lab_show_lines(m, p->name, p->settings);
	seq_puts(m, "# parameters\n");
	lab_params_help(m);
	mutex_lock(&lab_mutex);
	list_for_each_entry(dev, &lab_devices, node)
		seq_printf(m, "name=%s model=%s size_mb=%llu\n", dev->par.name,
			   dev->par.preset->name, dev->par.size_mb);
	mutex_unlock(&lab_mutex);
	return 0;
}

static int lab_control_open(struct inode *inode, struct file *file)
{
	return single_open(file, lab_control_show, NULL);
}

static const struct file_operations lab_control_fops = {
	.owner = THIS_MODULE,
	.open = lab_control_open,
	.read = seq_read,
	.write = lab_control_write,
	.llseek = seq_lseek,
	.release = single_release,
};

int lab_control_init(void)
{
	lab_debugfs = debugfs_create_dir("labdev", NULL);
	if (IS_ERR(lab_debugfs))
		return PTR_ERR(lab_debugfs);
	debugfs_create_file("control", 0600, lab_debugfs, NULL,
			    &lab_control_fops);
	return 0;
}

/* An open device holds the module, so all of them can go. */
void lab_control_exit(void)
{
	struct lab_dev *dev, *next;

	debugfs_remove(lab_debugfs);
	list_for_each_entry_safe(dev, next, &lab_devices, node) {
		list_del(&dev->node);
		WARN_ON(lab_dev_destroy(dev));
	}
}
