/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is the disk still the one that the cache left?  As the module tells at activation: by the
 * samples in the superblock, or, when there are none, by what is clean in the cache.
 */
#ifndef _OPTCACHECTL_FINGERPRINT_H
#define _OPTCACHECTL_FINGERPRINT_H

#include "mapping.h"

#define FINGERPRINT_WHERE_MAX	80

/*
 * @m: loaded without damage
 * @where: "at sector 80, ...", the first difference
 *
 * What cannot be read is not compared.  Return: 1 when something differs, 0 or -errno.
 */
int fingerprint_differs(const struct mapping *m, const struct dev *cache,
			const struct dev *origin, char where[FINGERPRINT_WHERE_MAX]);

#endif /* _OPTCACHECTL_FINGERPRINT_H */
