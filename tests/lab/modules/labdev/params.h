/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LABDEV_PARAMS_H
#define _LABDEV_PARAMS_H

#include <linux/blkdev.h>
#include <linux/types.h>

struct lab_engine;
struct lab_words;
struct seq_file;

/*
 * A device as ordered by "add".  All numbers are u64 so that one table can
 * describe them; params.c says what each is for.
 */
struct lab_params {
	char name[DISK_NAME_LEN];
	const struct lab_preset *preset;

	/* any device */
	u64 size_mb, size_kb, lbs, pbs, has_cache, discard, max_kb, tags;
	u64 seed, hold_kb, fail_us;

	/* optane: an address-mapped medium behind parallel channels */
	u64 read_ns, write_ns, channels, read_mbps, write_mbps;
	u64 read_4k_ns, write_4k_ns, flush_ns, jitter_ns;
	u64 read_p99_ns, read_p999_ns, read_p9999_ns;
	u64 write_p99_ns, write_p999_ns, write_p9999_ns;

	/* disk */
	u64 rpm, settle_us, stroke_us, outer_mbps, inner_mbps, link_mbps;
	u64 host_us, cache_kb, cache_slots, ahead_kb, ncq, flush_us;
};

struct lab_preset {
	const char *name;
	const struct lab_engine *engine;
	const char *settings;		/* as they would be typed */
};

/* The capacity in sectors. */
static inline u64 lab_params_sectors(const struct lab_params *par)
{
	return par->size_kb ? par->size_kb << (10 - SECTOR_SHIFT) :
			      par->size_mb << (20 - SECTOR_SHIFT);
}

extern const struct lab_preset lab_presets[];
const struct lab_preset *lab_preset_find(const char *name);

int lab_params_parse(struct lab_params *par, struct lab_words *w);
void lab_params_help(struct seq_file *m);
void lab_params_show(struct seq_file *m, const struct lab_params *par);

#endif
