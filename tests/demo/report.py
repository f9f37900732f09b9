# SPDX-License-Identifier: GPL-2.0-only
"""What the guests left behind: a table, and what came of the promises."""

import json
import re

TREE_BOUND = 20
FSYNC_BOUND = 50


class Workload:
    """One that is measured: seconds per UNIT of it, and the speed-up that is promised."""

    def __init__(self, what, unit, seconds, bound=None):
        self.what = what
        self.unit = unit
        self.seconds = seconds
        self.bound = bound


class Results:
    """The figures in the directory OUT, one file each, as they come in."""

    def __init__(self, out, files, rounds):
        self.out = out
        self.files = files
        self.again = [f"again{n}" for n in range(1, rounds + 1)]
        count = len(files.sample)
        self.workloads = {
            "random": Workload("random 4 KiB reads of the device", "a read", fio_seconds),
            "tree": Workload(f"read {count:,} files ({human_bytes(files.sample_bytes())})", "",
                             uptime_seconds, TREE_BOUND),
            "fsync": Workload("4 KiB writes, each with fsync", "a write", fio_seconds, FSYNC_BOUND),
        }

    def drive_stuck(self):
        """True if the guest's kernel had to reset the emulated drive."""
        log = (self.out / "dmesg.log").read_text(encoding="utf-8", errors="replace")
        return re.search(r"nvme nvme\d+: I/O .* timeout", log) is not None

    def seconds(self, phase, name):
        """Of the workload NAME; with the cache warm the best round, since what else the
        machine does can only make one slower."""
        phases = self.again if phase == "again" else [phase]
        return min(self.workloads[name].seconds(self.out / f"{p}.{name}") for p in phases)

    def shown(self, phase, name):
        """For people."""
        return f"{human_time(self.seconds(phase, name))} {self.workloads[name].unit}".rstrip()

    def speedup(self, name):
        """How much faster with a warm cache."""
        return self.seconds("alone", name) / self.seconds("again", name)

    def table(self, screen):
        """Workload by workload."""
        form = "{:<36} {:>16} {:>18} {:>16} {:>10}"
        screen.say(form.format("workload", "disk alone", "cached, 1st time", "cached again",
                               "speed-up"))
        for name, work in self.workloads.items():
            screen.say(form.format(work.what, *(self.shown(p, name)
                                                for p in ("alone", "first", "again")),
                                   f"{self.speedup(name):.0f} x"))
        count, total = len(self.files.sample), len(self.files.sizes)
        whole = self.seconds("alone", "tree") * total / count
        screen.say(f"\"cached again\" is the best of {len(self.again)} rounds. The files are "
                   f"{count:,} of {total:,}, drawn by lot:\nall of them would take the disk alone "
                   f"about {human_time(whole)}.")

    def verdicts(self):
        """[(kept, promise)] about speed."""
        return [(self.speedup(name) >= work.bound,
                 f"{work.what}: {self.speedup(name):.1f} times as fast as the disk alone "
                 f"(at least {work.bound})")
                for name, work in self.workloads.items() if work.bound]


def disk_verdicts(out, files):
    """[(kept, promise)] about the disk without its cache."""
    lines = (out / "sums").read_text(encoding="utf-8", errors="replace").splitlines()
    same = {line[:-len(": OK")] for line in lines if line.endswith(": OK")}
    kept = len(same & set(files.sizes))
    fsck = (out / "fsck").read_text(encoding="utf-8", errors="replace").splitlines()
    return [(kept == len(files.sizes),
             f"the disk alone has {kept:,} of {len(files.sizes):,} files unchanged"),
            ("written" in same, "the disk alone has what was written through the cache"),
            (fsck[-1] == "exit status 0", "e2fsck -fn finds nothing on the disk alone")]


def fio_seconds(path):
    """Seconds per I/O of the one job in fio's JSON."""
    with open(path, encoding="utf-8") as handle:
        job = json.load(handle)["jobs"][0]
    done = max((job["read"], job["write"]), key=lambda side: side["total_ios"])
    return done["runtime"] / 1000 / done["total_ios"]


def uptime_seconds(path):
    """Seconds between two looks at /proc/uptime."""
    start, end = map(float, path.read_text(encoding="ascii").split())
    return end - start


def human_bytes(count):
    """52 MiB"""
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def human_time(seconds):
    """12.5 ms"""
    if seconds >= 120:
        return f"{seconds / 60:.0f} min"
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.0f} us"
