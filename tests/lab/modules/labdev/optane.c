// SPDX-License-Identifier: GPL-2.0
/*
 * Solid state: some channels, each busy for the base latency of a command, in
 * front of one bus per direction.  The bus spaces commands by what the data
 * sheet calls random IOPS of 4 KiB, and by the streaming rate above.  Which
 * of the two limits shows depends on the load, as on the real thing.
 *
 * Below 4 KiB: random writes of 4 KiB and streaming ones reach the same bytes a
 * second on all of these devices, and reads more than that, so what limits
 * writes is the media, in bytes.  A shorter one takes less of it, down to what a
 * command costs, which the reads show.
 */
#include <linux/math64.h>
#include <linux/slab.h>

#include "labdev.h"
#include "random.h"

#define LAB_MAX_CHANNELS	64
#define LAB_SMALL_SECTORS	8	/* 4 KiB */

struct lab_optane_state {
	u64 channel_free[LAB_MAX_CHANNELS];
	u64 bus_free[2];		/* READ, WRITE */
};

struct lab_direction {
	u64 latency, p99, p999, p9999, least_gap, mbps;
};

static struct lab_direction lab_optane_way(const struct lab_params *par, int way)
{
	if (way == READ)
		return (struct lab_direction){
			.latency = par->read_ns, .p99 = par->read_p99_ns,
			.p999 = par->read_p999_ns, .p9999 = par->read_p9999_ns,
			.least_gap = par->read_4k_ns, .mbps = par->read_mbps,
		};
	return (struct lab_direction){
		.latency = par->write_ns, .p99 = par->write_p99_ns,
		.p999 = par->write_p999_ns, .p9999 = par->write_p9999_ns,
		.least_gap = par->write_4k_ns, .mbps = par->write_mbps,
	};
}

/*
 * The tail: half as many again as the percentile's name says, so that a run of
 * some ten thousand commands finds the named figure at its percentile.
 */
static u64 lab_optane_latency(struct lab_dev *dev, const struct lab_direction *d)
{
	u64 draw, latency = d->latency;

	if (dev->par.jitter_ns)
		latency += lab_random_below(&dev->random, dev->par.jitter_ns);
	if (!d->p99)
		return latency;
	draw = lab_random_below(&dev->random, 20000);
	if (draw < 3)
		return d->p9999;
	if (draw < 30)
		return d->p999;
	return draw < 300 ? d->p99 : latency;
}

static u64 lab_optane_stream(const struct lab_direction *d, u64 sectors)
{
	return div64_u64(sectors * SECTOR_SIZE * 1000, d->mbps);
}

/* How long @sectors keep the bus from the next command. */
static u64 lab_optane_gap(struct lab_dev *dev, const struct lab_direction *d, int way,
			  u64 sectors)
{
	if (sectors > LAB_SMALL_SECTORS)
		return max(d->least_gap, lab_optane_stream(d, sectors));
	if (way == READ)
		return d->least_gap;
	return max(div64_u64(d->least_gap * sectors, LAB_SMALL_SECTORS),
		   min_t(u64, dev->par.read_4k_ns, d->least_gap));
}

static unsigned int lab_optane_channel(struct lab_dev *dev)
{
	struct lab_optane_state *o = dev->model;
	unsigned int i, best = 0;

	for (i = 1; i < dev->par.channels; i++)
		if (o->channel_free[i] < o->channel_free[best])
			best = i;
	return best;
}

static u64 lab_optane_transfer(struct lab_dev *dev, struct lab_io *io, u64 now)
{
	struct lab_optane_state *o = dev->model;
	int way = lab_io_writes(io) ? WRITE : READ;
	struct lab_direction d = lab_optane_way(&dev->par, way);
	unsigned int channel = lab_optane_channel(dev);
	u64 sectors = io->end - io->start, done;

	done = max(now, o->channel_free[channel]) + lab_optane_latency(dev, &d);
	o->channel_free[channel] = done;
	if (sectors > LAB_SMALL_SECTORS)
		done += lab_optane_stream(&d, sectors - LAB_SMALL_SECTORS);
	o->bus_free[way] = max(now, o->bus_free[way]) + lab_optane_gap(dev, &d, way, sectors);
	return max(done, o->bus_free[way]);
}

static void lab_optane_start(struct lab_dev *dev, struct lab_io *io, u64 now)
{
	if (io->phase == LAB_FLUSHING)
		lab_io_done_at(dev, io, now + dev->par.flush_ns);
	else if (lab_io_zeroes(io))
		lab_io_done_at(dev, io, now + dev->par.write_ns);
	else
		lab_io_done_at(dev, io, lab_optane_transfer(dev, io, now));
}

static void lab_optane_forget(struct lab_dev *dev)
{
	memset(dev->model, 0, sizeof(struct lab_optane_state));
}

static int lab_optane_create(struct lab_dev *dev)
{
	struct lab_optane_state *o = kzalloc(sizeof(*o), GFP_KERNEL);

	dev->model = o;
	return o ? 0 : -ENOMEM;
}

static void lab_optane_destroy(struct lab_dev *dev)
{
	kfree(dev->model);
}

const struct lab_engine lab_optane = {
	.name = "optane",
	.create = lab_optane_create,
	.destroy = lab_optane_destroy,
	.start = lab_optane_start,
	.forget = lab_optane_forget,
};
