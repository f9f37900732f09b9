// SPDX-License-Identifier: GPL-2.0-only
/*
 * The least a module can be, plus one thing that must not go unnoticed: with
 * warn=1 it trips a WARN while loading.
 */
#include <linux/device-mapper.h>
#include <linux/module.h>

static bool warn;
module_param(warn, bool, 0444);
MODULE_PARM_DESC(warn, "trip a WARN while loading");

static int __init lab_hello_init(void)
{
	WARN(warn, "lab_hello: asked for");
	pr_info("lab_hello: loaded, struct bio has %zu bytes\n", sizeof(struct bio));
	return 0;
}
module_init(lab_hello_init);

static void __exit lab_hello_exit(void)
{
}
module_exit(lab_hello_exit);

MODULE_DESCRIPTION("Self test of the lab");
MODULE_LICENSE("GPL");
