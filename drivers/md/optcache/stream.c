// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sequential streams: a hash from the sector where a stream will go on to the
 * stream, and a ring of all streams, the one used last behind its head [0].
 * A stream that was never used is in the ring, not in the hash.
 */
#include <optcache/stream.h>

#define STREAM_HASH_BITS	8

static_assert(1 << STREAM_HASH_BITS == OC_STREAM_HASH);

static u16 *stream_bucket(struct oc_streams *st, u64 sector)
{
	return &st->hash[hash_64(sector, STREAM_HASH_BITS)];
}

static void ring_add(struct oc_streams *st, u16 i)
{
	struct oc_stream *head = &st->stream[0];

	st->stream[i].lru_prev = 0;
	st->stream[i].lru_next = head->lru_next;
	st->stream[head->lru_next].lru_prev = i;
	head->lru_next = i;
}

static void ring_del(struct oc_streams *st, u16 i)
{
	const struct oc_stream *s = &st->stream[i];

	st->stream[s->lru_prev].lru_next = s->lru_next;
	st->stream[s->lru_next].lru_prev = s->lru_prev;
}

static void hash_del(struct oc_streams *st, u16 i)
{
	u16 *link = stream_bucket(st, st->stream[i].next_sector);

	while (*link && *link != i)
		link = &st->stream[*link].hash_next;
	if (*link)
		*link = st->stream[i].hash_next;
}

static void hash_add(struct oc_streams *st, u16 i)
{
	u16 *bucket = stream_bucket(st, st->stream[i].next_sector);

	st->stream[i].hash_next = *bucket;
	*bucket = i;
}

/* The stream that goes on at @sector, or 0. */
static u16 stream_find(struct oc_streams *st, u64 sector)
{
	u16 i = *stream_bucket(st, sector);

	while (i && st->stream[i].next_sector != sector)
		i = st->stream[i].hash_next;
	return i;
}

void oc_streams_init(struct oc_streams *st)
{
	u16 i;

	memset(st, 0, sizeof(*st));
	spin_lock_init(&st->lock);
	for (i = 1; i <= OC_STREAMS; i++)
		ring_add(st, i);
}

/* What the run of stream @i counts for. */
static u64 row_of(const struct oc_streams *st, u16 i, bool write)
{
	const struct oc_stream *s = &st->stream[i];

	return write && s->flushes != READ_ONCE(st->flushes) ? 0 : s->sectors;
}

u64 oc_stream_peek(struct oc_streams *st, u64 sector, bool write)
{
	unsigned long flags;
	u64 row = 0;
	u16 i;

	spin_lock_irqsave(&st->lock, flags);
	i = stream_find(st, sector);
	if (i)
		row = row_of(st, i, write);
	spin_unlock_irqrestore(&st->lock, flags);
	return row;
}

u64 oc_stream_add(struct oc_streams *st, u64 sector, u32 sectors, bool write)
{
	unsigned long flags;
	u64 row;
	u16 i;

	if (!sectors)
		return 0;
	spin_lock_irqsave(&st->lock, flags);
	i = stream_find(st, sector);
	if (i) {
		row = row_of(st, i, write) + sectors;
	} else {
		i = st->stream[0].lru_prev;	/* the one unused for longest starts anew */
		row = sectors;
	}
	hash_del(st, i);
	st->stream[i].sectors = row;
	st->stream[i].flushes = READ_ONCE(st->flushes);
	st->stream[i].next_sector = sector + sectors;
	hash_add(st, i);
	ring_del(st, i);
	ring_add(st, i);
	spin_unlock_irqrestore(&st->lock, flags);
	return row;
}
