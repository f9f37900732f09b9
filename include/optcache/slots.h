/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The slots: what each slot of the cache device holds.  This array is the truth
 * about the cache while it runs; the table on the device is its checkpoint.
 *
 * A slot is one 64-bit word that changes only by compare-and-exchange, so a hit
 * pins it and reads everything about it in one atomic step:
 *
 *	 0..39	origin block
 *	40..47	valid mask, one bit a 512-byte sector
 *	48..50	state
 *	51	dirty: the origin does not durably hold these bytes
 *	52	hot: written since the write-back ager last came by
 *	53..54	freq: 2-bit use counter of the replacement clock
 *	55..59	readers in flight (pins)
 *	60..63	writers in flight (pins)
 *
 * States, and who moves a slot from one to the next:
 *
 *	FREE	holds nothing; its bit in the free map is set unless somebody has
 *		just allocated it
 *	FRESH	mapped in memory only: the journal does not know it yet, because
 *		the origin still has to be flushed under it (clean data only)
 *	SEALED	mapped; its last MAP record is appended, but not durable yet: it may be
 *		read but not written, see design.md
 *	LIVE	mapped, durably
 *	COPY	LIVE and dirty, being written back; any write moves it back to LIVE
 *	DEAD	no longer the current version: the record that ends it is appended
 *		(or it was FRESH and never had one)
 *	GONE	DEAD, its end is durable; the last unpin frees it
 *
 *	FREE -> FRESH -> SEALED <-> LIVE <-> COPY, all but FREE -> DEAD -> GONE -> FREE
 *
 * FRESH, SEALED, LIVE and COPY can be hit.  Every change of what the *journal* knows of
 * a slot (into SEALED, out of what is mapped, valid mask, dirty) is made under the
 * journal's lock together with the append of its record; see journal.h.
 */
#ifndef _OPTCACHE_SLOTS_H
#define _OPTCACHE_SLOTS_H

#include "types.h"

enum oc_state {
	OC_FREE,
	OC_FRESH,
	OC_SEALED,
	OC_LIVE,
	OC_COPY,
	OC_DEAD,
	OC_GONE,
};

#define OC_WORD_BLOCK		(BIT_ULL(40) - 1)
#define OC_WORD_VALID_SHIFT	40
#define OC_WORD_STATE_SHIFT	48
#define OC_WORD_STATE		(7ULL << OC_WORD_STATE_SHIFT)
#define OC_WORD_DIRTY		BIT_ULL(51)
#define OC_WORD_HOT		BIT_ULL(52)
#define OC_WORD_FREQ_SHIFT	53
#define OC_WORD_FREQ		(3ULL << OC_WORD_FREQ_SHIFT)
#define OC_WORD_READER		BIT_ULL(55)
#define OC_WORD_READERS		(31ULL << 55)
#define OC_WORD_WRITER		BIT_ULL(60)
#define OC_WORD_WRITERS		(15ULL << 60)
#define OC_WORD_PINS		(OC_WORD_READERS | OC_WORD_WRITERS)

/* Slots are grouped as on the device: one group, one page of the table. */
#define OC_GROUP_SLOTS		OPTCACHE_ENTRIES_PER_PAGE

struct oc_slots {
	u32 nr;
	u32 nr_groups;
	u64 *word;
	u32 *next;		/* hash chain of the index, slot + 1; owned by index.c */
	atomic_t *group_dirty;	/* dirty slots per group */

	/*
	 * Free map: bit set = free.  summary has one bit per 64-bit word of it.
	 * free_lock protects map, summary, nr_free and cursor; taken with
	 * interrupts off, last in the lock order.
	 */
	spinlock_t free_lock;
	unsigned long *map;
	unsigned long *summary;
	u32 nr_free;
	u32 cursor;		/* allocation goes on here, so that runs stay contiguous */

	atomic64_t nr_mapped;	/* those that are current */
	atomic64_t nr_dirty;
	size_t bytes;		/* memory really allocated */
};

static inline u64 oc_word_make(oc_block_t b, u8 valid, enum oc_state state)
{
	return from_oblock(b) | (u64)valid << OC_WORD_VALID_SHIFT |
	       (u64)state << OC_WORD_STATE_SHIFT;
}

static inline enum oc_state oc_word_state(u64 w)
{
	return (w & OC_WORD_STATE) >> OC_WORD_STATE_SHIFT;
}

static inline oc_block_t oc_word_block(u64 w)
{
	return to_oblock(w & OC_WORD_BLOCK);
}

static inline u8 oc_word_valid(u64 w)
{
	return w >> OC_WORD_VALID_SHIFT;
}

/* FRESH, SEALED, LIVE or COPY: the current version of its block. */
static inline bool oc_word_current(u64 w)
{
	return oc_word_state(w) - OC_FRESH <= OC_COPY - OC_FRESH;
}

static inline u64 oc_word_with_state(u64 w, enum oc_state state)
{
	return (w & ~OC_WORD_STATE) | (u64)state << OC_WORD_STATE_SHIFT;
}

static inline u64 oc_slot_read(const struct oc_slots *s, oc_slot_t slot)
{
	return READ_ONCE(s->word[from_slot(slot)]);
}

/* Replaces *old by new; on failure *old is what was found. */
static inline bool oc_slot_cmpxchg(struct oc_slots *s, oc_slot_t slot, u64 *old,
				   u64 new)
{
	return try_cmpxchg(&s->word[from_slot(slot)], old, new);
}

/**
 * oc_slots_init - allocate and clear all per-slot memory; every slot is free
 * @s: zeroed
 * @nr: OPTCACHE_MIN_SLOTS..OPTCACHE_MAX_SLOTS
 *
 * Return: 0 or -ENOMEM.  May sleep.
 */
int oc_slots_init(struct oc_slots *s, u32 nr);
void oc_slots_exit(struct oc_slots *s);

/**
 * oc_slots_alloc - take up to @want free slots in a row
 * @first: the first of them
 *
 * Their words stay FREE; the caller owns them.  Any context.
 * Return: how many, 0 when none is free.
 */
u32 oc_slots_alloc(struct oc_slots *s, u32 want, oc_slot_t *first);

/* Gives @n slots back whose words are, or now become, zero.  Any context. */
void oc_slots_free(struct oc_slots *s, oc_slot_t first, u32 n);

/*
 * Make the free map and all counters agree with the words, after somebody (replay)
 * wrote them directly.  Nobody else may use the slots meanwhile.  May sleep.
 */
void oc_slots_recount(struct oc_slots *s);

static inline u32 oc_slots_nr_free(const struct oc_slots *s)
{
	return READ_ONCE(s->nr_free);
}

/*
 * Moves an allocated slot to @word (FRESH or SEALED) and counts it.  Nobody else
 * can see the slot before.  Any context.
 */
void oc_slot_install(struct oc_slots *s, oc_slot_t slot, u64 word);

/* The slot is the current version of @block and holds all sectors of @need. */
static inline bool oc_word_serves(u64 w, oc_block_t block, u8 need)
{
	return oc_word_block(w) == block && oc_word_current(w) && !(need & ~oc_word_valid(w));
}

/*
 * Pin @slot if it still is the current version of @block and holds all sectors
 * of @need.  A read also raises freq.  A write needs a dirty slot that is not SEALED
 * (only those may be overwritten in place), marks it hot and takes a COPY back to LIVE.
 * Lockless, any context.  Return: pinned or not; not either when a pin counter
 * is full.
 */
static inline bool oc_slot_pin_read(struct oc_slots *s, oc_slot_t slot, oc_block_t block, u8 need)
{
	u64 old = oc_slot_read(s, slot), new;

	do {
		if (!oc_word_serves(old, block, need) ||
		    (old & OC_WORD_READERS) == OC_WORD_READERS)
			return false;
		new = old + OC_WORD_READER;
		if ((old & OC_WORD_FREQ) != OC_WORD_FREQ)
			new += 1ULL << OC_WORD_FREQ_SHIFT;
	} while (!oc_slot_cmpxchg(s, slot, &old, new));
	return true;
}

static inline bool oc_slot_pin_write(struct oc_slots *s, oc_slot_t slot, oc_block_t block, u8 need)
{
	u64 old = oc_slot_read(s, slot), new;

	do {
		if (!oc_word_serves(old, block, need) || !(old & OC_WORD_DIRTY) ||
		    oc_word_state(old) == OC_SEALED ||
		    (old & OC_WORD_WRITERS) == OC_WORD_WRITERS)
			return false;
		new = (oc_word_with_state(old, OC_LIVE) | OC_WORD_HOT) + OC_WORD_WRITER;
	} while (!oc_slot_cmpxchg(s, slot, &old, new));
	return true;
}

/*
 * The same for a write that adds the sectors of @need which are not valid yet.  Into a
 * SEALED slot it may go as well, if it changes none of those that are.
 */
static inline bool oc_slot_pin_extend(struct oc_slots *s, oc_slot_t slot, oc_block_t block, u8 need)
{
	u64 old = oc_slot_read(s, slot), new;

	do {
		if (!oc_word_serves(old, block, 0) || !(old & OC_WORD_DIRTY) ||
		    (old & OC_WORD_WRITERS) == OC_WORD_WRITERS)
			return false;
		new = (old | OC_WORD_HOT) + OC_WORD_WRITER;
		if (oc_word_state(old) != OC_SEALED)
			new = oc_word_with_state(new, OC_LIVE);
		else if (need & oc_word_valid(old))
			return false;
	} while (!oc_slot_cmpxchg(s, slot, &old, new));
	return true;
}

static inline bool oc_slot_unpin(struct oc_slots *s, oc_slot_t slot, u64 pin)
{
	u64 old = oc_slot_read(s, slot);

	while (!oc_slot_cmpxchg(s, slot, &old, old - pin))
		;
	return oc_word_state(old) == OC_GONE && (old & OC_WORD_PINS) == pin;
}

/*
 * Drop a pin.  Return: true when this was the last pin of a GONE slot, which the
 * caller must now pass to oc_index_release().
 */
static inline bool oc_slot_unpin_read(struct oc_slots *s, oc_slot_t slot)
{
	return oc_slot_unpin(s, slot, OC_WORD_READER);
}

static inline bool oc_slot_unpin_write(struct oc_slots *s, oc_slot_t slot)
{
	return oc_slot_unpin(s, slot, OC_WORD_WRITER);
}

/* One of the pin counters of @slot is full. */
static inline bool oc_slot_crowded(const struct oc_slots *s, oc_slot_t slot)
{
	u64 w = oc_slot_read(s, slot);

	return (w & OC_WORD_READERS) == OC_WORD_READERS ||
	       (w & OC_WORD_WRITERS) == OC_WORD_WRITERS;
}

/*
 * oc_slot_kill - end the current version: FRESH, SEALED, LIVE or COPY to DEAD
 * @max_pins: only if no more pins than this are held (~0U: whatever is held)
 * @was: the word before
 *
 * The caller holds the journal's lock and appends the record, or the slot was
 * FRESH.  Return: false if the slot was not current or had more pins.
 */
bool oc_slot_kill(struct oc_slots *s, oc_slot_t slot, unsigned int max_pins, u64 *was);

/*
 * The record that ended a DEAD slot is durable.  Return: true when no pin is
 * left, and the caller must pass it to oc_index_release(); else the last unpin will.
 */
bool oc_slot_gone(struct oc_slots *s, oc_slot_t slot);

/*
 * Add sectors to the valid mask of a slot and seal it.  Journal's lock held, its writer
 * pin too.
 * Return: the word, or 0 when the slot is no longer current and must not be recorded.
 */
u64 oc_slot_extend(struct oc_slots *s, oc_slot_t slot, u8 valid);

/*
 * FRESH to SEALED, when its record is appended (journal's lock held).
 * Return: the word, or 0 when the slot is no longer FRESH.
 */
u64 oc_slot_record(struct oc_slots *s, oc_slot_t slot);

/*
 * A MAP of @slot with these sectors is durable.  If it is SEALED and holds just these, so
 * that no later MAP is under way, it becomes LIVE.
 */
void oc_slot_confirm(struct oc_slots *s, oc_slot_t slot, u8 valid);

/*
 * An allocated slot whose INTENT is appended will not be mapped: FREE to DEAD, with
 * the block in the word for the index.  Journal's lock held, UNMAP appended.
 */
void oc_slot_void(struct oc_slots *s, oc_slot_t slot, oc_block_t block);

/*
 * Write-back: LIVE and dirty to COPY, with one reader pin.  Refused while writers
 * are in flight and, unless @force, while hot.  Return: the word, 0 if refused.
 */
u64 oc_slot_copy_begin(struct oc_slots *s, oc_slot_t slot, oc_block_t block, bool force);

/*
 * End of it.  @clean: the origin durably holds the copy; if nobody wrote
 * meanwhile the slot becomes LIVE and clean.  The reader pin stays with the
 * caller.  Journal's lock held when @clean.  Return: true if it became clean.
 */
bool oc_slot_copy_end(struct oc_slots *s, oc_slot_t slot, bool clean);

/* Take the hot mark off all slots of a group (the ager of writeback_delay). */
void oc_slots_cool(struct oc_slots *s, u32 group);

#endif /* _OPTCACHE_SLOTS_H */
