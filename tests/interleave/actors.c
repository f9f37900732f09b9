// SPDX-License-Identifier: GPL-2.0-only
/* The callers of the core; see actors.h. */
#include "actors.h"

static struct oc_slots *slots(void)
{
	return &world->slots;
}

static struct ghost_block *ghost_block(u64 block)
{
	return &world->ghost.block[block];
}

/* ---- slots, with their ghosts ---------------------------------------- */

static u32 take_slots(u32 want, enum block block, oc_slot_t *first)
{
	u32 n = oc_slots_alloc(slots(), want, first), i;

	for (i = 0; i < n; i++) {
		const oc_slot_t slot = slot_add(*first, i);
		struct ghost_slot *g;

		if (from_slot(slot) >= HOT_SLOTS)
			il_fail("slot %u was handed out, which is not free", from_slot(slot));
		g = ghost_of(slot);
		if (g->owned)
			il_fail("slot %u was handed out twice", from_slot(slot));
		if (g->mapped || g->undurable)
			il_fail("slot %u was handed out before its end was durable (S3)",
				from_slot(slot));
		if (g->readers || g->writers)
			il_fail("slot %u was handed out, and somebody uses it (S3)",
				from_slot(slot));
		if (oc_slot_read(slots(), slot))
			il_fail("slot %u was handed out with a word in it", from_slot(slot));
		*g = (struct ghost_slot) { .owned = true, .block = block };
	}
	return n;
}

static void disown(oc_slot_t slot)
{
	struct ghost_slot *g = ghost_of(slot);

	if (!g->owned)
		il_fail("slot %u is released twice", from_slot(slot));
	g->owned = false;
	g->data_block = 0;
	g->data = 0;
	g->valid = 0;
}

static void give_back(oc_slot_t first, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		disown(slot_add(first, i));
	oc_slots_free(slots(), first, n);
}

static void release(oc_slot_t slot)
{
	disown(slot);
	ghost_of(slot)->chained = LEAVING;
	oc_index_release(&world->index, slot);
}

static void insert(oc_slot_t slot)
{
	ghost_of(slot)->chained = ENTERING;
	oc_index_insert(&world->index, slot);
	ghost_of(slot)->chained = INSIDE;
}

static void moving(oc_slot_t slot)
{
	ghost_of(slot)->moving++;
}

/* The result of a pin, or of what may free the slot, is in: nothing is in doubt any more. */
static bool settled(oc_slot_t slot, bool result)
{
	ghost_of(slot)->moving--;
	return result;
}

static void end(oc_slot_t slot)
{
	moving(slot);
	if (settled(slot, oc_slot_gone(slots(), slot)))
		release(slot);
}

static void pinned(oc_slot_t slot, u64 block, u8 need, u8 *pins)
{
	++*pins;
	if (ghost_of(slot)->block != block)
		il_fail("slot %u is pinned for another block", from_slot(slot));
	if (need & ~oc_word_valid(slots()->word[from_slot(slot)]))
		il_fail("slot %u is pinned for sectors that it does not have", from_slot(slot));
}

static bool pin_read(oc_slot_t slot, u64 block)
{
	moving(slot);
	if (!settled(slot, oc_slot_pin_read(slots(), slot, block_number(block), 1)))
		return false;
	pinned(slot, block, 1, &ghost_of(slot)->readers);
	return true;
}

/* S4: which of the sectors @mask may be overwritten? */
static void check_overwrite(oc_slot_t slot, u8 mask)
{
	const struct ghost_slot *g = ghost_of(slot);

	if (mask & g->valid & ~g->durable)
		il_fail("slot %u may be overwritten, and its mapping is not durable (S4)",
			from_slot(slot));
}

static bool pin_write(oc_slot_t slot, u64 block, u8 mask)
{
	moving(slot);
	if (!settled(slot, oc_slot_pin_write(slots(), slot, block_number(block), mask)))
		return false;
	pinned(slot, block, mask, &ghost_of(slot)->writers);
	check_overwrite(slot, mask);
	return true;
}

static bool pin_extend(oc_slot_t slot, u64 block, u8 mask)
{
	moving(slot);
	if (!settled(slot, oc_slot_pin_extend(slots(), slot, block_number(block), mask)))
		return false;
	pinned(slot, block, 0, &ghost_of(slot)->writers);
	check_overwrite(slot, mask);
	return true;
}

static void unpin(oc_slot_t slot, bool write)
{
	struct ghost_slot *g = ghost_of(slot);
	bool last;

	moving(slot);
	last = settled(slot, write ? oc_slot_unpin_write(slots(), slot) :
				     oc_slot_unpin_read(slots(), slot));
	--*(write ? &g->writers : &g->readers);
	if (last)
		release(slot);
}

/* ---- journal --------------------------------------------------------- */

static void lock_journal(void)
{
	spin_lock(&world->ghost.journal);
}

static void unlock_journal(void)
{
	spin_unlock(&world->ghost.journal);
}

static void append(enum record_type type, oc_slot_t slot, u64 word)
{
	struct ghost *gh = &world->ghost;
	struct ghost_slot *g = ghost_of(slot);
	struct record *r = &gh->record[gh->head % NR_RECORDS];

	if (gh->head - gh->applied == NR_RECORDS)
		il_fail("the test's journal is too short");
	r->type = type;
	r->slot = from_slot(slot);
	r->valid = oc_word_valid(word);
	g->mapped = type != UNMAP;
	if (type == MAP)
		g->valid = oc_word_valid(word);
	g->dirty = type == MAP && word & OC_WORD_DIRTY;
	g->undurable += type != CLEAN;
	gh->head++;
}

static bool journal_has_work(void)
{
	return world->ghost.head != world->ghost.durable;
}

static void apply_next(struct ghost *gh)
{
	struct record *r = &gh->record[gh->applied++ % NR_RECORDS];
	const oc_slot_t slot = to_slot(r->slot);
	const enum record_type type = r->type;
	const u8 valid = r->valid;

	*r = (struct record) { .type = 0 };
	il_saw(type);
	il_saw(from_slot(slot));
	il_saw(valid);
	if (type == MAP)
		oc_slot_confirm(slots(), slot, valid);
	else if (type == UNMAP)
		end(slot);
	il_forget(gh->applied == gh->durable);
}

static void become_durable(const struct record *r)
{
	struct ghost_slot *g = ghost_of(to_slot(r->slot));

	if (r->type == MAP)
		g->durable = r->valid;
	g->undurable -= r->type != CLEAN;
}

void do_journal(u64 unused)
{
	struct ghost *gh = &world->ghost;

	(void)unused;
	for (;;) {
		il_wait(journal_has_work, "records");
		while (gh->durable != gh->head)
			become_durable(&gh->record[gh->durable++ % NR_RECORDS]);
		while (gh->applied != gh->durable)
			apply_next(gh);
	}
}

static bool journal_is_durable(void)
{
	return world->ghost.durable == world->ghost.head;
}

/* ---- look-ups -------------------------------------------------------- */

static oc_slot_t find_locked(u64 block, bool *ending)
{
	struct watch *watch = &world->ghost.watch[il_self()];
	oc_slot_t slot;

	*watch = (struct watch) { .active = true, .block = block };
	watch->present = true;
	watch->undecided = true;
	slot = oc_index_find_locked(&world->index, block_number(block), ending);
	if (slot == OC_NO_SLOT && watch->present)
		il_fail("a block was not found that was there all the time");
	if (slot == OC_NO_SLOT && !*ending && watch->undecided)
		il_fail("a block was not found, nor its end, that was there all the time");
	*watch = (struct watch) { .active = false };
	return slot;
}

/* The current slot of the block, whose range is locked. */
static u64 current_word(u64 block, oc_slot_t *slot)
{
	bool ending;
	u64 word;

	*slot = find_locked(block, &ending);
	if (*slot == OC_NO_SLOT)
		return 0;
	word = oc_slot_read(slots(), *slot);
	return oc_word_current(word) && block_of(word) == block ? word : 0;
}

static void lock_range(u64 block)
{
	spin_lock(&ghost_block(block)->range);
}

static void unlock_range(u64 block)
{
	spin_unlock(&ghost_block(block)->range);
}

/* ---- data ------------------------------------------------------------ */

static void read_slot(oc_slot_t slot, u64 block, u8 oldest)
{
	const struct ghost_slot *g = ghost_of(slot);

	il_step("reads the data");
	if (g->data_block != block)
		il_fail("slot %u was read, and holds another block (G2, foreign)",
			from_slot(slot));
	if (g->data < oldest)
		il_fail("slot %u was read, and is older than what was written before (G2, stale)",
			from_slot(slot));
}

static u8 new_version(oc_slot_t slot, u64 block)
{
	struct ghost_slot *g = ghost_of(slot);

	g->data_block = block;
	g->data = ++ghost_block(block)->newest;
	il_saw(g->data);
	return g->data;
}

static u8 write_fresh(oc_slot_t slot, u64 block)
{
	il_step("writes the data");
	return new_version(slot, block);
}

/*
 * Return: the new version, 0 if there is none.  If a discard has ended the slot meanwhile, it
 * overlaps the write, and may as well have come after it.
 */
static u8 write_in_place(oc_slot_t slot, u64 block, u8 mask)
{
	il_step("writes the data");
	if (mask & 1 && ghost_of(slot)->mapped)
		return new_version(slot, block);
	il_saw(0);
	return 0;
}

static void complete_write(u64 block, u8 version)
{
	struct ghost_block *g = ghost_block(block);

	if (g->completed < version)
		g->completed = version;
}

/* ---- reads ----------------------------------------------------------- */

static bool read_hit(oc_slot_t slot, u64 block, u8 oldest)
{
	if (slot == OC_NO_SLOT || !pin_read(slot, block))
		return false;
	world_hits++;
	read_slot(slot, block, oldest);
	unpin(slot, false);
	return true;
}

void do_read(u64 block)
{
	const u8 oldest = ghost_block(block)->completed;
	oc_slot_t slot;

	il_saw(oldest);
	if (read_hit(oc_index_find(&world->index, block_number(block)), block, oldest))
		return;
	lock_range(block);
	if (!current_word(block, &slot)) {
		il_step("reads the origin");
		if (ghost_block(block)->origin < oldest)
			il_fail("the origin was read, and is older than what was written before (G2, stale)");
	} else {
		read_hit(slot, block, oldest);	/* not if it is crowded, or just evicted */
	}
	unlock_range(block);
}

/* ---- writes ---------------------------------------------------------- */

static u64 block_in(u64 sectors)
{
	return sectors & 0xff;
}

static u8 mask_in(u64 sectors)
{
	return sectors >> 8 ?: 1;
}

void do_write_hit(u64 sectors)
{
	const u64 block = block_in(sectors);
	const oc_slot_t slot = oc_index_find(&world->index, block_number(block));
	u8 version;

	if (slot == OC_NO_SLOT || !pin_write(slot, block, mask_in(sectors)))
		return;
	world_hits++;
	version = write_in_place(slot, block, mask_in(sectors));
	unpin(slot, true);
	complete_write(block, version);
}

static void supersede(u64 block)
{
	bool ending;
	const oc_slot_t old = find_locked(block, &ending);
	u64 was;

	if (old == OC_NO_SLOT || !oc_slot_kill(slots(), old, ~0U, &was))
		return;
	if (oc_word_state(was) != OC_FRESH)
		append(UNMAP, old, was);
}

static void map_new(oc_slot_t slot, u64 block, u8 valid)
{
	const u64 word = oc_word_make(block_number(block), valid, OC_SEALED) |
			 OC_WORD_DIRTY | OC_WORD_HOT;

	lock_journal();
	supersede(block);
	oc_slot_install(slots(), slot, word);
	insert(slot);
	append(MAP, slot, word);
	unlock_journal();
}

void do_write_new(u64 sectors)
{
	const u64 block = block_in(sectors);
	oc_slot_t slot, old;
	u8 version;

	lock_range(block);
	/* what is dirty is written in place */
	if (!(current_word(block, &old) & OC_WORD_DIRTY) && take_slots(1, block, &slot)) {
		version = write_fresh(slot, block);
		map_new(slot, block, mask_in(sectors));
		complete_write(block, version);
	}
	unlock_range(block);
}

void do_write_lost(u64 block)
{
	oc_slot_t slot;

	lock_range(block);
	if (take_slots(1, block, &slot)) {
		lock_journal();
		oc_slot_void(slots(), slot, block_number(block));
		insert(slot);
		append(UNMAP, slot, 0);
		unlock_journal();
	}
	unlock_range(block);
}

/* The range is locked. */
static bool begin_extend(u64 sectors, oc_slot_t *slot)
{
	return current_word(block_in(sectors), slot) &&
	       pin_extend(*slot, block_in(sectors), mask_in(sectors));
}

void do_extend(u64 sectors)
{
	const u64 block = block_in(sectors);
	oc_slot_t slot;
	u8 version;
	u64 word;

	lock_range(block);
	if (!begin_extend(sectors, &slot)) {
		unlock_range(block);
		return;
	}
	world_hits++;
	version = write_in_place(slot, block, mask_in(sectors));
	lock_journal();
	word = oc_slot_extend(slots(), slot, mask_in(sectors));
	if (word)
		append(MAP, slot, word);
	unlock_journal();
	unlock_range(block);
	unpin(slot, true);
	complete_write(block, version);
}

void do_extend_lost(u64 sectors)
{
	const u64 block = block_in(sectors);
	oc_slot_t slot;

	lock_range(block);
	if (begin_extend(sectors, &slot)) {
		lock_journal();
		append(MAP, slot, oc_slot_read(slots(), slot));
		unlock_journal();
		unpin(slot, true);
	}
	unlock_range(block);
}

/* ---- fills ----------------------------------------------------------- */

void do_fill(u64 block)
{
	struct ghost *gh = &world->ghost;
	oc_slot_t slot, old;

	lock_range(block);
	if (!current_word(block, &old) && take_slots(1, block, &slot)) {
		il_step("reads the origin, writes the slot");
		ghost_of(slot)->data_block = block;
		ghost_of(slot)->data = ghost_block(block)->origin;
		oc_slot_install(slots(), slot, oc_word_make(block_number(block),
							    OPTCACHE_VALID_ALL, OC_FRESH));
		insert(slot);
		if (gh->fresh_head - gh->fresh_tail == ARRAY_SIZE(gh->fresh))
			il_fail("the test's ring is too short");
		gh->fresh[gh->fresh_head++ % ARRAY_SIZE(gh->fresh)] = from_slot(slot);
	}
	unlock_range(block);
}

static bool fresh_has_work(void)
{
	return world->ghost.fresh_head != world->ghost.fresh_tail;
}

void do_fresh(u64 unused)
{
	struct ghost *gh = &world->ghost;
	oc_slot_t slot;
	u64 word;

	(void)unused;
	for (;;) {
		il_wait(fresh_has_work, "a flush of the origin");
		slot = to_slot(gh->fresh[gh->fresh_tail % ARRAY_SIZE(gh->fresh)]);
		il_saw(from_slot(slot));
		lock_journal();
		word = oc_slot_record(slots(), slot);
		if (word)
			append(MAP, slot, word);
		unlock_journal();
		if (!word)
			end(slot);
		gh->fresh_tail++;
		il_forget(0);
	}
}

/* ---- ends ------------------------------------------------------------ */

void do_discard(u64 block)
{
	struct ghost_block *g = ghost_block(block);
	oc_slot_t slot;
	bool ending;
	u64 was;

	lock_range(block);
	lock_journal();
	slot = find_locked(block, &ending);
	if (slot != OC_NO_SLOT && oc_slot_kill(slots(), slot, ~0U, &was) &&
	    oc_word_state(was) != OC_FRESH)
		append(UNMAP, slot, was);
	unlock_journal();
	il_wait(journal_is_durable, "the journal");
	g->origin = ++g->newest;
	complete_write(block, g->origin);
	unlock_range(block);
}

void do_evict(u64 scan)
{
	oc_slot_t victim[HOT_SLOTS];
	u32 i, nr = oc_policy_victims(&world->policy, victim, HOT_SLOTS, scan);
	u64 word, was;

	lock_journal();
	for (i = 0; i < nr; i++) {
		word = oc_slot_read(slots(), victim[i]);
		if (!oc_word_current(word) || oc_word_state(word) == OC_FRESH ||
		    word & OC_WORD_DIRTY || !oc_slot_kill(slots(), victim[i], 0, &was))
			continue;
		if (was & (OC_WORD_DIRTY | OC_WORD_PINS))
			il_fail("slot %u was evicted, and is dirty or in use",
				from_slot(victim[i]));
		append(UNMAP, victim[i], was);
	}
	unlock_journal();
}

/* ---- write-back ------------------------------------------------------ */

static void copy_one(const struct oc_dirty *d, bool force)
{
	const enum block block = block_of(from_oblock(d->block));
	struct ghost_slot *g = ghost_of(d->slot);
	u8 version;

	lock_range(block);
	moving(d->slot);
	if (!settled(d->slot, oc_slot_copy_begin(slots(), d->slot, d->block, force))) {
		unlock_range(block);
		return;
	}
	g->readers++;
	if (g->writers)
		il_fail("slot %u is copied, and somebody writes it", from_slot(d->slot));
	il_step("reads the data");
	version = g->data;
	il_saw(version);
	il_step("writes the origin");
	ghost_block(block)->origin = version;
	lock_journal();
	if (oc_slot_copy_end(slots(), d->slot, true))
		append(CLEAN, d->slot, 0);
	unlock_journal();
	unpin(d->slot, false);
	unlock_range(block);
}

void do_copy(u64 force)
{
	struct oc_dirty item[HOT_SLOTS];
	struct oc_order order = { .item = item, .max = HOT_SLOTS };
	u32 i;

	oc_order_collect(&order, slots(), force);
	for (i = 0; i < order.nr; i++)
		copy_one(&item[i], force);
}

void do_cool(u64 unused)
{
	(void)unused;
	oc_slots_cool(slots(), 0);
}

/* ---- the rest -------------------------------------------------------- */

void do_alloc(u64 want)
{
	oc_slot_t first;
	const u32 n = take_slots(want, A, &first);

	if (n > want)
		il_fail("%u slots were handed out instead of %u", n, (u32)want);
	if (n)
		give_back(first, n);
}

void do_stream(u64 sector)
{
	u32 i;

	for (i = 0; i < 2; i++)
		if (oc_stream_add(world->streams, sector + 8 * i, 8, true) < 8)
			il_fail("a stream is shorter than what was added");
	oc_stream_flush(world->streams);
	oc_stream_peek(world->streams, sector + 8 * i, true);
}
