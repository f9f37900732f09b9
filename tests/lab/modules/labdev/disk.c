// SPDX-License-Identifier: GPL-2.0
/*
 * A hard disk: one arm that does one thing at a time.
 *
 * Reads that the buffer cannot answer wait on ->reads for the arm, which takes
 * the one it reaches first.  After a read the head goes on reading ahead until
 * it is called away.  Writes go into the write cache and are written when there
 * is nothing to read for a while, or when the cache is nearly full, or when a
 * flush or FUA waits; then reads and writes take turns.  A write that finds no
 * room waits on ->writes.  Without a (volatile) cache the same queue is only
 * there to choose from: a write is acknowledged when it is on the medium.
 */
#include <linux/math64.h>
#include <linux/slab.h>

#include "geometry.h"
#include "labdev.h"
#include "rcache.h"
#include "wcache.h"

#define LAB_IDLE_NS	(3 * NSEC_PER_MSEC)	/* no read for so long: write */
#define LAB_STARVED_NS	(500 * NSEC_PER_MSEC)	/* passed over for so long */
#define LAB_JOIN_SECTORS 64	/* so near ahead of the head is sequential */

struct lab_disk_state {
	struct lab_geometry geometry;
	struct lab_wcache wcache;
	struct lab_rcache rcache;
	u64 size, ahead;			/* sectors */
	struct list_head reads, writes, flushes;

	/* what the arm is doing, if it is */
	bool busy, wrote_last;
	u64 busy_until;
	struct lab_io *reading;
	struct lab_extent *writing;

	/* the head: at @head as of @head_time, and reading on if @ahead_on */
	u64 head, head_time;
	bool ahead_on;
	u64 ahead_from, ahead_limit;

	u64 last_read, link_free;
	u64 media_reads, media_writes, buffer_hits, seek_ns;
};

static u64 lab_disk_head(const struct lab_disk_state *d, u64 now)
{
	struct lab_place at;

	if (!d->ahead_on || now <= d->head_time)
		return d->head;
	at = lab_place_of(&d->geometry, d->head);
	return min(d->head + lab_passed(&d->geometry, &at, now - d->head_time),
		   max(d->ahead_limit, d->head));
}

/* The end of reading ahead: what was read becomes a segment of the buffer. */
static void lab_disk_stop_ahead(struct lab_disk_state *d, u64 now)
{
	u64 head = lab_disk_head(d, now);

	if (d->ahead_on)
		lab_rcache_keep(&d->rcache, d->ahead_from, head);
	d->ahead_on = false;
	d->head = head;
	d->head_time = now;
}

/* When @sectors are across the interface that may carry them @from then. */
static u64 lab_disk_link(struct lab_dev *dev, u64 from, u64 sectors)
{
	struct lab_disk_state *d = dev->model;

	d->link_free = max(from, d->link_free) +
		       div64_u64(sectors * SECTOR_SIZE * 1000,
				 dev->par.link_mbps);
	return d->link_free + dev->par.host_us * NSEC_PER_USEC;
}

static bool lab_disk_buffered(struct lab_disk_state *d, const struct lab_io *io,
			      u64 now)
{
	if (lab_wcache_holds(&d->wcache, io->start, io->end))
		return true;
	if (d->ahead_on && io->start >= d->ahead_from &&
	    io->end <= lab_disk_head(d, now)) {
		d->ahead_limit = min(max(d->ahead_limit, io->end + d->ahead),
				     d->size);
		return true;
	}
	return lab_rcache_holds(&d->rcache, io->start, io->end);
}

static bool lab_disk_answer(struct lab_dev *dev, struct lab_io *io, u64 now)
{
	struct lab_disk_state *d = dev->model;

	if (!lab_disk_buffered(d, io, now))
		return false;
	d->buffer_hits++;
	d->last_read = now;
	lab_io_done_at(dev, io, lab_disk_link(dev, now, io->end - io->start));
	return true;
}

static bool lab_disk_admit(struct lab_dev *dev, struct lab_io *io, u64 now)
{
	struct lab_disk_state *d = dev->model;
	struct lab_extent *e = lab_wcache_admit(&d->wcache, io->start, io->end);
	u64 there;

	if (!e)
		return false;
	lab_rcache_drop(&d->rcache, io->start, io->end);
	there = lab_disk_link(dev, now, io->end - io->start);
	if (!dev->par.has_cache || (io->bio->bi_opf & REQ_FUA))
		list_move_tail(&io->node, &e->waiters);
	else
		lab_io_done_at(dev, io, there);
	return true;
}

static void lab_disk_end_flushes(struct lab_dev *dev, u64 now)
{
	struct lab_disk_state *d = dev->model;
	struct lab_io *io, *next;

	list_for_each_entry_safe(io, next, &d->flushes, node) {
		if (lab_wcache_older(&d->wcache, io->ticket))
			return;
		lab_io_done_at(dev, io, now + (dev->par.flush_us +
					       dev->par.host_us) * NSEC_PER_USEC);
	}
}

static void lab_disk_start(struct lab_dev *dev, struct lab_io *io, u64 now)
{
	struct lab_disk_state *d = dev->model;

	if (io->phase == LAB_FLUSHING) {
		io->ticket = d->wcache.tickets;
		list_add_tail(&io->node, &d->flushes);
		lab_disk_end_flushes(dev, now);
	} else if (lab_io_zeroes(io)) {
		lab_io_done_at(dev, io, now + dev->par.host_us * NSEC_PER_USEC);
	} else if (lab_io_writes(io)) {
		if (!list_empty(&d->writes) || !lab_disk_admit(dev, io, now))
			list_add_tail(&io->node, &d->writes);
	} else if (!lab_disk_answer(dev, io, now)) {
		list_add_tail(&io->node, &d->reads);
	}
}

static void lab_disk_end_read(struct lab_dev *dev, struct lab_io *io, u64 now)
{
	struct lab_disk_state *d = dev->model;

	d->head = io->end;
	d->head_time = now;
	d->ahead_on = true;
	d->ahead_limit = min(io->end + d->ahead, d->size);
	d->last_read = now;
	/* the rest crossed the interface while the medium was read */
	lab_io_done_at(dev, io, lab_disk_link(dev, now,
					      min_t(u64, io->end - io->start,
						    LAB_PAGE_SECTORS)));
}

static void lab_disk_end_write(struct lab_dev *dev, struct lab_extent *e,
			       u64 now)
{
	struct lab_disk_state *d = dev->model;
	struct lab_io *io, *next;

	d->head = e->end;
	d->head_time = now;
	list_for_each_entry_safe(io, next, &e->waiters, node)
		lab_io_done_at(dev, io, now + dev->par.host_us * NSEC_PER_USEC);
	lab_wcache_written(&d->wcache, e);
	list_for_each_entry_safe(io, next, &d->writes, node)
		if (!lab_disk_admit(dev, io, now))
			break;
	lab_disk_end_flushes(dev, now);
}

static void lab_disk_end_operation(struct lab_dev *dev)
{
	struct lab_disk_state *d = dev->model;
	struct lab_io *io = d->reading;

	d->busy = false;
	d->reading = NULL;
	if (io)
		lab_disk_end_read(dev, io, d->busy_until);
	else
		lab_disk_end_write(dev, d->writing, d->busy_until);
}

/* Does reading ahead bring the head to @io, with @head being there now? */
static bool lab_disk_joins(const struct lab_disk_state *d,
			   const struct lab_io *io, u64 head)
{
	return d->ahead_on && io->start >= d->ahead_from &&
	       io->start <= head + LAB_JOIN_SECTORS;
}

static struct lab_io *lab_disk_choose_read(struct lab_dev *dev, u64 now,
					   u64 *reach)
{
	struct lab_disk_state *d = dev->model;
	u64 head = lab_disk_head(d, now), ns;
	struct lab_place from = lab_place_of(&d->geometry, head), to;
	struct lab_io *io, *best = NULL;
	unsigned int seen = 0;

	list_for_each_entry(io, &d->reads, node) {
		to = lab_place_of(&d->geometry, io->start);
		ns = lab_disk_joins(d, io, head) ? 0 :
		     lab_reach_ns(&d->geometry, &from, &to, now);
		if (!best || ns < *reach) {
			best = io;
			*reach = ns;
		}
		if (!seen && now - io->arrived > LAB_STARVED_NS)
			break;
		if (++seen == dev->par.ncq)
			break;
	}
	return best;
}

static void lab_disk_read(struct lab_dev *dev, u64 now)
{
	struct lab_disk_state *d = dev->model;
	u64 head = lab_disk_head(d, now), reach, first;
	struct lab_io *io = lab_disk_choose_read(dev, now, &reach);
	struct lab_place at = lab_place_of(&d->geometry, io->start);

	list_del_init(&io->node);
	first = io->start;
	if (lab_disk_joins(d, io, head)) {
		first = min_t(u64, head, io->end);	/* the rest is there */
		if (io->end > d->ahead_from + d->ahead / 2)
			d->ahead_from = io->end - d->ahead / 2;
		d->ahead_on = false;
	} else {
		lab_disk_stop_ahead(d, now);
		d->ahead_from = io->start;
	}
	d->reading = io;
	d->busy = true;
	d->wrote_last = false;
	d->last_read = now;
	d->media_reads++;
	d->seek_ns += reach;
	d->busy_until = now + reach +
			lab_pass_ns(&d->geometry, &at, io->end - first);
}

static bool lab_disk_write(struct lab_dev *dev, u64 now)
{
	struct lab_disk_state *d = dev->model;
	struct lab_io *flush = list_first_entry_or_null(&d->flushes,
							struct lab_io, node);
	struct lab_place from = lab_place_of(&d->geometry,
					     lab_disk_head(d, now));
	struct lab_extent *e;
	u64 reach;

	e = lab_wcache_nearest(&d->wcache, flush ? flush->ticket : U64_MAX,
			       &from, now, &reach);
	if (!e)
		return false;
	lab_disk_stop_ahead(d, now);
	e->writing = true;
	d->writing = e;
	d->busy = true;
	d->wrote_last = true;
	d->media_writes++;
	d->seek_ns += reach;
	d->busy_until = now + reach + lab_pass_ns(&d->geometry, &e->place,
						  e->end - e->start);
	return true;
}

/* Give the idle arm something to do; the time at which to look again. */
static u64 lab_disk_pick(struct lab_dev *dev, u64 now)
{
	struct lab_disk_state *d = dev->model;
	struct lab_io *io, *next;
	bool pressed;

	list_for_each_entry_safe(io, next, &d->reads, node)
		lab_disk_answer(dev, io, now);
	pressed = !list_empty(&d->flushes) || !list_empty(&d->writes) ||
		  lab_wcache_pressed(&d->wcache);
	if (!list_empty(&d->reads) &&
	    (!pressed || d->wrote_last || !d->wcache.nr_used)) {
		lab_disk_read(dev, now);
		return d->busy_until;
	}
	if (!d->wcache.nr_used)
		return LAB_NEVER;
	if (!pressed && now < d->last_read + LAB_IDLE_NS)
		return d->last_read + LAB_IDLE_NS;
	return lab_disk_write(dev, now) ? d->busy_until : LAB_NEVER;
}

static u64 lab_disk_advance(struct lab_dev *dev, u64 now)
{
	struct lab_disk_state *d = dev->model;

	if (d->busy && d->busy_until <= now)
		lab_disk_end_operation(dev);
	return d->busy ? d->busy_until : lab_disk_pick(dev, now);
}

static void lab_disk_forget(struct lab_dev *dev)
{
	struct lab_disk_state *d = dev->model;

	lab_wcache_empty(&d->wcache);
	memset(&d->rcache, 0, sizeof(d->rcache));
	d->busy = false;
	d->reading = NULL;
	d->ahead_on = false;
	d->head = 0;
	d->link_free = 0;
	d->last_read = 0;
}

static int lab_disk_create(struct lab_dev *dev)
{
	struct lab_disk_state *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (!d)
		return -ENOMEM;
	dev->model = d;
	lab_geometry_init(&d->geometry, &dev->par);
	d->size = lab_params_sectors(&dev->par);
	d->ahead = dev->par.ahead_kb << 1;
	INIT_LIST_HEAD(&d->reads);
	INIT_LIST_HEAD(&d->writes);
	INIT_LIST_HEAD(&d->flushes);
	return lab_wcache_init(&d->wcache, &d->geometry, &dev->par);
}

static void lab_disk_destroy(struct lab_dev *dev)
{
	struct lab_disk_state *d = dev->model;

	if (d)
		lab_wcache_destroy(&d->wcache);
	kfree(d);
}

static void lab_disk_show(struct lab_dev *dev, struct seq_file *m)
{
	struct lab_disk_state *d = dev->model;

	seq_printf(m, "media_reads=%llu\nmedia_writes=%llu\nmedia_seeks=%llu\n",
		   d->media_reads, d->media_writes,
		   d->media_reads + d->media_writes);
	seq_printf(m, "buffer_hits=%llu\nseek_ns=%llu\n", d->buffer_hits,
		   d->seek_ns);
	seq_printf(m, "cached_sectors=%llu\ncached_extents=%u\n",
		   d->wcache.held, d->wcache.nr_used);
}

const struct lab_engine lab_disk = {
	.name = "disk",
	.rotational = true,
	.create = lab_disk_create,
	.destroy = lab_disk_destroy,
	.start = lab_disk_start,
	.advance = lab_disk_advance,
	.forget = lab_disk_forget,
	.show = lab_disk_show,
};
