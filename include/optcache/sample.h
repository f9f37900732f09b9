/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where to look at the origin, to tell whether somebody has written it behind the cache's
 * back.  No place is sure to change, and not all can be read; these are the ones that change
 * when a file system is mounted, or when somebody writes what the cache works with.
 */
#ifndef _OPTCACHE_SAMPLE_H
#define _OPTCACHE_SAMPLE_H

#include "format.h"
#include "slots.h"

#define OC_SPOTS	32	/* clean blocks that are compared when there are no samples */

/*
 * oc_sample_slots - slots spread over all of them, the hottest of its neighbours each
 * @dirty: of the dirty ones, else of those that are clean
 * @slot: room for @max
 *
 * When there are no more than @max, all of them.  Reads every slot's word; nothing else may
 * change them.  Return: how many.
 */
u32 oc_sample_slots(const struct oc_slots *slots, bool dirty, oc_slot_t *slot, u32 max);

/*
 * oc_sample_plan - the parts of the origin that make its fingerprint
 * @sb: receives sample and nr_samples; hash is left to the caller
 *
 * Both ends, the places where partitions and volumes usually begin, and the blocks under
 * some slots: about 2.3 MiB in at most OPTCACHE_MAX_SAMPLES reads, by sector.
 */
void oc_sample_plan(struct oc_super *sb, const struct oc_slots *slots);

/*
 * The hash of a sample, taken of @bytes after @bytes: all but the last are whole blocks.
 * SipHash, not CRC32C: file systems put a CRC32C behind what they change, and then the CRC32C
 * of both together stays the same.
 */
struct oc_sample_hash {
	siphash_key_t key;
};

void oc_sample_hash_begin(struct oc_sample_hash *h, const u8 uuid[OPTCACHE_UUID_SIZE]);
void oc_sample_hash_add(struct oc_sample_hash *h, const void *buf, size_t bytes);
u32 oc_sample_hash_end(const struct oc_sample_hash *h);

#endif /* _OPTCACHE_SAMPLE_H */
