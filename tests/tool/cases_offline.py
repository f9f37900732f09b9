# SPDX-License-Identifier: GPL-2.0-only
"""What the verbs that work on images print and write when all is well."""
import json
import os
import re

import image
from harness import FAKE, REAL

VERBS = ["create", "attach", "detach", "list", "status", "stats", "set", "mode", "flush", "format",
         "dump", "check", "writeback", "repair", "restore", "salvage"]
MIB = 1 << 20


def help_texts(tap, box):
    for tool in (REAL, FAKE):
        r = box.run("--version", tool=tool)
        tap.ok(r.code == 0 and re.match(r"optcachectl \d", r.out) and not r.err, "--version", r)
    r = box.run("--help")
    tap.ok(r.code == 0 and all(f"  {v} " in r.out for v in VERBS), "--help names every verb", r)
    for verb in VERBS:
        r = box.run(verb, "--help")
        tap.ok(r.code == 0 and not r.err and f"Usage: optcachectl {verb} " in r.out
               and "--quiet" in r.out, f"{verb} --help", r)
        tap.ok(box.run(verb, "-?").out == r.out, f"{verb} -?")


def dumps(tap, box):
    mapping = {}
    r = box.run("dump", "--json", "used")
    j = r.json() if r.code == 0 else {"mappings": []}
    for run in j["mappings"]:
        for i in range(run["count"]):
            mapping[run["slot"] + i] = (run["block"] + i, run["valid"], int(run["dirty"]))
    want = box.used_mapping
    tap.ok(r.code == 0 and mapping == want, "dump --json: table and journal give what was written",
           f"{r}\nwant {want}")
    tap.ok(r.code == 0 and j["mapped"] == len(want) and j["dirty"] == sum(e[2] for e in want.values())
           and j["journal_records"] == 8 and j["journal_blocks"] == 6
           and j["superblock"]["generation"] == 1 and j["copy"] == 1 and not j["damaged"],
           "dump --json: sums and superblock", r)
    r = box.run("dump", "--json", "--dirty", "used")
    dirty = sum(m["count"] for m in r.json()["mappings"])
    tap.ok(dirty == sum(e[2] for e in want.values()), "dump --dirty", r)
    r = box.run("dump", "--json", "--no-mappings", "used")
    tap.ok("mappings" not in r.json() and r.json()["mapped"] == len(want), "dump --no-mappings", r)
    r = box.run("dump", "used")
    tap.ok(r.code == 0 and "slot 710+246 block 2010 valid ff dirty" in r.out
           and "slot 506+1 block 5000 valid 0f dirty" in r.out, "dump as text", r)
    r = box.run("dump", "--json", "cache")
    tap.ok(r.code == 0 and r.json()["mappings"] == [], "dump --json of an empty cache", r)

    box.copy("used", "hurt")
    with image.Image(box.path("hurt")) as im:
        im.flip(im.page_offset(2, 0) + 100)
    r = box.run("dump", "--json", "hurt")
    tap.ok(r.code == 65 and r.json()["damaged"] and "not complete" in r.err,
           "dump of a damaged image prints what there is and says so", r)


def fingerprints(tap, box):
    """What a stop in order leaves of the disk, and what is known of it later."""
    r = box.run("dump", "used")
    tap.ok("\n  fingerprint   none\n" in r.out and "was changed" not in r.out, "dump: no fingerprint", r)
    samples = [(0, 2048, 0), (2048, 128, 0xFFFFFFFF), (8191, 1, 7)]
    box.copy("cache", "sampled")
    with image.Image(box.path("sampled")) as im:
        im.set_super(seq=9, flags=image.CLEAN_STOP)
        im.set_samples(*samples)
    r = box.run("dump", "sampled")
    tap.ok(r.code == 0 and "\n  fingerprint   3 parts of the origin\n" in r.out, "dump: a fingerprint", r)
    sb = box.run("dump", "--json", "sampled").json()["superblock"]
    want = [dict(zip(("sector", "sectors", "hash"), s)) for s in samples]
    tap.ok(sb["fingerprint"] == want and not sb["stale"], "dump --json: a fingerprint", sb)
    r = box.run("format", "--json", "--force", "--yes", "sampled", "origin")
    tap.ok(r.code == 0 and r.json()["superblock"]["fingerprint"] == [], "a new cache has none", r)

    box.copy("cache", "stale")
    with image.Image(box.path("stale")) as im:
        im.set_super(seq=9, flags=image.CLEAN_STOP | image.STALE)
    r = box.run("dump", "stale")
    tap.ok(r.code == 0 and "stopped in order, the origin was changed: clean blocks are being dropped"
           in r.out, "dump: the origin was changed", r)
    j = box.run("dump", "--json", "stale").json()
    tap.ok(j["superblock"]["stale"] is True, "dump --json: the origin was changed", j)


def formats(tap, box):
    box.file("target", 5 * MIB)
    r = box.run("format", "--json", "--mode", "writethrough", "--set", "dirty_low=70", "--set",
                "dirty_high=80", "target", "disk", tool=REAL)
    j = r.json() if r.code == 0 else {}
    tap.ok(r.code == 0 and j["superblock"]["options"] ==
           {"mode": "writethrough", "dirty_low": 70, "dirty_high": 80},
           "format --json; options are saved, in any order", r)
    with image.Image(box.path("target")) as im:
        ok = [image.sealed(im.read(c * 4096, 4096), 12) == im.read(c * 4096, 4096) for c in (0, 1)]
        sb = im.sb
        size = sb["journal_size"]
        journal = im.read(sb["journal_start"], size)
        pages = [image.sealed(im.read(im.page_offset(n, 0), 4096), 4) == im.read(im.page_offset(n, 0), 4096)
                 and im.read(im.page_offset(n, 1), 4096) == bytes(4096) for n in range(im.pages)]
    tap.ok(all(ok), "both superblock copies are sealed")
    tap.ok(sb["origin_sectors"] == 80 * 1024 and sb["cache_sectors"] <= 10240, "sizes", sb)
    tap.ok(journal == bytes(size), "the journal is zeroed")
    tap.ok(all(pages) and len(pages) == 3, "every table page is sealed in place 0, place 1 empty", pages)

    # over an older cache: nothing of it survives
    box.copy("used", "again")
    r = box.run("format", "--force", "--yes", "again", "disk")
    with image.Image(box.path("again")) as im:
        journal = im.read(im.sb["journal_start"], im.sb["journal_size"])
        uuid = im.sb["uuid"]
    with image.Image(box.path("used")) as im:
        old = im.sb["uuid"]
    tap.ok(r.code == 0 and uuid != old and journal == bytes(len(journal))
           and box.run("dump", "--json", "again").json()["mapped"] == 0,
           "format --force over a dirty cache leaves nothing of it", r)
    for kind in ("ext4", "gpt", "mbr", "luks", "swap", "xfs"):
        box.copy(kind, "over")
        r = box.run("format", "--force", "--yes", "over", "origin")
        again = box.run("format", "over", "origin")
        tap.ok(r.code == 0 and box.run("check", "over").code == 0 and "already holds" in again.err,
               f"format --force over {kind}", r)
    gpt = open(box.path("over"), "rb").read()
    box.copy("gpt", "over")
    box.run("format", "--force", "--yes", "over", "origin")
    gpt = open(box.path("over"), "rb").read()
    tap.ok(b"EFI PART" not in gpt, "both copies of the GPT are gone")

    box.file("target", 5 * MIB)
    r = box.run("format", "--quiet", "target", "disk")
    tap.ok(r.code == 0 and not r.out and not r.err, "format --quiet says nothing", r)
    r = box.run("check", "--quiet", "target")
    tap.ok(r.code == 0 and not r.out and not r.err, "check --quiet says nothing", r)


def terminal(tap, box):
    box.copy("ext4", "ask")
    before = box.state(["ask"])
    r = box.run_on_terminal("format", "--force", "ask", "origin", answer="n\n")
    tap.ok(r.code == 73 and "Go on? [y/N]" in r.out and box.state(["ask"]) == before,
           "answer no: nothing was changed", r)
    r = box.run_on_terminal("format", "--force", "ask", "origin", answer="y\n")
    tap.ok(r.code == 0 and "formatting [" in r.out and "100.0 %" in r.out,
           "answer yes: formatted, with a progress bar", r)


def jsons(tap, box):
    for argv in (["check", "--json", "cache"], ["check", "--json", "used"], ["dump", "--json", "used"],
                 ["dump", "-j", "cache"]):
        a, b = box.run(*argv), box.run(*argv, tool=REAL)
        try:
            same = json.loads(a.out) == json.loads(b.out)
        except ValueError:
            same = False
        tap.ok(same and a.code == b.code, f"{' '.join(argv)}: JSON, the same from both builds", a)
    r = box.run("check", "used", tool=REAL)
    tap.ok(r.code == 1 and "sound; activation will" in r.out, "check of a used image as text", r)
    with open("/dev/full", "w") as full:
        import subprocess
        p = subprocess.run([REAL, "dump", "used"], cwd=box.dir, env=box.env(), stdout=full,
                           stderr=subprocess.PIPE, text=True)
    tap.ok(p.returncode == 74 and "cannot write the output" in p.stderr, "full disk below stdout",
           p.stderr)


def completion(tap, box):
    path = os.path.join(os.path.dirname(__file__), "../../tools/completion/optcachectl")
    text = open(path).read()
    for verb in VERBS:
        r = box.run(verb, "--help")
        options = set(re.findall(r"--([a-z-]+)", r.out.split("\n\n", 1)[1]))
        missing = [o for o in options if f"--{o}" not in text]
        tap.ok(verb in text and not missing, f"completion knows the options of {verb}", missing)


def manual(tap, box):
    path = os.path.join(os.path.dirname(__file__), "../../tools/optcachectl/optcachectl.8")
    text = open(path).read()
    for verb in VERBS:
        r = box.run(verb, "--help")
        options = set(re.findall(r"--([a-z-]+)", r.out.split("\n\n", 1)[1]))
        missing = [o for o in options if o.replace("-", "\\-") not in text]
        tap.ok(not missing, f"the manual knows the options of {verb}", missing)


def run(tap, box):
    help_texts(tap, box)
    dumps(tap, box)
    fingerprints(tap, box)
    formats(tap, box)
    terminal(tap, box)
    jsons(tap, box)
    completion(tap, box)
    manual(tap, box)
