/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exit codes: few, documented in optcachectl(8), and stable, for scripts branch
 * on them.  The numbers from 64 up are those of sysexits.h.
 */
#ifndef _OPTCACHECTL_EXITS_H
#define _OPTCACHECTL_EXITS_H

#include <sysexits.h>

enum {
	/* check only: what was found, worst first wins */
	OC_EXIT_SOUND		= 0,	/* stopped in order, nothing to repair */
	OC_EXIT_REPLAY		= 1,	/* sound; activation will replay the journal */
	OC_EXIT_COVERED		= 2,	/* damage that a second copy or the journal covers */
	OC_EXIT_DAMAGED		= 3,	/* damage that loses mappings or data */

	/* all verbs */
	OC_EXIT_USAGE		= EX_USAGE,	/* 64: the command line is wrong */
	OC_EXIT_DATA		= EX_DATAERR,	/* 65: no usable optcache metadata there */
	OC_EXIT_NOINPUT		= EX_NOINPUT,	/* 66: no such device or cache */
	OC_EXIT_UNAVAILABLE	= EX_UNAVAILABLE,	/* 69: no device-mapper or no module */
	OC_EXIT_OS		= EX_OSERR,	/* 71: the kernel said no, or out of memory */
	OC_EXIT_REFUSED		= EX_CANTCREAT,	/* 73: it would destroy or mix up something */
	OC_EXIT_IO		= EX_IOERR,	/* 74: a device failed */
	OC_EXIT_TEMP		= EX_TEMPFAIL,	/* 75: busy, timed out, interrupted: try again */
	OC_EXIT_PERM		= EX_NOPERM,	/* 77: needs root */
};

#endif /* _OPTCACHECTL_EXITS_H */
