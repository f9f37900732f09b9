/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _OC_SYSFS_H
#define _OC_SYSFS_H

struct oc_core;

/*
 * optcache/ appears under the dm device, in preresume; calling it again does nothing.
 * Return: 0 or -errno.
 */
int oc_sysfs_add(struct oc_core *core);

/*
 * It goes, in postsuspend.  Waits for readers and writers of its files, so the caller
 * must not hold core->admin, which a writer takes.  When it returns, no one uses the
 * core through sysfs any more, whatever files are still open.
 */
void oc_sysfs_remove(struct oc_core *core);

#endif /* _OC_SYSFS_H */
