// SPDX-License-Identifier: GPL-2.0-only
/*
 * Activation: read table and journal, rebuild slots and index.  Reads only; what
 * replay changed is written by the next checkpoint, so a second crash finds the
 * same input.  The deciding is done by replay.c.
 */
#include "core.h"

#include <optcache/replay.h>

#include <linux/device-mapper.h>
#include <linux/highmem.h>

#define OC_READ_BYTES	SZ_1M
#define OC_READ_PAGES	(OC_READ_BYTES / PAGE_SIZE)

/* A virtually contiguous buffer that a bio can be built from. */
static int read_bulk(struct oc_core *core, u64 offset, void *buf, unsigned int bytes)
{
	struct bio *bio;
	unsigned int done, n;
	int r;

	bio = bio_alloc(core->cache, OC_READ_PAGES, REQ_OP_READ | REQ_META, GFP_KERNEL);
	bio->bi_iter.bi_sector = offset >> SECTOR_SHIFT;
	for (done = 0; done < bytes; done += n) {
		n = min_t(unsigned int, bytes - done, PAGE_SIZE);
		__bio_add_page(bio, vmalloc_to_page(buf + done), n, 0);
	}
	r = submit_bio_wait(bio);
	bio_put(bio);
	return r;
}

/*
 * A bad sector somewhere in the megabyte: read page by page.  Pages that cannot be read
 * are cleared, so that their checksum is wrong; whoever needs one of them will notice.
 */
static void read_pages(struct oc_core *core, u64 offset, void *buf, unsigned int bytes)
{
	unsigned int done;

	for (done = 0; done < bytes; done += OPTCACHE_PAGE_SIZE) {
		if (!oc_sync_page_io(core->cache, REQ_OP_READ | REQ_META, offset + done,
				     vmalloc_to_page(buf + done), offset_in_page(buf + done),
				     OPTCACHE_PAGE_SIZE))
			continue;
		oc_count(core, cache_errors);
		DMERR("%s: the cache device cannot be read at its byte %llu",
		      dm_device_name(core->md), offset + done);
		memset(buf + done, 0, OPTCACHE_PAGE_SIZE);
	}
}

static int load_table(struct oc_core *core, struct oc_replay *rp, void *buf)
{
	const struct oc_geometry *geo = &core->super.geo;
	const u32 batch = OC_READ_BYTES / (2 * OPTCACHE_PAGE_SIZE);
	struct optcache_table_page *place = buf;
	u32 page, i, n;
	int r;

	for (page = 0; page < geo->nr_pages; page += n) {
		n = min(batch, geo->nr_pages - page);
		r = read_bulk(core, oc_page_offset(geo, page, 0), buf, n * 2 * OPTCACHE_PAGE_SIZE);
		if (r)
			read_pages(core, oc_page_offset(geo, page, 0), buf,
				   n * 2 * OPTCACHE_PAGE_SIZE);
		for (i = 0; i < n; i++) {
			r = oc_replay_page(rp, page + i, &place[2 * i], &place[2 * i + 1]);
			if (r) {
				DMERR("%s: mapping table page %u is damaged: run optcachectl check",
				      dm_device_name(core->md), page + i);
				return r;
			}
		}
		cond_resched();
	}
	return 0;
}

static int load_journal(struct oc_core *core, struct oc_replay *rp, void *buf)
{
	const struct oc_geometry *geo = &core->super.geo;
	u64 at, avail;
	int r;

	for (;;) {
		at = rp->offset;
		avail = min_t(u64, OC_READ_BYTES, geo->journal_size - at);
		r = read_bulk(core, geo->journal_start + at, buf, avail);
		if (r) {
			/* what is needed may lie before the bad sector: one block at a time */
			avail = min_t(u64, OPTCACHE_JOURNAL_BLOCK_MAX, avail);
			r = read_bulk(core, geo->journal_start + at, buf, avail);
		}
		if (r) {
			DMERR("%s: the journal cannot be read at its byte %llu: run optcachectl check",
			      dm_device_name(core->md), at);
			return r;
		}
		/* a whole block must be in the buffer, unless the ring ends before */
		while (!r && rp->offset >= at && rp->offset < at + avail &&
		       (at + avail - rp->offset >= OPTCACHE_JOURNAL_BLOCK_MAX ||
			at + avail == geo->journal_size))
			r = oc_replay_block(rp, buf + (rp->offset - at), at + avail - rp->offset);
		if (r == -EUCLEAN)
			DMERR("%s: the journal does not go with the superblock: run optcachectl check",
			      dm_device_name(core->md));
		if (r)
			return r == -ENODATA ? 0 : r;
		cond_resched();
	}
}

/* Only the sectors that it speaks of: others of the slot may never have been written. */
static int read_intent(struct oc_core *core, const struct oc_intent *in, void *buf)
{
	u64 sector = oc_slot_sector(&core->super.geo, in->slot);
	unsigned int first = __ffs(in->valid), n = __fls(in->valid) + 1 - first;
	struct page *page = vmalloc_to_page(buf);
	int r;

	/* a device with larger sectors has no part of one that could be bad */
	if (bdev_logical_block_size(core->cache) > SECTOR_SIZE) {
		first = 0;
		n = OPTCACHE_SECTORS_PER_BLOCK;
	}
	r = oc_sync_page_io(core->cache, REQ_OP_READ, (sector + first) << SECTOR_SHIFT, page,
			    offset_in_page(buf), n << SECTOR_SHIFT);
	if (!r && first)
		memmove(buf + (first << SECTOR_SHIFT), buf, n << SECTOR_SHIFT);
	return r;
}

/*
 * Did the data of INTENTs arrive?  When that cannot be told there is no right answer: the
 * block may hold an acknowledged write, or something else that nobody must ever see.
 */
static int judge_intents(struct oc_core *core, struct oc_replay *rp, void *buf)
{
	struct oc_intent *in;
	int r = oc_replay_collect(rp);
	u32 i;

	for (i = 0; !r && i < rp->nr_intents; i++) {
		in = &rp->intent[i];
		r = read_intent(core, in, buf);
		in->landed = !r && oc_intent_landed(in, buf);
		cond_resched();
	}
	if (r && i)
		DMERR("%s: sector %llu was being written at the crash, and its slot %u cannot be read now: try again, then run optcachectl repair",
		      dm_device_name(core->md),
		      from_oblock(in->block) * OPTCACHE_SECTORS_PER_BLOCK, from_slot(in->slot));
	return r;
}

/*
 * What was decided about INTENTs becomes durable with the first commit, as anything else
 * that is written.  Until then their slots are neither written nor used again, so a
 * recovery that is cut decides the same again.
 */
static int append_decisions(struct oc_core *core, const struct oc_replay *rp)
{
	struct oc_journal *j = &core->journal;
	const struct oc_intent *in;
	unsigned long flags;
	u32 i, spare = 2 * rp->nr_intents;

	if (spare && !oc_journal_reserve(j, spare, spare)) {
		DMERR("%s: the journal has no room for what it left undecided: run optcachectl check",
		      dm_device_name(core->md));
		return -EUCLEAN;
	}
	oc_journal_lock(j, flags);
	for (i = 0; i < rp->nr_intents; i++) {
		in = &rp->intent[i];
		if (!in->landed && !in->extends) {
			oc_journal_unmap(j, in->slot, 0);
			spare--;
			continue;
		}
		if (in->old != OC_NO_SLOT) {
			oc_journal_unmap(j, in->old, 0);
			spare--;
		}
		oc_journal_map(j, in->slot, oc_slot_read(&core->slots, in->slot), 0);
		spare--;
	}
	oc_journal_decided(j);
	spin_unlock_irqrestore(&j->lock, flags);	/* nothing is written yet */
	oc_journal_unreserve(j, spare);
	return 0;
}

static void hand_over(struct oc_core *core, struct oc_replay *rp)
{
	u32 page;

	for (page = 0; page < core->super.geo.nr_pages; page++)
		oc_checkpoint_loaded(core, page, rp->page_seq[page], test_bit(page, rp->place),
				     test_bit(page, rp->touched));
}

int oc_recover(struct oc_core *core)
{
	struct oc_replay rp;
	oc_slot_t bad;
	void *buf;
	int r;

	buf = vmalloc(OC_READ_BYTES);
	if (!buf)
		return -ENOMEM;
	r = oc_replay_init(&rp, &core->super, &core->slots);
	if (r)
		goto out_buf;
	r = load_table(core, &rp, buf);
	if (!r)
		r = load_journal(core, &rp, buf);
	if (!r)
		r = judge_intents(core, &rp, buf);
	if (r)
		goto out_replay;
	r = oc_replay_finish(&rp, &core->index, &bad);
	if (r) {
		if (bad == OC_NO_SLOT)
			DMERR("%s: a part of the journal is lost: run optcachectl check",
			      dm_device_name(core->md));
		else
			DMERR("%s: slot %u claims a block that another slot holds: run optcachectl check",
			      dm_device_name(core->md), from_slot(bad));
		goto out_replay;
	}
	r = oc_checkpoint_init(core);
	if (r)
		goto out_replay;
	hand_over(core, &rp);
	r = oc_journal_start(&core->journal, rp.lsn, rp.offset, rp.used);
	if (!r)
		r = append_decisions(core, &rp);
	if (r)
		goto out_replay;
	DMINFO("%s: %u slots, %lld mapped, %lld dirty; %llu journal records replayed",
	       dm_device_name(core->md), core->slots.nr, atomic64_read(&core->slots.nr_mapped),
	       atomic64_read(&core->slots.nr_dirty), rp.nr_records);
out_replay:
	oc_replay_exit(&rp);
out_buf:
	vfree(buf);
	return r;
}
