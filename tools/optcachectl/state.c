// SPDX-License-Identifier: GPL-2.0-only
/* States, their meaning and advice. */
#include "state.h"

static const struct state states[] = {
	{ "ok", "working", NULL },
	{ "new", "not started yet", "dmsetup resume lets it read its metadata and start." },
	{ "degraded", "errors were met and contained; the data is right",
	  "See the kernel log for the device. Detach the cache and replace what is failing." },
	{ "failed", "the cache device cannot take new data any more",
	  "Detach it: what is dirty and readable goes to the disk. Replace the cache device, or format it.",
	},
	{ "suspended", "stopped on purpose; I/O waits",
	  "dmsetup resume lets it go on." },
};

static const struct state unknown = {
	"unknown", "the module's status line says nothing this tool knows",
	"Use the optcachectl that belongs to the module.",
};

/* A lost block is worse than the state alone tells. */
static const struct state lossy = {
	"degraded", "dirty blocks could not be read from the cache device: reading them gives errors",
	"See the kernel log for the blocks. Restore those files from a backup, then detach.",
};

/*
 * The module tells two things: state= where it is in its life (new, running, stopped) and
 * health= how well it is (ok, degraded, failed).  People want one word.  A line without
 * health= has all of it in state=.
 */
static const char *state_word(const struct cache *c)
{
	const char *state = status_text(&c->st, "state"), *health = status_text(&c->st, "health");

	if (c->dm.suspended || status_is(&c->st, "state", "stopped"))
		return "suspended";
	if (health && strcmp(health, "ok"))
		return health;
	if (state && !strcmp(state, "running"))
		return "ok";
	return state ? state : health;
}

const struct state *state_of(const struct cache *c)
{
	const char *name = state_word(c);
	unsigned int i;

	if (name && !strcmp(name, "degraded") && status_count(&c->st, "lost"))
		return &lossy;
	for (i = 0; name && i < sizeof(states) / sizeof(states[0]); i++)
		if (!strcmp(states[i].name, name))
			return &states[i];
	return &unknown;
}
