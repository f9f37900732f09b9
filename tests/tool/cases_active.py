# SPDX-License-Identifier: GPL-2.0-only
"""Verbs for active caches, on the simulated device-mapper."""
import image
from harness import status

OS_, REFUSED, IO, TEMP = 71, 73, 74, 75


def one_line(r, code, what):
    """The last line on stderr; plain progress lines may come before it."""
    last = r.err.splitlines()[-1] if r.err else ""
    return r.code == code and last.startswith("optcachectl: ") and what in last


def lists(tap, box):
    r = box.run("list")
    tap.ok(r.code == 0 and not r.out and not r.err, "list of nothing", r)
    r = box.run("list", "--json")
    tap.ok(r.code == 0 and r.json() == {"caches": []}, "list --json of nothing", r)
    r = box.run("status")
    tap.ok(r.code == 0 and "no cache is active" in r.out, "status of nothing", r)
    box.device("zeta")
    box.device("alpha", status=status(mode="passthrough"), minor=3)
    box.device("lin", target="linear")
    r = box.run("list", "--json")
    names = [c["name"] for c in r.json()["caches"]]
    tap.ok(names == ["alpha", "zeta"], "list --json: ours only, in order", r)
    tap.ok(r.json()["caches"][0]["mode"] == "passthrough" and r.json()["caches"][0]["minor"] == 3,
           "list --json: fields", r)
    r = box.run("list")
    tap.ok(r.code == 0 and r.out.splitlines()[0].startswith("NAME") and len(r.out.splitlines()) == 3,
           "list as text", r)
    r = box.run("status", "--json")
    tap.ok(len(r.json()["caches"]) == 2, "status --json of all", r)
    box.clear()


def statuses(tap, box):
    box.device("fast")
    r = box.run("status", "--json", "fast")
    j = r.json()
    tap.ok(j["derived"]["read_hit_ratio"] == 0.9 and j["derived"]["memory_per_slot"] == 16.0
           and j["status"]["reads"] == 1000 and j["status"]["mode"] == "writeback"
           and j["state"] == "ok" and j["advice"] is None, "status --json: numbers and ratios", r)
    r = box.run("status", "fast")
    tap.ok("90.0 % from the cache" in r.out and "16.0 bytes a slot" in r.out and "working" in r.out,
           "status as text", r)
    tap.ok(box.run("status", "/dev/mapper/fast").out == r.out, "status by path")

    for state, word, changes in (
            ("degraded", "replace", {"health": "degraded"}),
            ("failed", "Replace the cache device", {"health": "failed"}),
            ("suspended", "resume", {"state": "stopped"}),
            ("new", "resume", {"state": "new"}),
            ("degraded", "replace", {"state": "degraded", "health": None}),
            ("ok", "working", {"state": "ok", "health": None}),
            ("unknown", "belongs to the module", {"state": "dreaming"}),
            ("unknown", "belongs to the module", {"state": None, "health": None})):
        box.device("fast", status=status(**changes))
        r = box.run("status", "fast")
        tap.ok(r.code == 0 and word in r.out and state in r.out, f"state {state} from {changes}: advice", r)
    box.device("fast", suspended=1)
    tap.ok("suspended" in box.run("status", "fast").out, "suspended by dm")
    box.device("fast", status=status(health="degraded", lost=3, cache_errors=9))
    r = box.run("status", "fast")
    tap.ok("backup" in r.out and "3 blocks lost" in r.out, "lost blocks: advice", r)
    box.device("fast", status=status(dirty=1000, flush="running", flush_left=1000))
    r = box.run("status", "fast")
    tap.ok("running, 3.91 MiB left" in r.out and "3.91 MiB not yet" in r.out, "flush under way", r)

    # other modules, other keys
    for name, line in (("no status", ""), ("no numbers", "1"), ("garbage", "%%% = =x y= \x7f"),
                       ("huge numbers", "1 reads=99999999999999999999 slots=18446744073709551615"),
                       ("thousands of keys", "1 " + " ".join(f"k{i}={i}" for i in range(400)))):
        box.device("fast", status=line)
        a, b = box.run("status", "fast"), box.run("status", "--json", "fast")
        tap.ok(a.code == 0 and b.code == 0 and b.json()["name"] == "fast", f"status line: {name}",
               f"{a}\n{b}")
    box.device("fast", status=status(future="42", colour="red"))
    j = box.run("status", "--json", "fast").json()
    tap.ok(j["status"]["future"] == 42 and j["status"]["colour"] == "red", "unknown keys pass through")
    box.device("fast", status=status().replace("1 ", "2 ", 1))
    r = box.run("status", "fast")
    tap.ok(r.code == 0 and "status version 2" in r.err and r.err.count("\n") == 1,
           "newer status version: a warning", r)
    box.device("fast", table="")
    tap.ok(box.run("status", "fast").code == 0, "empty table line")
    box.clear()


def stats(tap, box):
    box.device("fast")
    r = box.run("stats", "--json", "fast")
    tap.ok(r.json()["stats"]["fills"] == 70, "stats --json", r)
    r = box.run("stats", "fast")
    tap.ok("fills                70" in r.out, "stats as text", r)
    r = box.run("stats", "--interval", "1", "--count", "1", "fast")
    tap.ok(r.code == 0 and len(r.out.splitlines()) == 2 and "rd-hit/s" in r.out, "stats --interval", r)
    r = box.run("stats", "--json", "--interval", "1", "--count", "1", "fast")
    tap.ok(r.code == 0 and r.json()["reads"] == 0 and r.json()["dirty"] == 0 and 0.9 < r.json()["seconds"],
           "stats --json --interval", r)
    r = box.run_interrupted("stats", "--interval", "5", "fast")
    tap.ok(r.code == 0 and not r.err, "stats --interval ends at SIGINT", r)
    r = box.run("stats", "--reset", "fast")
    tap.ok(r.code == 0 and box.messages("fast") == ["reset-stats"], "stats --reset", r)
    box.clear()


def settings(tap, box):
    box.device("fast")
    r = box.run("set", "fast", "writeback_delay", "30")
    tap.ok(r.code == 0 and box.messages("fast") == ["set writeback_delay 30"]
           and "writeback_delay is now 30 s" in r.out, "set", r)
    r = box.run("set", "--json", "fast", "dirty_low=70", "dirty_high=90")
    tap.ok(r.code == 0 and r.json() == {"name": "fast", "dirty_low": 70, "dirty_high": 90}
           and box.messages("fast")[1:] == ["set dirty_high 90", "set dirty_low 70"],
           "set: two that must agree, upwards", f"{r}\n{box.messages('fast')}")
    r = box.run("set", "fast", "dirty_high=20", "dirty_low=10")
    tap.ok(r.code == 0 and box.messages("fast")[3:] == ["set dirty_low 10", "set dirty_high 20"],
           "set: and downwards", f"{r}\n{box.messages('fast')}")
    r = box.run("set", "fast", "dirty_high", "9")
    tap.ok(r.code == 64 and len(box.messages("fast")) == 5, "set: nothing is sent that cannot be", r)
    r = box.run("set", "--show", "fast")
    tap.ok(r.code == 0 and "0..3600, default 5" in r.out and "dirty_high         20" in r.out,
           "set --show", r)
    j = box.run("set", "--show", "--json", "fast").json()
    tap.ok(j["options"]["dirty_high"]["value"] == 20 and j["options"]["mode"]["value"] == "writeback",
           "set --show --json", j)
    r = box.run("mode", "fast", "writethrough")
    tap.ok(r.code == 0 and box.messages("fast")[-1] == "set mode writethrough", "mode", r)
    box.control(message=22, words="optcache: fast: mode: dirty blocks are left")
    r = box.run("mode", "fast", "writearound")
    tap.ok(one_line(r, 64, "dirty blocks are left") and r.err.count("\n") == 1,
           "a message that the module refuses: its own words", r)
    box.control(message=5)
    r = box.run("mode", "fast", "writearound")
    tap.ok(one_line(r, OS_, "Input/output error"), "a message that fails without words", r)
    box.clear()


def flushes(tap, box):
    box.device("fast", status=status(dirty=1000), step=300)
    r = box.run("flush", "fast")
    tap.ok(r.code == 0 and "has everything" in r.out and box.messages("fast") == ["flush"], "flush", r)
    r = box.run("flush", "--json", "fast")
    tap.ok(r.code == 0 and r.json() == {"name": "fast", "dirty": 0}, "flush --json of a clean cache", r)
    box.device("fast", status=status(dirty=1000), step=100, stuck=300)
    r = box.run("flush", "fast")
    tap.ok(one_line(r, IO, "1.17 MiB left") and "errors" in r.err, "flush that cannot finish", r)
    box.device("fast", status=status(dirty=1000000), step=1)
    r = box.run("flush", "--timeout", "1", "fast")
    tap.ok(one_line(r, TEMP, "timed out") and "--cancel" in r.err, "flush --timeout", r)
    r = box.run_interrupted("flush", "--quiet", "fast")
    tap.ok(one_line(r, TEMP, "interrupted") and "goes on in the kernel" in r.err, "flush interrupted", r)
    r = box.run("flush", "--cancel", "fast")
    tap.ok(r.code == 0 and box.messages("fast")[-1] == "cancel-flush", "flush --cancel", r)
    box.device("fast", status=status(dirty=1000), step=200)
    r = box.run_on_terminal("flush", "fast")
    tap.ok(r.code == 0 and "writing back [" in r.out and "100.0 %" in r.out, "flush on a terminal: a bar", r)
    box.device("fast", status=status(dirty=200, flush=None, flush_left=None), step=0)
    r = box.run("flush", "--timeout", "1", "fast")
    tap.ok(r.code in (0, TEMP), "flush of a module without flush= still ends", r)
    box.clear()


def detaches(tap, box):
    box.copy("cache", "done")
    image.stopped(box.path("done"))
    table = f"{box.path('done')} {box.path('origin')} 0"
    log = ["set mode passthrough", "flush", "set mode writethrough"]

    box.device("fast", table=table, status=status(dirty=500, mode="writethrough"), step=100)
    before = box.state(["done"])
    r = box.run("detach", "fast")
    gone = box.run("status", "fast").code == 66
    tap.ok(r.code == 0 and "complete and can be used alone" in r.out and gone
           and box.messages("fast") == log, "detach", f"{r}\n{box.messages('fast')}")
    after = box.state(["done"])
    tap.ok(before[box.path("done")] == after[box.path("done")], "detach leaves the cache as it is")

    box.clear()
    box.device("fast", table=table)
    r = box.run("detach", "--json", "--wipe", box.path("done"))
    tap.ok(r.code == 66, "detach by the path of an image is no device", r)
    r = box.run("detach", "--json", "--wipe", "fast")
    with open(box.path("done"), "rb") as f:
        head = f.read(8192)
    tap.ok(r.code == 0 and r.json()["wiped"] and head == bytes(8192)
           and box.run("check", "done").code == 65, "detach --wipe erases both superblocks", r)

    box.clear()
    box.device("fast", table=f"{box.path('used')} {box.path('disk')} 0")
    r = box.run("detach", "fast")
    tap.ok(one_line(r, IO, "that the disk does not have") and "Attach the pair again" in r.err,
           "detach finds dirty blocks on the device afterwards", r)

    box.clear()
    box.device("fast", table=table, status=status(dirty=500), step=100, stuck=10)
    r = box.run("detach", "fast")
    tap.ok(one_line(r, IO, "stays active in mode passthrough") and "mode fast writeback" in r.err
           and box.run("status", "fast").code == 0, "detach with blocks that stay dirty", r)
    box.device("fast", table=table, status=status(dirty=1000000), step=1)
    r = box.run_interrupted("detach", "--quiet", "fast")
    tap.ok(one_line(r, TEMP, "interrupted") and "stays active in mode passthrough" in r.err
           and "detach fast again" in r.err and box.run("status", "fast").code == 0,
           "detach interrupted says what state it leaves", r)
    box.device("fast", table=table)
    box.control(remove=16)
    r = box.run("detach", "fast")
    tap.ok(one_line(r, TEMP, "in use again") and "stays active" in r.err, "detach: opened meanwhile", r)
    box.control(message=5, words="optcache: the cache device is gone")
    r = box.run("detach", "fast")
    tap.ok(one_line(r, OS_, "the cache device is gone"), "detach: the module does not answer", r)

    box.clear()
    box.device("fast", table=table, status=status(health="failed", dirty=100))
    r = box.run("detach", "--lost-cache", "fast")
    tap.ok(one_line(r, REFUSED, "400 KiB of data is only on") and "--yes" in r.err
           and box.run("status", "fast").code == 0, "detach --lost-cache asks", r)
    r = box.run("detach", "--lost-cache", "--yes", "--json", "fast")
    tap.ok(r.code == 0 and r.json()["lost"] == 100 and box.run("status", "fast").code == 66
           and not box.messages("fast"), "detach --lost-cache --yes", r)
    box.clear()


def run(tap, box):
    lists(tap, box)
    statuses(tap, box)
    stats(tap, box)
    settings(tap, box)
    flushes(tap, box)
    detaches(tap, box)
