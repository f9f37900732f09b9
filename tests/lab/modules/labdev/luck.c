// SPDX-License-Identifier: GPL-2.0
/*
 * What a power cut does to one write: kept, lost or torn.  A pure function of
 * the seed, the device's name and the write's ordinal, so that a cut can be
 * repeated.  Devices differ in character from seed to seed, from "nothing
 * unflushed survives" to "all of it does": uniform coin flips alone would
 * almost never show a whole batch lost, or just one write missing.
 */
#include "labdev.h"
#include "power.h"
#include "random.h"

void lab_luck_init(struct lab_luck *luck, struct lab_dev *dev, u64 seed)
{
	static const u8 keep[] = { 0, 15, 50, 85, 100 };
	static const u8 torn[] = { 0, 0, 25, 60 };
	const char *c;

	for (c = dev->par.name; *c; c++)
		seed = lab_mix(seed ^ *c);
	*luck = (struct lab_luck){
		.seed = seed,
		.keep_percent = keep[lab_random_below(&seed, ARRAY_SIZE(keep))],
		.torn_percent = torn[lab_random_below(&seed, ARRAY_SIZE(torn))],
		.step = dev->par.lbs >> SECTOR_SHIFT,
	};
}

/* The sectors of @part that survive. */
u8 lab_luck_of(struct lab_luck *luck, const struct lab_part *part)
{
	u64 fate = lab_mix(luck->seed ^ lab_mix(part->id)), at = fate;
	u8 mask = part->mask;
	unsigned int s;

	if (lab_random_below(&at, 100) < luck->torn_percent) {
		at = fate ^ lab_mix(part->page->index);
		for (s = 0; s < LAB_PAGE_SECTORS; s += luck->step)
			if (lab_random(&at) & 1)
				mask &= ~GENMASK(s + luck->step - 1, s);
	} else if (lab_random_below(&at, 100) >= luck->keep_percent) {
		mask = 0;
	}
	if (mask == part->mask)
		luck->kept++;
	else if (mask)
		luck->torn++;
	else
		luck->lost++;
	return mask;
}

void lab_luck_report(const struct lab_luck *luck, struct lab_dev *dev)
{
	dev->stats.cut_kept = luck->kept;
	dev->stats.cut_torn = luck->torn;
	dev->stats.cut_lost = luck->lost;
}
