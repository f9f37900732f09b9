/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LABDEV_POWER_H
#define _LABDEV_POWER_H

#include <linux/types.h>

struct lab_dev;
struct lab_part;
struct lab_words;

/* One device's luck at one cut. */
struct lab_luck {
	u64 seed;
	unsigned int keep_percent, torn_percent;
	unsigned int step;		/* sectors that stay together */
	u64 kept, torn, lost;		/* parts */
};

void lab_luck_init(struct lab_luck *luck, struct lab_dev *dev, u64 seed);
u8 lab_luck_of(struct lab_luck *luck, const struct lab_part *part);
void lab_luck_report(const struct lab_luck *luck, struct lab_dev *dev);

/* A cut in wait: fires @delay_ns after the @after_ios-th write from now. */
struct lab_cut_order {
	struct lab_dev *devs[8];
	unsigned int nr;
	u64 seed, after_ios, delay_ns;
};

void lab_power_cut(const struct lab_cut_order *order);
void lab_power_arm(const struct lab_cut_order *order);
void lab_power_disarm(void);
void lab_power_count(struct lab_dev *dev);

void lab_vanish(struct lab_dev *dev, bool lossy, u64 seed);
int lab_power_up(struct lab_dev *dev, enum lab_state from, bool saved);
int lab_image_save(struct lab_dev *dev);
int lab_image_reset(struct lab_dev *dev);

void lab_power_init(void);
void lab_power_exit(void);

#endif
