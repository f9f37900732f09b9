// SPDX-License-Identifier: GPL-2.0
/*
 * Where sectors are and how long the head takes to get there.  The medium is
 * one spiral in zones of a constant number of sectors a track: no head or track
 * switches, whose cost is contained in the media rates as published.
 */
#include <linux/math.h>
#include <linux/math64.h>

#include "geometry.h"
#include "labdev.h"

/* A head this close behind its target is at it: timers are not exact. */
#define LAB_SLIP_NS	20000

static u32 lab_sectors_per_track(u64 mbps, u64 rev_ns)
{
	return max(1ULL, div64_u64(mbps * rev_ns, 1000 * SECTOR_SIZE));
}

void lab_geometry_init(struct lab_geometry *g, const struct lab_params *par)
{
	u64 sectors = lab_params_sectors(par);
	u64 per_turn = 0, tracks, sector = 0, track = 0;
	u32 outer, inner;
	unsigned int i;

	g->rev_ns = div64_u64(60 * NSEC_PER_SEC, par->rpm);
	g->settle_ns = par->settle_us * NSEC_PER_USEC;
	g->stroke_ns = par->stroke_us * NSEC_PER_USEC;
	outer = lab_sectors_per_track(par->outer_mbps, g->rev_ns);
	inner = lab_sectors_per_track(par->inner_mbps, g->rev_ns);
	for (i = 0; i < LAB_ZONES; i++) {
		g->zone[i].per_track = outer -
				       (outer - inner) * i / (LAB_ZONES - 1);
		per_turn += g->zone[i].per_track;
	}
	tracks = div64_u64(sectors + per_turn - 1, per_turn);	/* of a zone */
	for (i = 0; i < LAB_ZONES; i++) {
		g->zone[i].first_sector = sector;
		g->zone[i].first_track = track;
		sector += tracks * g->zone[i].per_track;
		track += tracks;
	}
	g->tracks = track;
}

struct lab_place lab_place_of(const struct lab_geometry *g, u64 sector)
{
	const struct lab_zone *z = &g->zone[LAB_ZONES - 1];
	struct lab_place place = { .sector = sector };
	u64 rest;

	while (sector < z->first_sector)
		z--;
	place.per_track = z->per_track;
	place.track = z->first_track +
		      div64_u64_rem(sector - z->first_sector, z->per_track, &rest);
	place.angle_ns = div_u64(rest * g->rev_ns, z->per_track);
	return place;
}

static u64 lab_seek_ns(const struct lab_geometry *g, u64 from, u64 to)
{
	u64 far = from > to ? from - to : to - from;

	/* the root in units of 1/1000 */
	far = int_sqrt64(div64_u64(far * 1000000, g->tracks));
	return g->settle_ns + div_u64(g->stroke_ns * far, 1000);
}

/* From head position @from at @now until @to comes by below the head. */
u64 lab_reach_ns(const struct lab_geometry *g, const struct lab_place *from,
		 const struct lab_place *to, u64 now)
{
	u64 gap = from->sector > to->sector ? from->sector - to->sector :
					      to->sector - from->sector;
	u64 seek = 0, angle, wait;

	/* less than a turn of the spiral away: just wait for it */
	if (gap >= to->per_track)
		seek = lab_seek_ns(g, from->track, to->track);
	div64_u64_rem(now + seek, g->rev_ns, &angle);
	wait = to->angle_ns + (to->angle_ns < angle ? g->rev_ns : 0) - angle;
	if (g->rev_ns - wait < LAB_SLIP_NS)
		wait = 0;
	return seek + wait;
}

u64 lab_pass_ns(const struct lab_geometry *g, const struct lab_place *at,
		u64 sectors)
{
	return div_u64(sectors * g->rev_ns, at->per_track);
}

u64 lab_passed(const struct lab_geometry *g, const struct lab_place *at, u64 ns)
{
	return div64_u64(ns * at->per_track, g->rev_ns);
}
