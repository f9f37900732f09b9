// SPDX-License-Identifier: GPL-2.0-only
/* Numbers for people. */
#include <stdio.h>

#include "human.h"

struct human human_bytes(unsigned long long bytes)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	struct human h;
	double v = bytes;
	unsigned int i = 0;

	while (v >= 1024 && i < 6) {
		v /= 1024;
		i++;
	}
	if (!i)
		snprintf(h.text, sizeof(h.text), "%llu B", bytes);
	else
		snprintf(h.text, sizeof(h.text), "%.*f %s", v < 10 ? 2 : v < 100 ? 1 : 0, v,
			 unit[i]);
	return h;
}

struct human human_seconds(unsigned long long s)
{
	struct human h;

	if (s < 120)
		snprintf(h.text, sizeof(h.text), "%llu s", s);
	else if (s < 7200)
		snprintf(h.text, sizeof(h.text), "%llu min", s / 60);
	else
		snprintf(h.text, sizeof(h.text), "%llu h %llu min", s / 3600, s % 3600 / 60);
	return h;
}

struct human human_percent(unsigned long long part, unsigned long long whole)
{
	struct human h;

	if (!whole)
		snprintf(h.text, sizeof(h.text), "-");
	else
		snprintf(h.text, sizeof(h.text), "%.1f %%", 100.0 * part / whole);
	return h;
}
