/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is on a device: a sparse set of 4 KiB pages.  A page of zeroes is not
 * kept, so an empty terabyte costs nothing, and neither does one of zeroes.
 */
#ifndef _LABDEV_STORE_H
#define _LABDEV_STORE_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/xarray.h>

#define LAB_PAGE_SIZE	4096
#define LAB_PAGE_SECTORS 8

struct bio;
struct lab_dev;
struct lab_io;
struct seq_file;

struct lab_page {
	pgoff_t index;
	unsigned int pins;		/* parts that refer to it */
	u8 *data;			/* what a read sees */
	u8 *stable;			/* below @versions: what is durable */
	struct list_head versions;	/* unstable parts, oldest first */
};

/*
 * What one write does to one page: while it is in flight, and on a device with
 * a volatile cache also from its acknowledgment until it is durable.
 */
struct lab_part {
	struct list_head node;		/* io->parts, later dev->unstable */
	struct list_head version;	/* page->versions */
	struct lab_page *page;
	u64 id, ack;
	u8 first, mask;			/* sectors of the page */
	u8 *data;			/* from sector @first on; NULL: zeroes */
};

struct lab_store {
	struct xarray pages;		/* struct lab_page */
	struct xarray saved;		/* contents as of "save", plain pages */
};

void lab_store_init(struct lab_store *store);
void lab_store_destroy(struct lab_store *store);
struct lab_page *lab_store_pin(struct lab_dev *dev, pgoff_t index, gfp_t gfp);
struct lab_page *lab_store_pin_existing(struct lab_dev *dev, pgoff_t *index,
					pgoff_t last);
void lab_store_unpin(struct lab_dev *dev, struct lab_page *page);
void lab_store_read(struct lab_dev *dev, struct bio *bio);
int lab_store_save(struct lab_dev *dev);
int lab_store_load(struct lab_dev *dev);

/* part.c */
int lab_parts_create(struct lab_dev *dev, struct lab_io *io, gfp_t gfp);
void lab_parts_release(struct lab_dev *dev, struct lab_io *io);
void lab_part_release(struct lab_dev *dev, struct lab_part *part);
void lab_part_copy(u8 *to, const struct lab_part *part, u8 mask);
unsigned int lab_part_bytes(const struct lab_part *part);
void lab_bio_fetch(struct bio *bio, struct bvec_iter *at, u8 *to,
		   unsigned int bytes);

/* volatile.c */
void lab_write(struct lab_dev *dev, struct lab_io *io);
void lab_flush(struct lab_dev *dev, u64 last);
void lab_settle_all(struct lab_dev *dev);
void lab_lose_power(struct lab_dev *dev, u64 seed);

#endif
