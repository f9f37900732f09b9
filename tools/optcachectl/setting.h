/* SPDX-License-Identifier: GPL-2.0-only */
/* Changing options of an active cache; set and mode share it. */
#ifndef _OPTCACHECTL_SETTING_H
#define _OPTCACHECTL_SETTING_H

#include "opts.h"

/*
 * Checks the settings among themselves and with what is in force, then sends them.
 * Return: 0 or an exit code after fail().
 */
int setting_change(const char *name, const struct opts *o, bool json);

#endif /* _OPTCACHECTL_SETTING_H */
