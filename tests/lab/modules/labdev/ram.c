// SPDX-License-Identifier: GPL-2.0
/*
 * The engines without time.  "ram" is done when it is told, for functional
 * tests.  "null" is not even told: writes are lost and reads leave the caller's
 * pages as they were, which is what counting instructions wants.
 */
#include "labdev.h"

static void lab_ram_start(struct lab_dev *dev, struct lab_io *io, u64 now)
{
	lab_io_done_at(dev, io, now);
}

const struct lab_engine lab_ram = {
	.name = "ram",
	.start = lab_ram_start,
};

const struct lab_engine lab_null = {
	.name = "null",
	.bypass = true,
	.start = lab_ram_start,
};
