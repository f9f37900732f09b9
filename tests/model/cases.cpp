// SPDX-License-Identifier: GPL-2.0-only
/* What is run: clean cases, and one for every rule that can be dropped. */
#include "cases.hpp"

const std::vector<Case> check_cases = {
	{ "writes", "write=2 flush=1 crash=1 init=1" },
};

const std::vector<Case> full_cases = {
};

#define VOL "vol=1 volorigin=1 "

const char *const rule_case[NR_RULES] = {
	[R_reuse_early] = "init=1 write=1 evict=1 exact=0",
	[R_sealed_in_place] = "init=1 write=2",
	[R_rejected_free] = "write=2 crash=1 twins=1 exact=0",
	[R_failed_free] = "write=1 bypass=1 fail=1 exact=0",
	[R_map_no_preflush] = "vol=1 write=1 intent=0",
	[R_clean_no_preflush] = "vol=1 init=2 write=1 wb=1",
	[R_melt_flushed] = "vol=1 write=2 flush=1 melt=1 intent=0",
	[R_melt_paged] = "init=3 write=1 evict=2 ckpt=1 melt=1 exact=0",
	[R_covered_at_end] = "vol=1 write=1 flush=1 intent=0",
	[R_crc_other_copy] = "write=1",
	[R_crc_of_run] = "write=3 split=1",
	[R_crc_ignored] = "write=1",
	[R_unread_accepted] = "write=1",
	[R_unread_rejected] = "write=1",
	[R_unread_journal] = "write=1 exact=0",
	[R_tail_past_intent] = "write=1 ckpt=1",
	[R_tail_no_sync] = "write=1 ckpt=1",
	[R_page_covers_intent] = "init=1 write=1 evict=1 ckpt=1",
	[R_page_early] = "write=1 ckpt=1",
	[R_page_one_place] = "write=1 ckpt=1",
	[R_tail_before_pages] = "write=1 ckpt=1 exact=0",
	[R_tail_at_end] = "write=2 ckpt=1 exact=0",
	[R_ring_overrun] = "write=2 ckpt=1 ring=2",
	[R_map_before_unmap] = "init=1 write=1 split=1",
	[R_recovery_map_first] = "init=1 write=1 split=1 crash=1",
	[R_intent_loses] = "init=1 write=1",
	[R_clean_in_place] = "init=1 write=1 exact=0",
	[R_clean_early] = "volorigin=1 init=2 wb=1",
	[R_clean_early_nv] = "init=2 wb=1",
	[R_wb_sealed] = "init=1 write=1 wb=1",
	[R_wb_no_copy] = "init=2 write=1 wb=1",
	[R_epoch_same] = "write=3 crash=1",
	[R_epoch_falls] = "write=3 crash=1",
	[R_replay_no_lsn] = "init=1 write=2 ckpt=1 ring=2 exact=0",
	[R_epoch_late] = "write=1",
	[R_flush_no_lsn] = "init=1 write=1 flush=1",
	[R_flush_no_cache] = "vol=1 init=2 write=1 flush=1",
	[R_flush_no_origin] = "volorigin=1 bypass=1 flush=1",
	[R_flush_gen_end] = "volorigin=1 bypass=2 flush=1",
	[R_done_lsn_intent] = "write=1 flush=1",
	[R_fua_no_lsn] = "write=1",
	[R_fua_plain_data] = "vol=1 write=1",
	[R_fresh_early] = "volorigin=1 through=1",
	[R_fresh_user_only] = "volorigin=1 init=2 wb=1 discard=1 fill=1 fail=1 nodiscard=1",
	[R_bypass_no_unmap] = "init=1 bypass=1",
	[R_bypass_evicted] = "init=1 bypass=1 evict=1",
	[R_discard_no_unmap] = "init=2 discard=1",
	[R_fill_no_lock] = "fill=1 bypass=1",
	[R_space_intents] = "write=2 space=1 pend=3",
	[R_ack_out_of_order] = "write=2 exact=0",
	[R_journal_no_fua] = "vol=1 write=1 exact=0",
	[R_recovery_no_flush] = VOL "write=1 crash=1 soft=1",
	[R_extend_early] = "sectors=2 write=2",
	[R_extend_no_seal] = "sectors=2 write=3",
	[R_pin_ignored] = "init=1 write=1 evict=1 read=1",
	[R_bypass_rejected] = "write=1 bypass=1 crash=1",
	[R_page_ignores_lsn] = "init=1 write=1 evict=1 ckpt=1 crash=1",
};
