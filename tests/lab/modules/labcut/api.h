/* SPDX-License-Identifier: GPL-2.0 */
/*
 * labcut, as seen from user space: ioctls of /dev/labcut.
 */
#ifndef _LABCUT_API_H
#define _LABCUT_API_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define CUT_PATH	32
#define CUT_MAX_SECTORS	8192		/* of the device under test */
#define CUT_MAX_OPS	8192		/* of one seed */
#define CUT_IO_SECTORS	2048		/* of one I/O */
#define CUT_MAX_DEPTH	32

enum cut_kind {
	CUT_READ,
	CUT_WRITE,
	CUT_FLUSH,
	CUT_DISCARD,
	CUT_ZEROES,
	CUT_CONTROL,		/* something the caller does, see cut_wait */
};

enum cut_flag {
	CUT_FUA = 1,
	CUT_PREFLUSH = 2,
	CUT_SCRIBBLE = 4,	/* the buffer changes while it is written */
	CUT_ALONE = 8,		/* control: no I/O in flight, device closed */
};

/* @id: from CUT_FIRST_ID, unique over the seed; it is what the op writes. */
#define CUT_BASE_ID	1
#define CUT_FIRST_ID	2

struct cut_op {
	__u64 at_ns;		/* not sent before, from the start of the run */
	__u32 sector;
	__u16 sectors;
	__u16 id;
	__u8 kind;
	__u8 flags;
	__u8 control, arg;	/* the caller's */
};

struct cut_new {
	__u64 seed;
	__u32 sectors;
	__u32 unused;
};

struct cut_run {
	char path[CUT_PATH];
	__u64 ops;		/* struct cut_op * */
	__u32 nr;
	__u32 depth;
};

enum cut_event {
	CUT_DO_CONTROL,
	CUT_DONE,
};

struct cut_wait {
	__u32 event;
	__u32 index;		/* of the control, in the ops of cut_run */
	__u32 stuck;		/* done: I/O did not come back */
	__u32 unused;
};

enum cut_bad {
	CUT_LOST,		/* older than what was durable at a cut */
	CUT_STALE,		/* older than what had been written */
	CUT_FOREIGN,		/* never written to this sector */
	CUT_UNSTABLE,		/* not what it was read as before */
	CUT_ERROR,		/* an I/O error without a cut */
	CUT_NR_BAD
};

enum cut_pass {
	CUT_PASS_FIRST,		/* after a cut */
	CUT_PASS_AGAIN,		/* nothing was written since the last pass */
	CUT_PASS_BARE,		/* the origin alone */
	CUT_PASS_COUNT,		/* how many 4 KiB blocks differ; nothing is wrong with that */
};

struct cut_verify {
	char path[CUT_PATH];
	__u32 pass;
	__u32 chunk;		/* sectors of a read */
	__u32 differ;		/* out */
	__u32 unused;
};

struct cut_result {
	__u64 bad[CUT_NR_BAD];
	__u64 hash;		/* of everything that was seen, in its order */
	__u64 late;		/* acknowledged after the cut */
	__u64 sent, ended;
	__u64 cuts;		/* of all times */
	__u64 cut_ns;		/* the last one, from the start of the run */
	__u64 skipped;		/* ops that were not sent: too many versions */
};

/* Something that was wrong, for the report. */
struct cut_finding {
	__u64 at_ns;
	__u32 bad;
	__u32 sector;
	__u32 got, got_sector;	/* got: id * 4 + variant; 0 zeroes; ~0 garbage */
	__u32 pass;		/* or ~0: a read of the load */
	__u32 nr;		/* of legal versions */
	__u32 legal[8];
};

struct cut_findings {
	__u64 buf;		/* struct cut_finding * */
	__u32 max, nr;
};

struct cut_trace {
	__u64 sent_ns, done_ns;
	__s32 status;		/* -errno; 1: not sent; 2: not acknowledged */
	__u32 run;		/* how many runs came before */
};

struct cut_traces {
	__u64 buf;		/* struct cut_trace *, by id */
	__u32 max, nr;
};

#define CUT_IOC_NEW		_IOW('C', 1, struct cut_new)
#define CUT_IOC_BASE		_IOW('C', 2, char[CUT_PATH])
#define CUT_IOC_START		_IOW('C', 3, struct cut_run)
#define CUT_IOC_WAIT		_IOR('C', 4, struct cut_wait)
#define CUT_IOC_GO		_IO('C', 5)
#define CUT_IOC_CRASHED		_IO('C', 6)
#define CUT_IOC_VERIFY		_IOWR('C', 7, struct cut_verify)
#define CUT_IOC_RESULT		_IOR('C', 8, struct cut_result)
#define CUT_IOC_FINDINGS	_IOWR('C', 9, struct cut_findings)
#define CUT_IOC_TRACES		_IOWR('C', 10, struct cut_traces)

#endif
