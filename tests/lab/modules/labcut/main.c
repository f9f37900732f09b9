// SPDX-License-Identifier: GPL-2.0
/*
 * labcut: /dev/labcut, for one caller at a time; see labcut.h for the plan of it.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "labcut.h"
#include "labdev/cuts.h"

struct cut_globals cut;

static DEFINE_MUTEX(cut_mutex);		/* one ioctl at a time */

static int cut_ioc_new(const void __user *arg)
{
	struct cut_new new;

	if (copy_from_user(&new, arg, sizeof(new)))
		return -EFAULT;
	if (!new.sectors || new.sectors > CUT_MAX_SECTORS)
		return -EINVAL;
	if (cut_load_busy())
		return -EBUSY;
	spin_lock_irq(&cut.lock);
	cut_oracle_new(new.seed, new.sectors);
	spin_unlock_irq(&cut.lock);
	return 0;
}

static int cut_ioc_base(const void __user *arg)
{
	char path[CUT_PATH];

	if (copy_from_user(path, arg, sizeof(path)))
		return -EFAULT;
	path[CUT_PATH - 1] = '\0';
	return cut_load_busy() ? -EBUSY : cut_base(path);
}

static int cut_ioc_start(const void __user *arg)
{
	struct cut_run run;

	if (copy_from_user(&run, arg, sizeof(run)))
		return -EFAULT;
	return cut_load_start(&run);
}

static int cut_ioc_wait(void __user *arg)
{
	struct cut_wait wait = { };
	int ret = cut_load_wait(&wait);

	if (ret)
		return ret;
	return copy_to_user(arg, &wait, sizeof(wait)) ? -EFAULT : 0;
}

static int cut_ioc_crashed(void)
{
	if (cut_load_busy())
		return -EBUSY;
	spin_lock_irq(&cut.lock);
	cut_oracle_crashed();
	spin_unlock_irq(&cut.lock);
	return 0;
}

static int cut_ioc_verify(void __user *arg)
{
	struct cut_verify v;
	int ret;

	if (copy_from_user(&v, arg, sizeof(v)))
		return -EFAULT;
	ret = cut_verify(&v);
	if (ret)
		return ret;
	return copy_to_user(arg, &v, sizeof(v)) ? -EFAULT : 0;
}

static int cut_ioc_result(void __user *arg)
{
	struct cut_result result = cut.result;
	u64 when;

	result.cuts = lab_power_cuts(&when);
	result.cut_ns = when - cut.start_ns;
	return copy_to_user(arg, &result, sizeof(result)) ? -EFAULT : 0;
}

static int cut_ioc_findings(void __user *arg)
{
	struct cut_findings f;

	if (copy_from_user(&f, arg, sizeof(f)))
		return -EFAULT;
	f.nr = min(f.max, cut.nr_findings);
	if (copy_to_user(u64_to_user_ptr(f.buf), cut.finding, f.nr * sizeof(*cut.finding)))
		return -EFAULT;
	return copy_to_user(arg, &f, sizeof(f)) ? -EFAULT : 0;
}

static int cut_ioc_traces(void __user *arg)
{
	struct cut_trace __user *to;
	struct cut_traces t;
	u32 id;

	if (copy_from_user(&t, arg, sizeof(t)))
		return -EFAULT;
	to = u64_to_user_ptr(t.buf);
	t.nr = min_t(u32, t.max, CUT_MAX_OPS);
	for (id = 0; id < t.nr; id++) {
		struct cut_trace trace = cut.record[id].trace;

		if (cut.record[id].state == CUT_UNSENT)
			trace.status = 1;
		if (copy_to_user(&to[id], &trace, sizeof(trace)))
			return -EFAULT;
	}
	return copy_to_user(arg, &t, sizeof(t)) ? -EFAULT : 0;
}

static int cut_ioctl(unsigned int cmd, void __user *arg)
{
	switch (cmd) {
	case CUT_IOC_NEW:
		return cut_ioc_new(arg);
	case CUT_IOC_BASE:
		return cut_ioc_base(arg);
	case CUT_IOC_START:
		return cut_ioc_start(arg);
	case CUT_IOC_WAIT:
		return cut_ioc_wait(arg);
	case CUT_IOC_GO:
		cut_load_go();
		return 0;
	case CUT_IOC_CRASHED:
		return cut_ioc_crashed();
	case CUT_IOC_VERIFY:
		return cut_ioc_verify(arg);
	case CUT_IOC_RESULT:
		return cut_ioc_result(arg);
	case CUT_IOC_FINDINGS:
		return cut_ioc_findings(arg);
	case CUT_IOC_TRACES:
		return cut_ioc_traces(arg);
	default:
		return -ENOTTY;
	}
}

static long cut_unlocked_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	long ret;

	if (mutex_lock_interruptible(&cut_mutex))
		return -EINTR;
	ret = cut_ioctl(cmd, (void __user *)arg);
	mutex_unlock(&cut_mutex);
	return ret;
}

static const struct file_operations cut_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = cut_unlocked_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice cut_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "labcut",
	.fops = &cut_fops,
};

static int __init labcut_init(void)
{
	int ret;

	spin_lock_init(&cut.lock);
	ret = cut_oracle_init();
	if (ret)
		return ret;
	ret = cut_load_init();
	if (ret)
		goto out_oracle;
	ret = misc_register(&cut_misc);
	if (ret)
		goto out_load;
	return 0;

out_load:
	cut_load_exit();
out_oracle:
	cut_oracle_exit();
	return ret;
}

static void __exit labcut_exit(void)
{
	misc_deregister(&cut_misc);
	cut_load_exit();
	cut_oracle_exit();
}

module_init(labcut_init);
module_exit(labcut_exit);
MODULE_DESCRIPTION("Power-cut load and oracle for tests of dm-optcache");
MODULE_LICENSE("GPL");
