// SPDX-License-Identifier: GPL-2.0
/*
 * labdev: model block devices for tests; see labdev.h for the plan of it and
 * debugfs labdev/control for how to use it.
 */
#include <linux/delay.h>
#include <linux/module.h>

#include "labdev.h"
#include "power.h"

static int __init labdev_init(void)
{
	int ret = lab_io_init();

	if (ret)
		return ret;
	/*
	 * Timers have no high resolution before the second tick, and UML in
	 * simulated time can be here before the first.
	 */
	msleep(30);
	lab_power_init();
	ret = lab_control_init();
	if (ret)
		lab_io_exit();
	return ret;
}

static void __exit labdev_exit(void)
{
	lab_control_exit();
	lab_power_exit();
	lab_io_exit();
}

module_init(labdev_init);
module_exit(labdev_exit);
MODULE_DESCRIPTION("Model block devices for tests of dm-optcache");
MODULE_LICENSE("GPL");
