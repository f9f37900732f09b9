// SPDX-License-Identifier: GPL-2.0-only
/* The way back: what the table and the journal say.  What INTENTs are worth is decided later. */
#include "world.hpp"

struct Replay {
	const Media &m;
	Replayed r = {};

	u8 page_lsn(int slot) const { return m.page[page_of(slot)].lsn; }

	/*
	 * Its slot is free, or holds other sectors of the block, dirty.  If not, the page contains
	 * what followed it.
	 */
	void intent(Rec rec, bool newer)
	{
		Intent &in = r.intent[rec_slot(rec)];
		u8 e = r.entry[rec_slot(rec)];

		if (e && (entry_block(e) != rec_block(rec) || !entry_dirty(e) ||
			  (newer && entry_mask(e) & rec_mask(rec)))) {
			if (newer)
				r.refused = "an INTENT names a slot that is in use";
			return;
		}
		if (in.on)
			r.refused = "two INTENTs stand for a slot";
		in = {};
		in.on = true;
		in.blk = rec_block(rec);
		in.mask = rec_mask(rec);
		for (int h = 0; h < NH; h++)
			in.crc[h] = rec_crc(rec, h);
	}

	void apply(Rec rec, u8 lsn)
	{
		int i = rec_slot(rec);
		bool newer = lsn >= page_lsn(i);

		if (rec_type(rec) == INTENT) {
			if (newer || !dropped(R_page_covers_intent))
				intent(rec, newer);
			return;
		}
		if (rec_type(rec) != CLEAN)
			r.intent[i] = {};
		if (!newer && !dropped(R_page_ignores_lsn))
			return;
		r.behind |= 1 << page_of(i);
		switch (rec_type(rec)) {
		case MAP:
			r.entry[i] = make_entry(rec_block(rec), rec_mask(rec), rec_dirty(rec));
			break;
		case UNMAP:
			r.entry[i] = 0;
			break;
		case CLEAN:
			if (r.entry[i])
				r.entry[i] &= ~4;
			break;
		}
	}

	/* Rule dropped: INTENTs of slots in a row have one checksum. */
	void join(Rec a, Rec b)
	{
		int i = rec_slot(a), k = rec_slot(b);

		if (rec_type(a) != INTENT || rec_type(b) != INTENT || i + 1 != k)
			return;
		r.intent[k].with = i + 1;
		r.intent[i].with = k + 1;
		memcpy(r.intent[k].with_crc, r.intent[i].crc, NH);
		memcpy(r.intent[i].with_crc, r.intent[k].crc, NH);
	}

	/* Return: it is the block that is expected here. */
	bool take(const JBlock &b, u8 &epoch)
	{
		u8 lsn = r.lsn;

		if (!b.n || (b.lsn != r.lsn && !dropped(R_replay_no_lsn)) || (b.epoch < epoch && !dropped(R_epoch_falls)))
			return false;
		if (b.epoch > m.sb.epoch) {
			r.refused = "a journal block has an epoch above the superblock's";
			return false;
		}
		epoch = b.epoch;
		for (int i = 0; i < b.n && !r.refused; i++) {
			if (i && !rec_joined(b.rec[i]))
				lsn++;
			apply(b.rec[i], lsn);
			if (i && dropped(R_crc_of_run))
				join(b.rec[i - 1], b.rec[i]);
		}
		r.lsn += b.nr;
		return true;
	}

	void run()
	{
		u8 epoch = m.sb.tail_epoch;

		for (int i = 0; i < NS; i++)
			r.entry[i] = m.page[page_of(i)].entry[i % 2];
		r.lsn = m.sb.tail;
		r.pos = m.sb.pos;
		while (r.used < cfg.ring && take(m.ring[r.pos], epoch)) {
			r.pos = (r.pos + 1) % cfg.ring;
			r.used++;
		}
		for (const Page &p : m.page)
			if (p.lsn == TORN)
				r.refused = "a page is torn, and has no other place";
			else if (p.lsn > r.lsn)
				r.refused = "a page is ahead of the journal";
	}
};

Replayed replay(const Media &m)
{
	Replay x = { m };

	x.run();
	return x.r;
}
