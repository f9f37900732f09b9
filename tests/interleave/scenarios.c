// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who meets whom.  The names A to D are blocks: A and B share a chain, C is in another
 * chain under the same lock, D under another lock.
 */
#include "scenarios.h"
#include "actors.h"

#define ALL	OPTCACHE_VALID_ALL
#define HALF	0x0f
#define ONCE	(1ULL << OC_WORD_FREQ_SHIFT)

static void ready(void)
{
	il_ready(&world_hooks);
}

static void journal(void)
{
	il_thread("journal", do_journal, 0, true);
}

static void fresh(void)
{
	il_thread("fresh", do_fresh, 0, true);
}

static void thread(const char *name, void (*fn)(u64 arg), u64 arg)
{
	il_thread(name, fn, arg, false);
}

/* ---- sequences of one thread ----------------------------------------- */

static void read_twice(u64 block)
{
	do_read(block);
	il_forget(1);
	do_read(block);
}

static void hit_twice(u64 block)
{
	do_write_hit(block);
	il_forget(1);
	do_write_hit(block);
}

/* The slot of A goes to another block. */
static void discard_a_write(u64 block)
{
	do_discard(A);
	il_forget(1);
	do_write_new(block);
}

static void write_and_hit(u64 block)
{
	do_write_new(block);
	il_forget(1);
	do_write_hit(block);
}

static void discard_and_fill(u64 block)
{
	do_discard(block);
	il_forget(1);
	do_fill(block);
}

static void copy_and_evict(u64 force)
{
	do_copy(force);
	il_forget(1);
	do_evict(HOT_SLOTS);
}

/* ---- hits against the end of what they hit --------------------------- */

static void hit_evict(void)
{
	world_make(0);
	world_add(A, ALL, OC_LIVE, 0);
	thread("reader", do_read, A);
	thread("evictor", do_evict, HOT_SLOTS);
	thread("writer", do_write_new, B);
	journal();
	ready();
}

static void hit_supersede(void)
{
	world_make(2);
	world_add(A, ALL, OC_LIVE, 0);
	thread("reader", read_twice, A);
	thread("writer", do_write_new, A);
	journal();
	ready();
}

static void hit_supersede_sealed(void)
{
	world_make(1);
	world_add(A, ALL, OC_LIVE, 0);
	thread("reader", do_read, A);
	thread("writer", write_and_hit, A);
	thread("other", do_write_hit, A);
	journal();
	ready();
}

static void hit_discard(void)
{
	world_make(0);
	world_add(A, ALL, OC_LIVE, OC_WORD_DIRTY);
	thread("reader", do_read, A);
	thread("writer", do_write_hit, A);
	thread("discard", do_discard, A);
	journal();
	ready();
}

static void last_unpin(void)
{
	world_make(0);
	world_add(A, ALL, OC_LIVE, 0);
	thread("reader", do_read, A);
	thread("other", do_read, A);
	thread("discard", do_discard, A);
	journal();
	ready();
}

/* ---- slots that move to other chains --------------------------------- */

static void moves(enum block block)
{
	world_make(0);
	world_add(B, ALL, OC_LIVE, OC_WORD_DIRTY);
	world_add(A, ALL, OC_LIVE, OC_WORD_DIRTY);
	thread("reader", do_read, B);
	thread("mover", discard_a_write, block);
	thread("locked", do_fill, B);	/* there is no room: it only looks */
	journal();
	ready();
}

static void moves_in_chain(void)
{
	moves(A);
}

static void moves_to_chain(void)
{
	moves(C);
}

static void moves_to_stripe(void)
{
	moves(D);
}

static void same_slot_again(void)
{
	world_make(0);
	world_add(A, ALL, OC_LIVE, OC_WORD_DIRTY);
	thread("reader", do_read, A);
	thread("mover", discard_a_write, A);
	thread("writer", do_write_hit, A);
	journal();
	ready();
}

static void inserts(void)
{
	world_make(2);
	world_add(C, ALL, OC_LIVE, 0);
	thread("fill A", do_fill, A);
	thread("fill B", do_fill, B);
	thread("evictor", do_evict, HOT_SLOTS);
	fresh();
	journal();
	ready();
}

static void unlink_insert(void)
{
	world_make(1);
	world_add(B, ALL, OC_LIVE, 0);
	world_add(A, ALL, OC_LIVE, 0);
	thread("evictor", do_evict, HOT_SLOTS);
	thread("fill", do_fill, B);
	journal();
	ready();
}

/* ---- records --------------------------------------------------------- */

static void confirm_hit(void)
{
	world_make(1);
	thread("writer", do_write_new, A);
	thread("other", hit_twice, A);
	thread("reader", do_read, A);
	journal();
	ready();
}

static void confirm_discard(void)
{
	world_make(1);
	thread("writer", do_write_new, A);
	thread("discard", do_discard, A);
	thread("other", do_write_hit, A);
	journal();
	ready();
}

static void extend_hit(void)
{
	world_make(0);
	world_add(A, HALF, OC_LIVE, OC_WORD_DIRTY);
	thread("extender", do_extend, SECTORS(A, 0x11));
	thread("writer", hit_twice, A);
	thread("reader", do_read, A);
	journal();
	ready();
}

static void extend_sealed(void)
{
	world_make(0);
	world_add(A, HALF, OC_LIVE, OC_WORD_DIRTY);
	thread("extender", do_extend, SECTORS(A, 0x10));
	thread("other", do_extend, SECTORS(A, 0x20));
	thread("writer", do_write_hit, SECTORS(A, 0x20));
	journal();
	ready();
}

static void extend_discard(void)
{
	world_make(0);
	world_add(A, HALF, OC_LIVE, OC_WORD_DIRTY);
	thread("extender", do_extend, SECTORS(A, 0x11));
	thread("discard", do_discard, A);
	thread("reader", do_read, A);
	journal();
	ready();
}

static void extend_lost(void)
{
	world_make(0);
	world_add(A, HALF, OC_LIVE, OC_WORD_DIRTY);
	thread("extender", do_extend, SECTORS(A, 0x10));
	thread("lost", do_extend_lost, SECTORS(A, 0x30));
	thread("writer", do_write_hit, SECTORS(A, 0x11));
	journal();
	ready();
}

static void lost_write(void)
{
	world_make(2);
	thread("lost", do_write_lost, A);
	thread("writer", write_and_hit, A);
	thread("discard", do_discard, A);
	journal();
	ready();
}

/* ---- write-back ------------------------------------------------------ */

static void copy_hit(void)
{
	world_make(0);
	world_add(A, ALL, OC_LIVE, OC_WORD_DIRTY);
	thread("copier", do_copy, true);
	thread("writer", hit_twice, A);
	thread("other", do_write_hit, A);
	journal();
	ready();
}

static void copy_extend(void)
{
	world_make(0);
	world_add(A, HALF, OC_LIVE, OC_WORD_DIRTY);
	thread("copier", do_copy, true);
	thread("extender", do_extend, SECTORS(A, 0x11));
	thread("writer", do_write_hit, A);
	journal();
	ready();
}

static void copy_evict(void)
{
	world_make(0);
	world_add(A, ALL, OC_LIVE, OC_WORD_DIRTY);
	thread("copier", copy_and_evict, true);
	thread("reader", do_read, A);
	thread("writer", do_write_hit, A);
	journal();
	ready();
}

static void copy_moved(void)
{
	world_make(0);
	world_add(B, ALL, OC_LIVE, OC_WORD_DIRTY);
	world_add(A, ALL, OC_LIVE, OC_WORD_DIRTY);
	thread("copier", do_copy, true);
	thread("mover", discard_a_write, C);
	journal();
	ready();
}

static void copy_cool(void)
{
	world_make(0);
	world_add(A, ALL, OC_LIVE, OC_WORD_DIRTY | OC_WORD_HOT);
	thread("copier", do_copy, false);
	thread("ager", do_cool, 0);
	thread("writer", do_write_hit, A);
	thread("reader", do_read, A);
	journal();
	ready();
}

/* ---- fills ----------------------------------------------------------- */

static void fill_write(void)
{
	world_make(2);
	thread("fill", do_fill, A);
	thread("writer", do_write_new, A);
	thread("reader", do_read, A);
	fresh();
	journal();
	ready();
}

static void fill_discard(void)
{
	world_make(1);
	thread("fill", do_fill, A);
	thread("discard", discard_and_fill, A);
	thread("reader", do_read, A);
	fresh();
	journal();
	ready();
}

static void fill_evict(void)
{
	world_make(1);
	thread("fill", do_fill, A);
	thread("evictor", do_evict, 2 * HOT_SLOTS);
	thread("reader", do_read, A);
	fresh();
	journal();
	ready();
}

/* ---- pins, counters, the free map ------------------------------------ */

static void crowd_of_readers(void)
{
	world_make(0);
	world_add(A, ALL, OC_LIVE, 30 * OC_WORD_READER | OC_WORD_DIRTY);
	thread("reader", do_read, A);
	thread("other", do_read, A);
	thread("copier", do_copy, true);
	thread("writer", do_write_hit, A);
	journal();
	ready();
}

static void crowd_of_writers(void)
{
	world_make(0);
	world_add(A, ALL, OC_LIVE, 14 * OC_WORD_WRITER | OC_WORD_DIRTY);
	thread("writer", do_write_hit, A);
	thread("other", do_write_hit, A);
	thread("third", do_write_hit, A);
	journal();
	ready();
}

static void clock_hand(void)
{
	world_make(0);
	world_add(A, ALL, OC_LIVE, ONCE);
	thread("evictor", do_evict, 2 * HOT_SLOTS);
	thread("reader", do_read, A);
	thread("other", do_read, A);
	journal();
	ready();
}

static void two_writers(void)
{
	world_make(2);
	world_add(B, ALL, OC_LIVE, 0);
	thread("writer A", do_write_new, A);
	thread("writer B", do_write_new, B);
	journal();
	ready();
}

static void allocations(void)
{
	world_make(4);
	thread("one", do_alloc, 1);
	thread("two", do_alloc, 2);
	thread("three", do_alloc, 3);
	ready();
}

static void streams(void)
{
	world_make(0);
	world_add_streams();
	thread("stream", do_stream, 0);
	thread("other", do_stream, 4096);
	thread("same", do_stream, 8);
	ready();
}

/* ---- everything at once ---------------------------------------------- */

#define STEPS_OF_ANY	60

u64 scenario_seed;

static void do_any(u64 who)
{
	static void (*const of_block[])(u64 block) = {
		do_read, do_read, do_write_lost, do_fill, do_discard,
	};
	static void (*const of_sectors[])(u64 sectors) = {
		do_write_hit, do_write_hit, do_write_new, do_write_new, do_extend, do_extend_lost,
	};
	u64 random = scenario_seed * 0x9e3779b97f4a7c15ULL + who, block;
	u32 i, op;

	for (i = 0; i < STEPS_OF_ANY; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		op = (random >> 33) % (ARRAY_SIZE(of_block) + ARRAY_SIZE(of_sectors));
		block = (random >> 50) % NR_BLOCKS;
		if (op < ARRAY_SIZE(of_block))
			of_block[op](block);
		else
			of_sectors[op - ARRAY_SIZE(of_block)](SECTORS(block, random >> 56 | 1));
	}
}

static void keep_room(u64 rounds)
{
	while (rounds--) {
		do_evict(HOT_SLOTS);
		do_copy(rounds % 2);
		do_cool(0);
	}
}

static void everything(void)
{
	world_make(3 + scenario_seed % 4);
	world_add(A, HALF, OC_LIVE, OC_WORD_DIRTY);
	world_add(C, ALL, OC_LIVE, ONCE);
	thread("one", do_any, 1);
	thread("two", do_any, 2);
	thread("three", do_any, 3);
	thread("background", keep_room, STEPS_OF_ANY / 2);
	fresh();
	journal();
	ready();
}

const struct scenario scenarios[] = {
	{ "hit-evict", "a hit, the eviction of its slot, and its next tenant", hit_evict },
	{ "hit-supersede", "two hits against a new version", hit_supersede },
	{ "hit-supersede-sealed", "hits on both sides of a new version",
	  hit_supersede_sealed, .bound = 3 },
	{ "hit-discard", "a read and a write in place against a discard", hit_discard },
	{ "last-unpin", "two hits and the journal: who frees the slot?", last_unpin },
	{ "moves-in-chain", "a slot comes back in the chain that is walked", moves_in_chain },
	{ "moves-to-chain", "a slot moves from under a walker to another chain",
	  moves_to_chain },
	{ "moves-to-stripe", "the same, to a chain under another lock", moves_to_stripe },
	{ "same-slot-again", "the next tenant is the same block", same_slot_again, .bound = 3 },
	{ "inserts", "two insertions into one chain, without the journal's lock", inserts,
	  .idle = true },
	{ "unlink-insert", "slots leave a chain while others enter", unlink_insert,
	  .idle = true },
	{ "confirm-hit", "writes in place of a new block against its confirmation",
	  confirm_hit },
	{ "confirm-discard", "its end against its confirmation", confirm_discard },
	{ "extend-hit", "more sectors, and writes in place", extend_hit, .bound = 3 },
	{ "extend-sealed", "more sectors of a slot that is sealed already, twice",
	  extend_sealed, .bound = 3 },
	{ "extend-discard", "more sectors of a block that is discarded",
	  extend_discard, .bound = 3 },
	{ "extend-lost", "more sectors that are taken back", extend_lost, .bound = 3 },
	{ "lost-write", "a write that is taken back, and others of the block", lost_write },
	{ "copy-hit", "write-back against writes in place", copy_hit, .bound = 3 },
	{ "copy-extend", "write-back against more sectors", copy_extend, .bound = 3 },
	{ "copy-evict", "evicted as soon as it is clean", copy_evict, .bound = 3 },
	{ "copy-moved", "what is written back has another tenant meanwhile", copy_moved,
	  .idle = true },
	{ "copy-cool", "the ager against writes in place", copy_cool, .bound = 2 },
	{ "fill-write", "a fill, a new version, and the flush of the origin",
	  fill_write, .bound = 3 },
	{ "fill-discard", "a fill, a discard, a fill", fill_discard },
	{ "fill-evict", "a fill that is evicted", fill_evict },
	{ "crowd-of-readers", "all but one reader pin are taken", crowd_of_readers, .bound = 2 },
	{ "crowd-of-writers", "all but one writer pin are taken", crowd_of_writers },
	{ "clock-hand", "the replacement clock against hits", clock_hand },
	{ "two-writers", "new versions in one chain", two_writers, .idle = true },
	{ "allocations", "three take slots and give them back", allocations, .idle = true },
	{ "streams", "three sequential streams, two of them in one place", streams,
	  .idle = true, .bound = 2 },
	{ "everything", "all of it at once, at random", everything, .seeded = true },
	{ NULL, NULL, NULL },
};
