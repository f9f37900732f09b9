// SPDX-License-Identifier: GPL-2.0-only
/* check: is a cache device sound? */
#include "checking.h"
#include "json.h"
#include "say.h"
#include "verb.h"

static void print_json(struct check *c)
{
	struct json_object *o = json_object_new_object();

	json_text(o, "device", c->dev->path);
	json_text(o, "result", findings_result(&c->f));
	json_number(o, "exit_code", c->f.worst);
	json_number(o, "nr_findings", c->f.nr);
	json_object_object_add(o, "findings", c->f.list);
	c->f.list = NULL;
	if (!c->s.best)
		json_object_object_add(o, "superblock", json_super(&c->s.sb));
	if (c->loaded) {
		json_number(o, "mapped", c->mapped);
		json_number(o, "dirty", c->dirty);
		json_number(o, "journal_blocks", c->m.journal_blocks);
		json_number(o, "journal_records", c->m.rp.nr_records);
		json_number(o, "journal_used", c->m.rp.used);
	}
	json_print(o);
}

static void print_text(const struct check *c)
{
	static const char *const advice[] = {
		[OC_EXIT_SOUND] = "sound",
		[OC_EXIT_REPLAY] = "sound; activation will repair what the last stop left undone",
		[OC_EXIT_COVERED] = "usable; the damage is covered, activation will repair it",
		[OC_EXIT_DAMAGED] = "damaged; see optcachectl repair, and salvage for what the disk lacks",
	};

	if (c->loaded)
		tell("%s: %llu of %u slots mapped, %llu dirty, %llu journal records", c->dev->path,
		     (unsigned long long)c->mapped, c->s.sb.geo.nr_slots,
		     (unsigned long long)c->dirty, (unsigned long long)c->m.rp.nr_records);
	tell("%s: %s", c->dev->path, advice[c->f.worst]);
}

static int run(const struct verb_args *args)
{
	static struct check c;
	struct dev d;
	int code;

	code = dev_open(&d, args->arg[0], DEV_READ | DEV_EXCLUSIVE);
	if (code)
		return code;
	code = check_device(&c, &d, args->json ? FINDINGS_JSON : FINDINGS_TEXT);
	if (!code) {
		if (args->json)
			print_json(&c);
		else
			print_text(&c);
		code = c.f.worst;
		check_free(&c);
	}
	dev_close(&d);
	return code;
}

const struct verb verb_check = {
	.name = "check",
	.args_doc = "CACHE_DEV",
	.summary = "verify a cache device; reads only",
	.doc = "Verify superblocks, mapping table and journal of a cache device that is not active, or of an image of one. Nothing is written.\vExit status: 0 sound, 1 sound but the journal has to be replayed, 2 damage that another copy covers, 3 damage that loses mappings or data; 64 and above: it could not be checked.",
	.min_args = 1,
	.max_args = 1,
	.has_json = true,
	.run = run,
};
