/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LABDEV_GEOMETRY_H
#define _LABDEV_GEOMETRY_H

#include <linux/types.h>

struct lab_params;

#define LAB_ZONES	16

/* All in ns and sectors. */
struct lab_geometry {
	u64 rev_ns, settle_ns, stroke_ns;
	u64 tracks;
	struct lab_zone {
		u64 first_sector, first_track;
		u32 per_track;		/* sectors, outer zones have more */
	} zone[LAB_ZONES];
};

struct lab_place {
	u64 sector, track;
	u64 angle_ns;			/* after the index mark */
	u32 per_track;
};

void lab_geometry_init(struct lab_geometry *g, const struct lab_params *par);
struct lab_place lab_place_of(const struct lab_geometry *g, u64 sector);
u64 lab_reach_ns(const struct lab_geometry *g, const struct lab_place *from,
		 const struct lab_place *to, u64 now);
u64 lab_pass_ns(const struct lab_geometry *g, const struct lab_place *at,
		u64 sectors);
u64 lab_passed(const struct lab_geometry *g, const struct lab_place *at,
	       u64 ns);

#endif
