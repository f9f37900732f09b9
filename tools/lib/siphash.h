/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SipHash-2-4 with the kernel's names, for whole 64-bit words only.
 * J.-P. Aumasson, D. J. Bernstein: SipHash, a fast short-input PRF, INDOCRYPT 2012.
 */
#ifndef _OPTCACHE_LIB_SIPHASH_H
#define _OPTCACHE_LIB_SIPHASH_H

typedef struct {
	u64 key[2];
} siphash_key_t;

static inline u64 siphash_rotl(u64 x, unsigned int n)
{
	return x << n | x >> (64 - n);
}

static inline void siphash_rounds(u64 v[4], unsigned int n)
{
	while (n--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = siphash_rotl(v[1], 13) ^ v[0];
		v[3] = siphash_rotl(v[3], 16) ^ v[2];
		v[0] = siphash_rotl(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = siphash_rotl(v[1], 17) ^ v[2];
		v[3] = siphash_rotl(v[3], 21) ^ v[0];
		v[2] = siphash_rotl(v[2], 32);
	}
}

static inline void siphash_word(u64 v[4], u64 word)
{
	v[3] ^= word;
	siphash_rounds(v, 2);
	v[0] ^= word;
}

/* @len: bytes, a multiple of 8. */
static inline u64 siphash(const void *data, size_t len, const siphash_key_t *key)
{
	u64 v[4] = {
		key->key[0] ^ 0x736f6d6570736575ULL, key->key[1] ^ 0x646f72616e646f6dULL,
		key->key[0] ^ 0x6c7967656e657261ULL, key->key[1] ^ 0x7465646279746573ULL,
	};
	__le64 word;
	size_t at;

	for (at = 0; at < len; at += sizeof(word)) {
		memcpy(&word, (const u8 *)data + at, sizeof(word));
		siphash_word(v, le64_to_cpu(word));
	}
	siphash_word(v, (u64)len << 56);
	v[2] ^= 0xff;
	siphash_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif /* _OPTCACHE_LIB_SIPHASH_H */
