/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The world of the scenarios: slots and index as the module has them, and a *ghost* beside
 * them, which knows what must be true.  Both are compared after every step; what an
 * operation changes is in doubt until it returns.
 *
 * Data is the version of a block's first sector: its number, in the order in which they are
 * written.
 */
#ifndef _INTERLEAVE_WORLD_H
#define _INTERLEAVE_WORLD_H

#include <optcache/index.h>
#include <optcache/order.h>
#include <optcache/policy.h>
#include <optcache/stream.h>

#define NR_SLOTS	64	/* two stripes of heads */
#define HOT_SLOTS	8	/* those that the scenarios may use */
#define NR_RECORDS	32	/* of the journal, before it is applied */

/* A and B share a chain, C is in another one of their stripe, D under another lock. */
enum block { A, B, C, D, NR_BLOCKS };

enum chained { OUT, ENTERING, INSIDE, LEAVING };

struct ghost_slot {
	u8 owned;		/* between allocation and release */
	u8 chained;
	u8 block;
	u8 readers, writers;
	u8 moving;		/* threads that may just be changing readers, writers, GONE */
	u8 data_block, data;
	/* What the journal's records up to its head say. */
	u8 mapped, valid, dirty;
	u8 undurable;		/* records of it that are not durable yet */
	u8 durable;		/* sectors of its last durable MAP */
};

struct ghost_block {
	spinlock_t range;	/* of this block alone */
	u8 newest;		/* version written last, anywhere */
	u8 completed;		/* newest whose write has ended: nothing older may be read */
	u8 origin;
};

enum record_type { MAP, UNMAP, CLEAN };

struct record {
	u8 type, slot, valid;
};

/* Somebody is looking for a block under the chain's lock. */
struct watch {
	u8 active, block;
	u8 present;		/* its slot was current and chained all the time */
	u8 undecided;		/* or DEAD and chained */
};

struct ghost {
	struct ghost_slot slot[HOT_SLOTS];
	struct ghost_block block[NR_BLOCKS];
	struct watch watch[IL_THREADS];
	spinlock_t journal;	/* its lock; mapped, valid, dirty of the slots, record, head */
	struct record record[NR_RECORDS];
	u32 head, durable, applied;
	u32 fresh[HOT_SLOTS];	/* ring of slots that are FRESH, or were */
	u32 fresh_head, fresh_tail;
};

struct world {
	struct oc_slots slots;
	struct oc_index index;
	struct oc_policy policy;
	struct oc_streams *streams;
	struct ghost ghost;
};

extern struct world *world;
extern u64 world_hits;		/* of all runs: has anything happened? */
extern const struct il_hooks world_hooks;

/* check.c */
void world_step(void);
void world_check(void);
void world_end(void);

/* An empty world with @free free slots. */
void world_make(u32 free);
/* In setup: @block is in a slot in @state.  @flags: OC_WORD_DIRTY, HOT, FREQ, pins. */
oc_slot_t world_add(enum block block, u8 valid, enum oc_state state, u64 flags);
void world_add_streams(void);

oc_block_t block_number(enum block block);
u32 block_head(enum block block);	/* of its chain */
enum block block_of(u64 word);

/* Plain words that print @word; static memory. */
const char *word_text(u64 word);

static inline struct ghost_slot *ghost_of(oc_slot_t slot)
{
	return &world->ghost.slot[from_slot(slot)];
}

static inline bool record_lives(u64 word)
{
	return oc_word_current(word) && oc_word_state(word) != OC_FRESH;
}

#endif /* _INTERLEAVE_WORLD_H */
