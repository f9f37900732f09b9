// SPDX-License-Identifier: GPL-2.0-only
/*
 * Index and slots under several threads at once, for ThreadSanitizer and for the
 * invariants: a pinned slot belongs to its block, a slot that became clean was not
 * written since its copy began, and in the end nothing is lost or counted wrongly.
 *
 *	stress [seed [operations per thread]]
 */
#include "drivers/md/optcache/slots.c"
#include "drivers/md/optcache/index.c"
#include "drivers/md/optcache/policy.c"
#include "drivers/md/optcache/order.c"

#include <pthread.h>

#define THREADS		4
#define NR		(OC_GROUP_SLOTS + 70)
#define BLOCKS		400	/* few, so that threads meet */
#define QUEUE		32

static struct oc_slots slots;
static struct oc_index ix;
static struct oc_policy policy;
static struct oc_order order;

/* As the journal's lock: every change of what is recorded. */
static spinlock_t journal_lock;
/* One evictor and one write-back at a time. */
static spinlock_t evict_lock, copy_lock;

static u64 owner[NR];		/* block + 1 while a slot is in use */
static u64 version[NR];		/* writes to a slot */
static u32 failures;
static u64 operations = 60000;

struct worker {
	pthread_t thread;
	u64 seed;
	oc_slot_t dead[QUEUE];	/* killed, their end is not durable yet */
	u32 nr_dead;
	u64 hits;
};

static u32 below(struct worker *w, u32 n)
{
	w->seed = w->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(w->seed >> 33) % n;
}

static void fail(const char *what, u64 a, u64 b)
{
	__atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
	printf("# %s: %llu, %llu\n", what, (unsigned long long)a, (unsigned long long)b);
}

static void release(oc_slot_t slot)
{
	WRITE_ONCE(owner[from_slot(slot)], 0);
	oc_index_release(&ix, slot);
}

static void check_owner(oc_slot_t slot, u64 block)
{
	u64 found = READ_ONCE(owner[from_slot(slot)]);

	if (found != block + 1)
		fail("pinned slot has another owner", found, block + 1);
}

/* ---- operations ------------------------------------------------------ */

static void op_read(struct worker *w)
{
	const u64 block = below(w, BLOCKS);
	const oc_slot_t slot = oc_index_find(&ix, to_oblock(block));

	if (slot == OC_NO_SLOT || !oc_slot_pin_read(&slots, slot, to_oblock(block), 1))
		return;
	w->hits++;
	check_owner(slot, block);
	if (!below(w, 4))
		sched_yield();
	check_owner(slot, block);
	if (oc_slot_unpin_read(&slots, slot))
		release(slot);
}

static void op_write(struct worker *w)
{
	const u64 block = below(w, BLOCKS);
	const oc_slot_t slot = oc_index_find(&ix, to_oblock(block));

	if (slot == OC_NO_SLOT || !oc_slot_pin_write(&slots, slot, to_oblock(block), 1))
		return;
	check_owner(slot, block);
	__atomic_add_fetch(&version[from_slot(slot)], 1, __ATOMIC_SEQ_CST);
	if (!below(w, 4))
		sched_yield();
	check_owner(slot, block);
	if (oc_slot_unpin_write(&slots, slot))
		release(slot);
}

static void op_gone(struct worker *w)
{
	oc_slot_t slot;

	if (!w->nr_dead)
		return;
	slot = w->dead[--w->nr_dead];
	if (oc_slot_gone(&slots, slot))
		release(slot);
}

static void end_version(struct worker *w, oc_slot_t slot, u32 max_pins)
{
	u64 was;

	if (oc_slot_kill(&slots, slot, max_pins, &was))
		w->dead[w->nr_dead++] = slot;
}

/* A new version of a block, the old one if any ends. */
static void op_map(struct worker *w)
{
	const u64 block = below(w, BLOCKS);
	oc_slot_t slot, old;
	bool ending;
	u64 word;

	if (w->nr_dead == QUEUE || !oc_slots_alloc(&slots, 1, &slot))
		return;
	if (READ_ONCE(owner[from_slot(slot)]))
		fail("allocated slot has an owner", from_slot(slot), owner[from_slot(slot)]);
	WRITE_ONCE(owner[from_slot(slot)], block + 1);
	word = oc_word_make(to_oblock(block), 1 + below(w, 255),
			    below(w, 4) ? OC_LIVE : OC_FRESH);
	if (oc_word_state(word) == OC_LIVE && below(w, 2))
		word |= OC_WORD_DIRTY;

	spin_lock(&journal_lock);
	old = oc_index_find_locked(&ix, to_oblock(block), &ending);
	if (old != OC_NO_SLOT)
		end_version(w, old, ~0U);
	oc_slot_install(&slots, slot, word);
	oc_index_insert(&ix, slot);
	spin_unlock(&journal_lock);
}

static void op_record(struct worker *w)
{
	const oc_slot_t slot = oc_index_find(&ix, to_oblock(below(w, BLOCKS)));

	if (slot == OC_NO_SLOT)
		return;
	spin_lock(&journal_lock);
	oc_slot_record(&slots, slot);
	spin_unlock(&journal_lock);
}

static void op_evict(struct worker *w)
{
	oc_slot_t victim[4];
	u32 i, n;

	spin_lock(&evict_lock);
	n = oc_policy_victims(&policy, victim, min(4U, QUEUE - w->nr_dead), 64);
	spin_lock(&journal_lock);
	for (i = 0; i < n; i++)
		end_version(w, victim[i], 0);
	spin_unlock(&journal_lock);
	spin_unlock(&evict_lock);
}

static void copy_one(struct worker *w, const struct oc_dirty *d)
{
	const u32 slot = from_slot(d->slot);
	u64 before;
	bool clean;

	if (!oc_slot_copy_begin(&slots, d->slot, d->block, below(w, 2)))
		return;
	before = __atomic_load_n(&version[slot], __ATOMIC_SEQ_CST);
	check_owner(d->slot, from_oblock(d->block));
	if (below(w, 2))
		sched_yield();
	spin_lock(&journal_lock);
	clean = oc_slot_copy_end(&slots, d->slot, below(w, 8));
	spin_unlock(&journal_lock);
	if (clean && __atomic_load_n(&version[slot], __ATOMIC_SEQ_CST) != before)
		fail("clean, but written since its copy", slot, before);
	if (oc_slot_unpin_read(&slots, d->slot))
		release(d->slot);
}

static void op_copy(struct worker *w)
{
	u32 i;

	spin_lock(&copy_lock);
	oc_order_collect(&order, &slots, below(w, 2));
	for (i = 0; i < order.nr; i++)
		copy_one(w, &order.item[i]);
	spin_unlock(&copy_lock);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	u64 i;

	for (i = 0; i < operations; i++) {
		switch (below(w, 16)) {
		case 0 ... 4:
			op_read(w);
			break;
		case 5 ... 7:
			op_write(w);
			break;
		case 8 ... 10:
			op_map(w);
			break;
		case 11 ... 13:
			op_gone(w);
			break;
		case 14:
			op_record(w);
			op_evict(w);
			break;
		default:
			if (below(w, 8))
				break;
			op_copy(w);
			oc_slots_cool(&slots, below(w, slots.nr_groups));
			break;
		}
	}
	while (w->nr_dead)
		op_gone(w);
	return NULL;
}

/* ---- afterwards ------------------------------------------------------ */

static u32 times_in_chain(u32 slot)
{
	u32 i, n = 0, h = oc_index_hash(&ix, oc_word_block(slots.word[slot]));

	for (i = ix.head[h]; i; i = slots.next[i - 1])
		n += i == slot + 1;
	return n;
}

static void check_slot(u32 slot, u32 *mapped, u32 *dirty, u32 *group_dirty)
{
	const u64 w = slots.word[slot];

	if (!w) {
		if (!test_bit(slot, slots.map))
			fail("slot lost", slot, owner[slot]);
		return;
	}
	if (test_bit(slot, slots.map))
		fail("slot used and free", slot, w);
	if (w & OC_WORD_PINS)
		fail("pin left", slot, w);
	if (!oc_word_current(w))
		fail("end of a slot forgotten", slot, w);
	if (times_in_chain(slot) != 1)
		fail("slot not once in its chain", slot, times_in_chain(slot));
	if (from_slot(oc_index_find(&ix, oc_word_block(w))) != slot)
		fail("block has two slots", slot, w);
	++*mapped;
	if (w & OC_WORD_DIRTY) {
		++*dirty;
		++group_dirty[slot / OC_GROUP_SLOTS];
	}
}

static void check_all(void)
{
	u32 i, mapped = 0, dirty = 0, group_dirty[2] = { 0, 0 };

	for (i = 0; i < NR; i++)
		check_slot(i, &mapped, &dirty, group_dirty);
	if ((u32)atomic64_read(&slots.nr_mapped) != mapped)
		fail("nr_mapped", atomic64_read(&slots.nr_mapped), mapped);
	if ((u32)atomic64_read(&slots.nr_dirty) != dirty)
		fail("nr_dirty", atomic64_read(&slots.nr_dirty), dirty);
	for (i = 0; i < slots.nr_groups; i++)
		if ((u32)atomic_read(&slots.group_dirty[i]) != group_dirty[i])
			fail("group_dirty", atomic_read(&slots.group_dirty[i]), group_dirty[i]);
	if (oc_slots_nr_free(&slots) != NR - mapped)
		fail("nr_free", oc_slots_nr_free(&slots), NR - mapped);
	if (!mapped || !dirty)
		fail("nothing happened", mapped, dirty);
}

static void run_round(u32 threads, u64 seed)
{
	struct worker worker[THREADS] = {};
	u64 hits = 0;
	u32 i;

	memset(owner, 0, sizeof(owner));
	if (oc_slots_init(&slots, NR) || oc_index_init(&ix, &slots) || oc_order_init(&order, 16))
		exit(2);
	oc_policy_init(&policy, &slots);
	for (i = 0; i < threads; i++) {
		worker[i].seed = seed * 1000 + i;
		if (pthread_create(&worker[i].thread, NULL, work, &worker[i]))
			exit(2);
	}
	for (i = 0; i < threads; i++) {
		pthread_join(worker[i].thread, NULL);
		hits += worker[i].hits;
	}
	if (!hits)
		fail("no hit at all", threads, seed);
	check_all();
	oc_order_exit(&order);
	oc_index_exit(&ix);
	oc_slots_exit(&slots);
	memset(&slots, 0, sizeof(slots));
}

int main(int argc, char **argv)
{
	const u64 seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	u32 threads, bad = 0;

	if (argc > 2)
		operations = strtoull(argv[2], NULL, 10);
	spin_lock_init(&journal_lock);
	spin_lock_init(&evict_lock);
	spin_lock_init(&copy_lock);
	printf("KTAP version 1\n1..%d\n", THREADS - 1);
	for (threads = 2; threads <= THREADS; threads++) {
		failures = 0;
		run_round(threads, seed + threads);
		printf("%s %u stress.%u_threads\n", failures ? "not ok" : "ok", threads - 1,
		       threads);
		bad += failures != 0;
	}
	printf("%u passed, %u failed, 0 skipped\n", THREADS - 1 - bad, bad);
	return bad != 0;
}
