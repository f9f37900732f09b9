// SPDX-License-Identifier: GPL-2.0
/*
 * Devices that reviews have measured, as settings of the engines.  The figures
 * that each has to reproduce, and the check that it does, are in the lab's
 * calibration job.  Published latencies include a few microseconds of the
 * host's; as simulated CPU costs nothing, they are part of the device here.
 */
#include <linux/string.h>

#include "labdev.h"

const struct lab_preset lab_presets[] = {
	{ "null", &lab_null, "" },
	{ "ram", &lab_ram, "" },

	{ "optane-mem-16", &lab_optane,
	  "size_mb=13700 read_ns=16700 write_ns=24700 channels=8\n"
	  "read_mbps=900 write_mbps=145 read_4k_ns=5260 write_4k_ns=23950\n"
	  "flush_ns=11000" },
	{ "optane-mem-32", &lab_optane,
	  "size_mb=28000 read_ns=14700 write_ns=18700 channels=8\n"
	  "read_mbps=1350 write_mbps=290 read_4k_ns=4160 write_4k_ns=15380\n"
	  "flush_ns=11000" },
	{ "optane-m10-64", &lab_optane,
	  "size_mb=56000 read_ns=11700 write_ns=17700 channels=8\n"
	  "read_mbps=1450 write_mbps=640 read_4k_ns=4160 write_4k_ns=7690\n"
	  "flush_ns=11000" },
	{ "optane-800p-118", &lab_optane,
	  "size_mb=112000 read_ns=11700 write_ns=17700 channels=8\n"
	  "read_mbps=1450 write_mbps=640 read_4k_ns=4000 write_4k_ns=7140\n"
	  "flush_ns=11000" },
	{ "optane-p4800x", &lab_optane,
	  "size_mb=357000 read_ns=15300 write_ns=22600 channels=16\n"
	  "read_mbps=2400 write_mbps=2000 read_4k_ns=1810 write_4k_ns=1990\n"
	  "read_p99_ns=19500 read_p999_ns=39300 read_p9999_ns=46000\n"
	  "write_p99_ns=38900 write_p999_ns=56300 write_p9999_ns=61500\n"
	  "flush_ns=11000" },
	{ "ssd-sata", &lab_optane,
	  "size_mb=228000 volatile=1 discard=1 tags=32 read_ns=55500\n"
	  "write_ns=166500 channels=32 read_mbps=530 write_mbps=450\n"
	  "read_4k_ns=12500 write_4k_ns=14280 flush_ns=500000" },

	{ "disk-7200", &lab_disk,
	  "size_mb=953869 volatile=1 tags=64 rpm=7200 settle_us=600\n"
	  "stroke_us=13300 outer_mbps=157 inner_mbps=82 link_mbps=500\n"
	  "host_us=50 cache_kb=32768 cache_slots=256 ahead_kb=4096 ncq=32\n"
	  "flush_us=50" },
	{ "disk-5400", &lab_disk,
	  "size_mb=476940 volatile=1 tags=64 rpm=5400 settle_us=1200\n"
	  "stroke_us=15000 outer_mbps=122 inner_mbps=62 link_mbps=500\n"
	  "host_us=50 cache_kb=8192 cache_slots=64 ahead_kb=2048 ncq=32\n"
	  "flush_us=50" },

	/* for whoever does not care which */
	{ "optane", &lab_optane,
	  "read_ns=11700 write_ns=17700 channels=8 read_mbps=1450\n"
	  "write_mbps=640 read_4k_ns=4160 write_4k_ns=7690 flush_ns=11000" },
	{ "disk", &lab_disk,
	  "size_mb=32768 volatile=1 tags=64 rpm=7200 settle_us=600\n"
	  "stroke_us=13300 outer_mbps=157 inner_mbps=82 link_mbps=500\n"
	  "host_us=50 cache_kb=32768 cache_slots=256 ahead_kb=4096 ncq=32\n"
	  "flush_us=50" },
	{ }
};

const struct lab_preset *lab_preset_find(const char *name)
{
	const struct lab_preset *p;

	for (p = lab_presets; p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}
