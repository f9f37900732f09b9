// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "world.hpp"

#include <deque>

/* An open hash table of hashes. */
class Seen {
public:
	explicit Seen(u64 slots);
	bool insert(u64 h);
	u64 count = 0;

private:
	std::vector<u64> table;
	void grow();
};

struct Result {
	std::string violation;
	std::vector<std::string> steps;
	u64 states = 0, outcomes = 0;
	int depth = 0;
	long seconds = 0;
	bool bounded = false;
};

class Explorer : public Sink {
public:
	Result run();

private:
	struct Entry {
		State s;
		u32 id;
		bool quiet;
	};

	Seen seen{ 1 << 20 };
	std::deque<Entry> queue;
	std::vector<u32> parent;
	std::vector<u64> hashes;
	u32 current = 0;
	u64 looking_for = 0;
	std::string found;
	State found_state;

	void put(const State &s, bool quiet) override;
	std::vector<std::string> trace(u32 id);
};
