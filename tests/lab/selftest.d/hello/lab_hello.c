// SPDX-License-Identifier: GPL-2.0-only
/*
 * The least a module can be, plus faults on request: each must be noticed by
 * the lab (some by its debug kernel only).
 */
#include <linux/device-mapper.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

static char *fault = "none";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "none, warn, panic, use-after-free, lock-order, leak");

static void use_after_free(void)
{
	char *buffer = kmalloc(64, GFP_KERNEL);

	if (!buffer)
		return;
	kfree(buffer);
	OPTIMIZER_HIDE_VAR(buffer);
	WRITE_ONCE(buffer[0], 1);
}

/* Two locks of one class, nested without saying so. */
static void lock_order(void)
{
	struct mutex locks[2];	/* protect nothing */
	int i;

	for (i = 0; i < 2; i++)
		mutex_init(&locks[i]);
	mutex_lock(&locks[0]);
	mutex_lock(&locks[1]);
	mutex_unlock(&locks[1]);
	mutex_unlock(&locks[0]);
}

/* Several, because a stale pointer on the stack may hide one of them. */
static void leak(void)
{
	void *forgotten;
	int i;

	for (i = 0; i < 16; i++) {
		forgotten = kmalloc(4096, GFP_KERNEL);
		OPTIMIZER_HIDE_VAR(forgotten);
	}
}

static int __init lab_hello_init(void)
{
	WARN(!strcmp(fault, "warn"), "lab_hello: asked for\n");
	if (!strcmp(fault, "panic"))
		panic("lab_hello: asked for");
	if (!strcmp(fault, "use-after-free"))
		use_after_free();
	if (!strcmp(fault, "lock-order"))
		lock_order();
	if (!strcmp(fault, "leak"))
		leak();
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
