/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * crc32c() of tools/lib/crc32c.h in the processor's own instruction, as kernels on real
 * machines have it.  Included ahead of everything; without SSE 4.2 it is not there.
 */
#ifdef __SSE4_2__
#ifndef _USER_CRC32C_H
#define _USER_CRC32C_H

#include <linux/types.h>
#include <stddef.h>
#include <string.h>

static inline __u32 crc32c(__u32 crc, const void *buf, size_t len)
{
	const unsigned char *p = buf;
	__u64 wide = crc, word;

	for (; len >= sizeof(word); len -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		wide = __builtin_ia32_crc32di(wide, word);
	}
	for (crc = wide; len; len--)
		crc = __builtin_ia32_crc32qi(crc, *p++);
	return crc;
}

#endif
#endif
