// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "config.hpp"

struct Case {
	const char *name, *settings;
};

extern const std::vector<Case> check_cases, full_cases;

/* A small case that catches the dropped rule. */
extern const char *const rule_case[NR_RULES];
