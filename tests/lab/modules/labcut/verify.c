// SPDX-License-Identifier: GPL-2.0
/*
 * Reading a whole device against the oracle, one read at a time; and writing the content
 * that the origin has before there is any cache.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/file.h>

#include "labcut.h"

#define CUT_BLOCK_SECTORS	8

/* @sectors of them, from or to the vmalloc'ed @buffer. */
static int cut_sync_io(struct block_device *bdev, blk_opf_t opf, u8 *buffer, u32 sector,
		       u32 sectors)
{
	struct bio *bio = cut_bio(bdev, opf, buffer, sectors);
	int ret;

	bio->bi_iter.bi_sector = sector;
	ret = submit_bio_wait(bio);
	bio_put(bio);
	return ret;
}

int cut_base(const char *path)
{
	u8 *buffer = cut_scratch();
	struct block_device *bdev;
	struct file *file;
	u32 at, n, i;
	int ret = 0;

	file = cut_open(path, true, &bdev);
	if (IS_ERR(file))
		return PTR_ERR(file);
	for (at = 0; !ret && at < cut.sectors; at += n) {
		n = min_t(u32, CUT_IO_SECTORS, cut.sectors - at);
		for (i = 0; i < n; i++)
			cut_sector_fill(buffer + i * SECTOR_SIZE, cut.seed, at + i,
					cut_value(CUT_BASE_ID, 0));
		ret = cut_sync_io(bdev, REQ_OP_WRITE | REQ_SYNC, buffer, at, n);
	}
	ret = ret ?: blkdev_issue_flush(bdev);
	fput(file);
	return ret;
}

/* Return: it is not what the cached device is known to hold. */
static bool cut_look_at(const u8 *data, u32 sector, u32 since, u32 pass)
{
	u32 value, got_sector;
	bool differs = false;

	value = cut_sector_value(data, cut.seed, sector, &got_sector);
	spin_lock_irq(&cut.lock);
	cut_note(value);
	if (pass == CUT_PASS_COUNT)
		differs = !cut_oracle_is(sector, value);
	else
		cut_oracle_read(sector, value, got_sector, since, pass);
	spin_unlock_irq(&cut.lock);
	return differs;
}

static void cut_look(struct cut_verify *v, const u8 *buffer, u32 at, u32 n, u32 since)
{
	bool differs = false;
	u32 i;

	for (i = 0; i < n; i++) {
		differs |= cut_look_at(buffer + i * SECTOR_SIZE, at + i, since, v->pass);
		if ((at + i) % CUT_BLOCK_SECTORS == CUT_BLOCK_SECTORS - 1 || i == n - 1) {
			v->differ += differs;
			differs = false;
		}
	}
}

static int cut_verify_with(struct cut_verify *v, struct block_device *bdev, u8 *buffer)
{
	u32 at, n, since;
	int ret;

	for (at = 0; at < cut.sectors; at += n) {
		n = min(v->chunk, cut.sectors - at);
		spin_lock_irq(&cut.lock);
		since = ++cut.tick;
		cut.tick++;
		spin_unlock_irq(&cut.lock);
		ret = cut_sync_io(bdev, REQ_OP_READ, buffer, at, n);
		if (ret)
			return ret;
		cut_look(v, buffer, at, n, since);
	}
	return 0;
}

/* @v->chunk: whole blocks. */
int cut_verify(struct cut_verify *v)
{
	struct block_device *bdev;
	struct file *file;
	int ret;

	if (!v->chunk || v->chunk > CUT_IO_SECTORS || v->chunk % CUT_BLOCK_SECTORS ||
	    v->pass > CUT_PASS_COUNT)
		return -EINVAL;
	v->path[CUT_PATH - 1] = '\0';
	v->differ = 0;
	file = cut_open(v->path, false, &bdev);
	if (IS_ERR(file))
		return PTR_ERR(file);
	ret = cut_verify_with(v, bdev, cut_scratch());
	fput(file);
	return ret;
}
