// SPDX-License-Identifier: GPL-2.0-only
#include "config.hpp"

Config cfg;
bool twins, echo;

const char *const rule_name[NR_RULES] = {
#define R(name, text) #name,
	RULES(R)
#undef R
};

const char *const rule_text[NR_RULES] = {
#define R(name, text) text,
	RULES(R)
#undef R
};

static int find_rule(const std::string &name)
{
	for (int i = 0; i < NR_RULES; i++)
		if (name == rule_name[i])
			return i;
	return -1;
}

static bool set_number(Config &c, const std::string &key, int n)
{
	static const char *const budget[NR_BUDGETS] = { "write", "through", "bypass", "fill", "wb",
							"evict", "ckpt", "flush", "discard", "fail",
							"read", "crash" };
	struct { const char *name; bool *flag; } flags[] = {
		{ "vol", &c.vol_cache }, { "volorigin", &c.vol_origin }, { "fua", &c.fua },
		{ "plain", &c.plain }, { "intent", &c.intent }, { "late", &c.late },
		{ "split", &c.split }, { "melt", &c.melt }, { "anyslot", &c.anyslot },
		{ "soft", &c.soft }, { "nodiscard", &c.nodiscard },
		{ "exact", &c.exact }, { "space", &c.space }, { "twins", &twins }, { "echo", &echo }, { "trace", &c.trace },
	};
	struct { const char *name; int *value; int least, most; } numbers[] = {
		{ "sectors", &c.sectors, 1, NH }, { "flights", &c.flights, 1, NFLY },
		{ "ring", &c.ring, 2, NRING }, { "slots", &c.slots, 1, NS }, { "pend", &c.pend, 1, NPEND },
		 { "init", &c.init, 0, 5 },
	};

	for (int i = 0; i < NR_BUDGETS; i++)
		if (key == budget[i]) {
			c.bud[i] = n;
			return true;
		}
	for (auto &f : flags)
		if (key == f.name) {
			*f.flag = n;
			return true;
		}
	for (auto &v : numbers)
		if (key == v.name && n >= v.least && n <= v.most) {
			*v.value = n;
			return true;
		}
	if (key == "max") {
		c.max_states = (u64)n * 1000000;
		return true;
	}
	return false;
}

bool config_set(Config &c, const std::string &word, std::string &error)
{
	size_t eq = word.find('=');
	std::string key = word.substr(0, eq), val = eq == std::string::npos ? "1" : word.substr(eq + 1);

	if (key == "drop") {
		c.drop = find_rule(val);
		if (c.drop >= 0)
			return true;
		error = "no rule is named " + val + "; --rules lists them";
		return false;
	}
	if (set_number(c, key, atoi(val.c_str())))
		return true;
	error = "what is " + word + "? --help lists the settings";
	return false;
}
