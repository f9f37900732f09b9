/* SPDX-License-Identifier: GPL-2.0-only */
/* What a user may ask of a running cache, by message or through sysfs. */
#ifndef _OC_MESSAGES_H
#define _OC_MESSAGES_H

struct oc_core;

/* The target's message function.  Return: 0, or -EINVAL and a line in the kernel log. */
int oc_message(struct oc_core *core, unsigned int argc, char **argv, char *result,
	       unsigned int maxlen);

/*
 * Put one option into force; @value may end in a newline.  Takes core->admin.
 * Return: 0, or -EINVAL and a line in the kernel log.
 */
int oc_set_option(struct oc_core *core, const char *key, const char *value);

#endif /* _OC_MESSAGES_H */
