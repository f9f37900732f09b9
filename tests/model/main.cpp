// SPDX-License-Identifier: GPL-2.0-only
/*
 * model				the cases of make check, and every rule dropped in turn
 * model --full				the large cases
 * model setting=n ...			one case; the settings are those of cases.cpp
 * model --rules			the rules that can be dropped, with drop=RULE
 */
#include "cases.hpp"
#include "explore.hpp"

#include <cstdio>
#include <sstream>

static int passed, failed;

static bool parse(Config &c, const std::string &settings)
{
	std::istringstream in(settings);
	std::string word, error;

	twins = echo = false;
	while (in >> word)
		if (!config_set(c, word, error)) {
			fprintf(stderr, "model: %s\n", error.c_str());
			return false;
		}
	return true;
}

static void print_steps(const Result &r)
{
	for (size_t i = 0; i < r.steps.size(); i++)
		printf("#   %2zu. %s\n", i + 1, r.steps[i].c_str());
	fflush(stdout);
}

static Result explore(const Config &c)
{
	cfg = c;
	return Explorer().run();
}

static void tap(bool ok, const std::string &text)
{
	int n = ++(ok ? passed : failed);

	printf("%sok %d - %s\n", ok ? "" : "not ", n + (ok ? failed : passed), text.c_str());
	fflush(stdout);
}

static std::string figures(const Result &r)
{
	return std::to_string(r.states) + " states, " + std::to_string(r.outcomes) +
	       " outcomes of cuts, depth " + std::to_string(r.depth) + ", " +
	       std::to_string(r.seconds) + " s";
}

static void clean_case(const Case &k)
{
	Config c;
	Result r;

	if (!parse(c, k.settings)) {
		tap(false, k.name);
		return;
	}
	r = explore(c);
	tap(r.violation.empty() && !r.bounded, std::string(k.name) + " (" + k.settings + "): " + figures(r));
	if (r.bounded)
		printf("#   not finished: more states than max\n");
	if (!r.violation.empty())
		printf("#   %s\n", r.violation.c_str());
	print_steps(r);
}

static void dropped_rule(int rule)
{
	bool needed = rule < FIRST_REDUNDANT;
	Config c;
	Result r;

	c.drop = rule;
	if (parse(c, rule_case[rule]))
		r = explore(c);
	tap(r.states && r.violation.empty() != needed,
	    std::string(needed ? "caught: " : "harmless alone: ") + rule_text[rule]);
	printf("#   drop=%s %s: %s\n", rule_name[rule], rule_case[rule],
	       r.violation.empty() ? figures(r).c_str() : r.violation.c_str());
	print_steps(r);
}

static int summary(void)
{
	printf("1..%d\n%d passed, %d failed, 0 skipped\n", passed + failed, passed, failed);
	return failed ? 1 : 0;
}

static int run_all(const std::vector<Case> &cases, bool rules)
{
	for (const Case &k : cases)
		clean_case(k);
	for (int i = 0; rules && i < NR_RULES; i++)
		dropped_rule(i);
	return summary();
}

static int run_one(int argc, char **argv)
{
	std::string settings;
	Config c;
	Result r;

	for (int i = 1; i < argc; i++)
		settings += std::string(i > 1 ? " " : "") + argv[i];
	if (!parse(c, settings))
		return 2;
	r = explore(c);
	printf("%s: %s\n", r.violation.empty() ? r.bounded ? "not finished" : "clean" :
						 r.violation.c_str(), figures(r).c_str());
	print_steps(r);
	return !r.violation.empty() || r.bounded;
}

int main(int argc, char **argv)
{
	std::string first = argc > 1 ? argv[1] : "";

	if (first.empty())
		return run_all(check_cases, true);
	if (first == "--full")
		return run_all(full_cases, false);
	if (first == "--drops")
		return run_all({}, true);
	if (first == "--rules") {
		for (int i = 0; i < NR_RULES; i++)
			printf("%-20s %s\n", rule_name[i], rule_text[i]);
		return 0;
	}
	return run_one(argc, argv);
}
