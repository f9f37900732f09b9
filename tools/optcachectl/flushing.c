// SPDX-License-Identifier: GPL-2.0-only
/*
 * The message "flush" returns at once and the status line tells the rest:
 * flush=running with flush_left=N blocks, then flush=idle.
 */
#include <linux/dm-optcache.h>

#include "flushing.h"
#include "interrupt.h"
#include "progress.h"
#include "say.h"

#define POLL_MIN_MS	50
#define POLL_MAX_MS	500

static u64 blocks_left(const struct cache *c)
{
	u64 left;

	return status_number(&c->st, "flush_left", &left) ? left : status_count(&c->st, "dirty");
}

/*
 * In writeback mode others go on writing, so dirty may never be zero; what the flush
 * itself had to do is in flush_left.
 */
static bool ended(const struct cache *c)
{
	if (status_text(&c->st, "flush"))
		return status_is(&c->st, "flush", "idle");
	return !status_count(&c->st, "dirty");
}

static enum flush_result wait_for_end(struct cache *c, unsigned long timeout, int *code,
				      struct progress *p, u64 total)
{
	unsigned int poll = POLL_MIN_MS;
	u64 left;

	for (;;) {
		left = blocks_left(c);
		if (left > total)
			total = left;
		progress_show(p, (total - left) * OPTCACHE_BLOCK_SIZE, total * OPTCACHE_BLOCK_SIZE);
		if (ended(c))
			return left ? FLUSH_STUCK : FLUSH_DONE;
		if (timeout && now_ms() - p->start_ms >= timeout * 1000ULL)
			return FLUSH_TIMEOUT;
		if (interruptible_sleep(poll))
			return FLUSH_INTERRUPTED;
		poll = min_t(unsigned int, poll * 2, POLL_MAX_MS);
		*code = cache_refresh(c);
		if (*code)
			return FLUSH_CANNOT;
	}
}

enum flush_result flush_and_wait(struct cache *c, unsigned long timeout, int *code)
{
	enum flush_result result;
	struct progress p;
	u64 total;

	total = status_count(&c->st, "dirty");
	interrupt_catch();
	*code = cache_send(c, "flush", "See optcachectl status and the kernel log");
	if (!*code)
		*code = cache_refresh(c);
	if (*code)
		return FLUSH_CANNOT;
	progress_start(&p, "writing back");
	result = wait_for_end(c, timeout, code, &p, total);
	progress_end(&p);
	return result;
}
