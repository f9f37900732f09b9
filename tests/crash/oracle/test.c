// SPDX-License-Identifier: GPL-2.0-only
/*
 * The oracle over an ideal disk, which takes what it is sent in any order, keeps a cache,
 * and loses of it what it may: nothing may be wrong in any seed.  Over one that breaks a
 * promise something has to be.
 *
 *	test SEEDS	prints TAP
 */
#include <stdio.h>

#include "kernel.h"

#include "../../lab/modules/labcut/labcut.h"

#define SECTORS		64
#define LOG		512		/* unflushed versions of a sector */
#define DEPTH		16
#define ROUNDS		4
#define ROUND_OPS	300

struct cut_globals cut;

enum lie { NO_LIE, IGNORE_FUA, IGNORE_FLUSH, FORGET };

static const char *const lie_name[] = {
	"an honest disk", "one that ignores FUA", "one that ignores flushes",
	"one that forgets writes",
};

struct version {
	u32 value, id;
};

static struct disk {
	u32 seen[SECTORS], stable[SECTORS];
	struct version log[SECTORS][LOG];	/* oldest first */
	unsigned int nr[SECTORS];
	u32 acks, ack[CUT_MAX_OPS];		/* in which order; 0: not yet */
	bool cached;
} disk;

struct io {
	bool busy, landed;
	struct cut_op op;
	u32 sent, barrier;
	u32 found[SECTORS];
};

static struct io io[DEPTH];
static enum lie lie;
static u64 random_state;

static u32 below(u32 n)
{
	u64 x = random_state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return (x >> 31) % n;
}

/* ---- the disk -------------------------------------------------------- */

static u32 value_of(const struct cut_op *op)
{
	if (op->kind != CUT_WRITE)
		return CUT_ZERO;
	return cut_value(op->id, op->flags & CUT_SCRIBBLE ? below(2) : 0);
}

/* Data moves; reads see it from now on. */
static void land(struct io *x)
{
	u32 value = value_of(&x->op), i, s;

	x->landed = true;
	for (i = 0; i < x->op.sectors; i++) {
		s = x->op.sector + i;
		if (x->op.kind == CUT_READ) {
			x->found[i] = disk.seen[s];
			continue;
		}
		disk.seen[s] = value;
		disk.log[s][disk.nr[s]++] = (struct version){ value, x->op.id };
	}
}

static void drop_until(u32 s, unsigned int n)
{
	disk.nr[s] -= n;
	memmove(disk.log[s], disk.log[s] + n, disk.nr[s] * sizeof(disk.log[s][0]));
}

static bool flushed_by(u32 id, u32 barrier, u32 fua)
{
	return id == fua || (disk.ack[id] && disk.ack[id] <= barrier);
}

/* What was acknowledged up to @barrier is durable, and @fua. */
static void make_durable(u32 barrier, u32 fua)
{
	unsigned int i;
	u32 s;

	for (s = 0; s < SECTORS; s++) {
		for (i = disk.nr[s]; i && !flushed_by(disk.log[s][i - 1].id, barrier, fua); i--)
			;
		if (!i)
			continue;
		disk.stable[s] = disk.log[s][i - 1].value;
		drop_until(s, i);
	}
}

static void lose_power(void)
{
	unsigned int keep = below(4) * 33, i;
	u32 s;

	for (i = 0; i < DEPTH; i++) {
		if (io[i].busy && !io[i].landed && io[i].op.kind != CUT_READ && below(2))
			land(&io[i]);
		io[i].busy = false;
	}
	for (s = 0; s < SECTORS; s++) {
		for (i = 0; i < disk.nr[s]; i++)
			if (below(100) < keep)
				disk.stable[s] = disk.log[s][i].value;
		disk.nr[s] = 0;
		disk.seen[s] = disk.stable[s];
	}
}

/* ---- the load -------------------------------------------------------- */

static bool flushes(const struct cut_op *op)
{
	return op->kind == CUT_FLUSH || op->flags & CUT_PREFLUSH;
}

static bool writes(const struct cut_op *op)
{
	return op->kind != CUT_READ && op->kind != CUT_FLUSH;
}

static void end(struct io *x)
{
	u32 i;

	if (flushes(&x->op) && lie != IGNORE_FLUSH)
		make_durable(x->barrier, 0);
	if (!x->landed)
		land(x);
	disk.ack[x->op.id] = ++disk.acks;
	if (writes(&x->op) && (!disk.cached || (x->op.flags & CUT_FUA && lie != IGNORE_FUA)))
		make_durable(0, x->op.id);
	cut_oracle_ended(x->op.id);
	if (x->op.kind == CUT_READ)
		for (i = 0; i < x->op.sectors; i++)
			cut_oracle_read(x->op.sector + i, x->found[i], 0, x->sent, ~0u);
	x->busy = false;
}

static struct cut_op choose(u16 id)
{
	u32 dice = below(100);
	struct cut_op op = {
		.id = id, .sector = below(SECTORS), .sectors = 1 + below(8),
		.kind = dice < 27 ? CUT_READ : dice < 32 ? CUT_DISCARD :
			dice < 37 ? CUT_ZEROES : CUT_WRITE,
	};

	if (!below(12))
		return (struct cut_op){ .id = id, .kind = CUT_FLUSH };
	if (op.sector + op.sectors > SECTORS)
		op.sectors = SECTORS - op.sector;
	if (op.kind != CUT_WRITE)
		return op;
	op.flags = (below(5) ? 0 : CUT_FUA) | (below(8) ? 0 : CUT_PREFLUSH) |
		   (below(4) ? 0 : CUT_SCRIBBLE);
	return op;
}

static void begin(struct io *x, u16 id)
{
	struct cut_op op = choose(id);

	if (!cut_oracle_room(&op))
		return;
	*x = (struct io){ .busy = true, .op = op, .barrier = disk.acks };
	cut_oracle_sent(&op);
	x->sent = cut.record[id].sent;
}

static void step(struct io *x, u16 *id)
{
	u32 s;

	if (lie == FORGET && !below(300)) {
		s = below(SECTORS);
		disk.seen[s] = disk.stable[s];
	}
	if (!x->busy)
		begin(x, (*id)++);
	else if (!x->landed && !flushes(&x->op) && below(2))
		land(x);
	else
		end(x);
}

static void look(u32 pass)
{
	u32 since = ++cut.tick, s;

	cut.tick++;
	for (s = 0; s < SECTORS; s++)
		cut_oracle_read(s, disk.seen[s], 0, since, pass);
}

/* Return: something was wrong. */
static bool play(u64 seed)
{
	unsigned int depth, round, ops, i;
	u16 id = CUT_FIRST_ID;
	u32 s;

	random_state = seed << 20;
	cut_oracle_new(seed, SECTORS);
	memset(&disk, 0, sizeof(disk));
	memset(io, 0, sizeof(io));
	disk.cached = below(4);
	cut.cached = disk.cached;
	for (s = 0; s < SECTORS; s++) {
		disk.stable[s] = cut_value(CUT_BASE_ID, 0);
		disk.seen[s] = disk.stable[s];
	}
	depth = 1 + below(DEPTH);
	for (round = 0; round < ROUNDS; round++) {
		for (ops = below(ROUND_OPS); ops; ops--)
			step(&io[below(depth)], &id);
		lose_power();
		cut_oracle_crashed();
		if (!below(4))
			continue;
		look(CUT_PASS_FIRST);
		look(CUT_PASS_AGAIN);
	}
	look(CUT_PASS_FIRST);
	for (i = 0; i < CUT_NR_BAD; i++)
		if (cut.result.bad[i])
			return true;
	return false;
}

int main(int argc, char **argv)
{
	unsigned int seeds = argc > 1 ? atoi(argv[1]) : 1000, seed, bad, failed = 0;

	if (cut_oracle_init())
		return 1;
	for (lie = NO_LIE; lie <= FORGET; lie++) {
		for (bad = 0, seed = 0; seed < seeds; seed++)
			bad += play(seed);
		failed += !bad != (lie == NO_LIE);
		printf("%s %d - the oracle and %s: %u of %u seeds bad\n",
		       !bad == (lie == NO_LIE) ? "ok" : "not ok", lie + 1, lie_name[lie], bad,
		       seeds);
	}
	cut_oracle_exit();
	return failed ? 1 : 0;
}
