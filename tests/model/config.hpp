// SPDX-License-Identifier: GPL-2.0-only
/* What is explored, and which rule of the protocol is left out. */
#pragma once

#include "state.hpp"

#include <string>
#include <vector>

#define RULES(R) \
	R(reuse_early, "an evicted slot is free before its UNMAP is durable (S3)") \
	R(sealed_in_place, "a SEALED slot is written in place (S4)") \
	R(rejected_free, "the slot of a rejected INTENT is free at once") \
	R(failed_free, "the slot of a failed write with INTENT is free at once") \
	R(map_no_preflush, "a block with a MAP is written without PREFLUSH") \
	R(clean_no_preflush, "a block with a CLEAN is written without PREFLUSH") \
	R(melt_flushed, "a record takes in a neighbour after a flush was sent (covered_lsn)") \
	R(melt_paged, "a record takes in a neighbour after a page was encoded") \
	R(covered_at_end, "covered_lsn is sampled when the flush ends") \
	R(crc_other_copy, "the INTENT's checksum is not of the copy that is written") \
	R(crc_of_run, "INTENTs of slots in a row have one checksum") \
	R(crc_ignored, "an INTENT is believed without looking at its slot") \
	R(unread_accepted, "an INTENT whose slot cannot be read now is believed") \
	R(unread_rejected, "an INTENT whose slot cannot be read now is rejected") \
	R(unread_journal, "a journal block that cannot be read now ends the journal") \
	R(tail_past_intent, "the tail does not wait for unresolved INTENTs") \
	R(tail_no_sync, "the tail does not wait until what resolved the INTENTs is durable") \
	R(page_covers_intent, "a page's lsn hides an INTENT below it") \
	R(page_early, "a page is written before the journal is durable up to its lsn") \
	R(page_one_place, "a page has one place") \
	R(tail_before_pages, "the tail moves before the pages are durable") \
	R(tail_at_end, "the tail is where the journal stands when the sweep ends") \
	R(ring_overrun, "the ring is reused before the superblock with the tail is durable") \
	R(map_before_unmap, "MAP of the new slot before UNMAP of the old one") \
	R(recovery_map_first, "recovery appends the MAP before the UNMAP") \
	R(intent_loses, "an accepted INTENT loses to the clean mapping of its block") \
	R(clean_in_place, "a clean slot is overwritten in place") \
	R(clean_early, "blocks are called clean before the origin is flushed") \
	R(clean_early_nv, "blocks are called clean before the origin has been written") \
	R(wb_sealed, "a SEALED slot is written back") \
	R(wb_no_copy, "a write in place leaves COPY alone") \
	R(epoch_same, "a run does not raise the epoch") \
	R(epoch_falls, "replay takes a block with a lower epoch") \
	R(replay_no_lsn, "replay does not look at a block's lsn") \
	R(epoch_late, "the epoch is not in the superblock before the first block") \
	R(flush_no_lsn, "a flush does not wait for done_lsn") \
	R(flush_no_cache, "a flush does not flush the cache device") \
	R(flush_no_origin, "a flush does not flush the origin") \
	R(flush_gen_end, "what a flush of the origin covers is counted when it ends") \
	R(done_lsn_intent, "done_lsn leaves out INTENTs") \
	R(fua_no_lsn, "a FUA write does not wait for its record") \
	R(fua_plain_data, "a FUA write's data is written without FUA") \
	R(fresh_early, "FRESH is recorded without an origin flush") \
	R(fresh_user_only, "FRESH waits for users' writes only, not for write-back's") \
	R(bypass_no_unmap, "a write goes past a mapping without waiting for the UNMAP") \
	R(bypass_evicted, "a write does not wait for the UNMAP of an evicted slot") \
	R(discard_no_unmap, "a discard does not wait for the UNMAP") \
	R(fill_no_lock, "a fill takes no range lock") \
	R(space_intents, "an INTENT reserves no room for the UNMAP and MAP that follow it") \
	R(ack_out_of_order, "a journal block counts as durable before those in front of it") \
	R(journal_no_fua, "journal blocks are written without FUA") \
	R(recovery_no_flush, "recovery does not flush the devices first") \
	R(extend_early, "the valid mask grows before the data is there") \
	R(extend_no_seal, "a larger mask does not make the slot SEALED") \
	R(confirm_any, "any durable MAP makes a SEALED slot LIVE, not only one with its mask") \
	R(sealed_overlap, "a write to new sectors of a SEALED slot may change others") \
	R(extend_rejected, "sectors of a rejected INTENT are written before that is durable") \
	R(pin_ignored, "a slot is free while somebody still reads it") \
	/* these two are not needed: dropping them alone does no harm */ \
	R(bypass_rejected, "a write goes past a rejected INTENT before its UNMAP is durable") \
	R(page_ignores_lsn, "replay applies records that the page contains already")

enum Rule {
#define R(name, text) R_##name,
	RULES(R)
#undef R
	NR_RULES,
	FIRST_REDUNDANT = R_bypass_rejected,
};

extern const char *const rule_name[NR_RULES], *const rule_text[NR_RULES];

struct Config {
	std::string name;
	int drop = -1;			/* Rule */
	bool vol_cache = false, vol_origin = false;
	int sectors = 1;
	int flights = 2;		/* journal blocks in flight */
	int ring = NRING;
	int slots = NS;
	bool fua = true, plain = true, intent = true, late = true;
	bool split = false;		/* a block may end behind any record */
	bool melt = false;
	bool anyslot = false;
	bool soft = false;		/* crashes without power loss */
	bool nodiscard = false;		/* the origin knows no discards */
	bool exact = true;		/* G3 */
	bool space = false;		/* credits: records for which the journal has room */
	int pend = NPEND;		/* records not yet issued, at most */
	int init = 0;
	u8 bud[NR_BUDGETS] = {};
	u64 max_states = 0;
	bool trace = true;
};

extern Config cfg;

inline bool dropped(Rule r) { return cfg.drop == r; }

bool config_set(Config &c, const std::string &word, std::string &error);
