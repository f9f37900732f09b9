#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A fuzzer of the life of a cache: tables, suspend, resume, messages, failing devices and
removal in random order, while threads write, read and compare.

    lifecycle.py --seed N --steps N

The seed decides what is done in which order; how that falls together with the I/O is up
to the scheduler. A sector may hold any version between the last one whose write succeeded
and the last one that was tried. When devices have failed and the cache is started anew,
what was durable (fsync) counts instead of what had succeeded.
"""

import argparse
import errno
import os
import random
import subprocess
import sys
import threading
import time

from churn import SECTOR, Device, Wrong, content, decode
import struct

CONTROL = "/sys/kernel/debug/labdev/control"
FAST_MB, SLOW_MB = 4, 8
SECTORS = SLOW_MB * 2048
FAST, SLOW, CACHED = "/dev/fast", "/dev/slow", "/dev/mapper/c"
MODES = ("writeback", "writethrough", "writearound", "passthrough")
HANG_S = 90
STEPS_A_PHASE = 14


class Hang(Exception):
    """Something does not come back."""


def order(line):
    """To the model devices; False when refused."""
    try:
        with open(CONTROL, "w", encoding="ascii") as control:
            control.write(line)
        return True
    except OSError:
        return False


def dmsetup(*words):
    """(succeeded, text)"""
    try:
        done = subprocess.run(["dmsetup", *words], check=False, capture_output=True, text=True,
                              timeout=HANG_S)
    except subprocess.TimeoutExpired as error:
        raise Hang(f"dmsetup {' '.join(words)}") from error
    return not done.returncode, (done.stdout + done.stderr).strip()


class Model:
    """What each sector may hold: versions low to high; durable survives failures."""

    def __init__(self):
        self.low = [0] * SECTORS
        self.high = [0] * SECTORS
        self.durable = [0] * SECTORS

    def check(self, first, data, pin=True):
        """Compare; what an interrupted write came to is known from then on."""
        for i in range(len(data) // SECTOR):
            sector = first + i
            got = decode(sector, data[i * SECTOR:(i + 1) * SECTOR])
            if got is None or not self.low[sector] <= got <= self.high[sector]:
                head = struct.unpack_from("<QQ", data, i * SECTOR)
                raise Wrong(f"sector {sector} (block {sector // 8}): version {got}, not in "
                            f"{self.low[sector]}..{self.high[sector]}; it begins {head}")
            if pin:
                self.low[sector] = self.high[sector] = got

    def restart(self, failed):
        """The cache starts anew."""
        if failed:
            self.low = [min(l, d) for l, d in zip(self.low, self.durable)]


class Worker(threading.Thread):
    """Writes, reads and compares sectors whose number is ours; errors are part of life."""

    def __init__(self, me, seed, model, base):
        super().__init__(daemon=True)
        self.me, self.model = me, model
        self.random = random.Random(seed)
        self.next = base
        self.quit = threading.Event()
        self.error = None
        self.done = 0
        self.written = set()

    def run(self):
        try:
            dev = Device(CACHED)
        except OSError:
            return
        try:
            while not self.quit.is_set():
                try:
                    self.step(dev)
                    self.done += 1
                except OSError as error:
                    if error.errno not in (errno.EIO, errno.ENODATA, errno.ENXIO, errno.ENOSPC,
                                           errno.EREMOTEIO, errno.ETIMEDOUT, errno.EILSEQ,
                                           errno.EINVAL):
                        raise
                    time.sleep(0.002)
        except (Wrong, OSError) as error:
            self.error = error
        finally:
            os.close(dev.fd)
            os.close(dev.fua)

    def step(self, dev):
        """One operation on a run of our sectors: each thread has every other 64 sectors, and
        in the first 4 MiB every other 3."""
        if self.random.random() < 0.5:
            group, groups = 3, SECTORS // 2 // 3
        else:
            group, groups = 64, SECTORS // 2 // 64
        at = self.random.randrange(groups // 2) * 2 + self.me
        first = at * group + (0 if group == 3 else SECTORS // 2)
        off = self.random.randrange(group)
        nr = self.random.randint(1, group - off)
        first += off
        dice = self.random.random()
        if dice < 0.5:
            data = dev.read(first, nr)
            self.model.check(first, data)
        elif dice < 0.95:
            self.next += 1
            sectors = range(first, first + nr)
            for sector in sectors:
                self.model.high[sector] = self.next
            dev.write(first, b"".join(content(s, self.next) for s in sectors))
            for sector in sectors:
                self.model.low[sector] = self.next
            self.written.update(sectors)
        else:
            known = {s: self.model.low[s] for s in self.written}
            os.fsync(dev.fd)
            for sector, version in known.items():
                self.model.durable[sector] = version
            self.written.clear()


class Fuzzer:
    """The devices, the cached device and what was done to it."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.trail = []
        self.model = Model()
        self.failed = False         # devices failed since the last start
        self.base = 1
        self.phase = 0
        self.fresh = True
        order(f"add name=fast model=optane size_mb={FAST_MB} jitter_ns=20000")
        order(f"add name=slow model=disk size_mb={SLOW_MB} settle_us=100 stroke_us=500 rpm=60000")

    def note(self, text):
        """Remember what was done."""
        self.trail.append(text)

    # ---- tables

    def table(self):
        """A legal line, but for format."""
        words = []
        if self.random.random() < 0.5:
            words += ["mode", self.random.choice(MODES)]
        if self.random.random() < 0.3:
            words += ["seq_cutoff", self.random.choice(("0", "64", "1024"))]
        if self.random.random() < 0.3:
            words += ["writeback_delay", self.random.choice(("0", "1", "5"))]
        if self.random.random() < 0.2:
            words += ["dirty_high", self.random.choice(("5", "50", "95"))]
        return f"0 {SECTORS} optcache {FAST} {SLOW} {len(words)} {' '.join(words)}"

    def exists(self):
        """Is there a dm device?"""
        return dmsetup("info", "c")[0]

    def create(self):
        """Make it, whatever state it is in."""
        if self.exists():
            return
        if self.fresh:
            line = f"0 {SECTORS} optcache {FAST} {SLOW} 1 format"
            self.fresh = False
        else:
            self.maybe_damage()
            line = self.table()
        ok, text = dmsetup("create", "c", "--table", line)
        self.note(f"create {line}: {text or 'ok'}")
        if not ok and self.failed:
            self.start_over()
        elif not ok:
            raise Wrong(f"cannot be created: {text}")
        else:
            self.model.restart(self.failed)
            self.failed = False

    def start_over(self):
        """A cache that failed and says so: new devices, a new cache."""
        self.note("start over")
        self.model = Model()
        self.failed = False
        for name in ("fast", "slow"):
            if not order(f"del {name}"):
                raise Wrong(f"{name} is still in use")
        order(f"add name=fast model=optane size_mb={FAST_MB} jitter_ns=20000")
        order(f"add name=slow model=disk size_mb={SLOW_MB} settle_us=100 stroke_us=500 rpm=60000")
        ok, text = dmsetup("create", "c", "--table",
                           f"0 {SECTORS} optcache {FAST} {SLOW} 1 format")
        if not ok:
            raise Wrong(f"a fresh pair cannot be created: {text}")

    def maybe_damage(self):
        """Sometimes the start fails first: damaged metadata, a failed resume, once more."""
        if self.random.random() > 0.3:
            return
        with open(FAST, "r+b", buffering=0) as dev:
            good = dev.read(8192)
            dev.seek(0)
            dev.write(b"\xa5" * 8192)
            os.fsync(dev.fileno())
        how = self.random.choice(("create", "load"))
        self.note(f"damaged superblocks, {how}")
        if how == "create":
            ok, _ = dmsetup("create", "c", "--table", self.table())
            bad = ok
        else:
            dmsetup("create", "c", "--notable")
            with open(FAST, "r+b", buffering=0) as dev:
                dev.write(good)
                os.fsync(dev.fileno())
            ok, text = dmsetup("load", "c", "--table", self.table())
            if not ok and not self.failed:
                raise Wrong(f"cannot load: {text}")
            with open(FAST, "r+b", buffering=0) as dev:
                dev.write(b"\xa5" * 8192)
                os.fsync(dev.fileno())
            bad = dmsetup("resume", "c")[0] or dmsetup("resume", "c")[0]
            dmsetup("message", "c", "0", "flush")
            dmsetup("status", "c")
            bad = False if not ok else bad
        with open(FAST, "r+b", buffering=0) as dev:
            dev.write(good)
            os.fsync(dev.fileno())
        if bad:
            raise Wrong("a cache with destroyed superblocks was accepted")
        dmsetup("remove", "c")

    # ---- what may happen while I/O runs

    def suspend(self):
        """In one of the four ways."""
        flags = [f for f in ("--noflush", "--nolockfs") if self.random.random() < 0.5]
        return dmsetup("suspend", *flags, "c")[1]

    def resume(self):
        """Also when it is not suspended."""
        return dmsetup("resume", "c")[1]

    def reload(self):
        """Another table, in force or not yet."""
        _, text = dmsetup("reload", "c", "--table", self.table())
        if self.random.random() < 0.7:
            text += dmsetup("resume", "c")[1]
        return text

    def clear(self):
        """The inactive table goes."""
        return dmsetup("clear", "c")[1]

    def bad_reload(self):
        """That must be refused."""
        line = self.random.choice((
            f"0 {SECTORS - 8} optcache {FAST} {SLOW} 0",
            f"0 {SECTORS} optcache {SLOW} {FAST} 0",
            f"0 {SECTORS} optcache {FAST} {SLOW} 1 format",
            f"0 {SECTORS} optcache {FAST} {SLOW} 2 mode none"))
        ok, text = dmsetup("reload", "c", "--table", line)
        if ok:
            raise Wrong(f"accepted: {line}")
        return text[-40:]

    def message(self):
        """Any, also wrong ones."""
        words = self.random.choice((
            "flush", "cancel-flush", "drop-clean", "reset-stats", "flush x", "set mode none",
            *(f"set mode {m}" for m in MODES), "set seq_cutoff 0", "set seq_cutoff 1024",
            "set writeback_delay 0", "set writeback_delay 5", "set dirty_high 5"))
        return words + " " + dmsetup("message", "c", "0", *words.split())[1][-30:]

    def sysfs(self):
        """Store or show, also while the folder comes and goes."""
        ok, minor = dmsetup("info", "-c", "--noheadings", "-o", "minor", "c")
        folder = f"/sys/block/dm-{minor}/optcache"
        key, value = self.random.choice((("mode", self.random.choice(MODES)), ("seq_cutoff", "77"),
                                         ("writeback_delay", "1"), ("dirty_low", "3"),
                                         ("dirty_low", "300"), ("mode", "x")))
        try:
            fd = os.open(f"{folder}/{key}", os.O_WRONLY)
            try:
                os.write(fd, value.encode())
            finally:
                os.close(fd)
            with open(f"{folder}/stats/dirty", encoding="ascii") as file:
                return f"{key}={value} {file.read().strip()}"
        except OSError as error:
            return f"{key}={value} {error.strerror}" if ok else "no device"

    def look(self):
        """Status and table; they must be sane."""
        ok, text = dmsetup("status", "c")
        dmsetup("table", "c")
        if ok and "mapped=" in text:
            values = dict(w.split("=", 1) for w in text.split() if "=" in w)
            dirty, mapped, slots = (int(values[k]) for k in ("dirty", "mapped", "slots"))
            if not 0 <= dirty <= slots or not 0 <= mapped <= slots:
                raise Wrong(f"insane status: {text}")
        return text[:60]

    def busy_remove(self):
        """Refused while it is open."""
        return dmsetup("remove", "c")[1][-30:]

    def fail(self):
        """A device fails for a while."""
        self.failed = True
        line = self.random.choice((
            "fail fast op=read skip=%d count=%d", "fail fast op=write skip=%d count=%d",
            "fail slow op=read skip=%d count=%d", "fail slow op=write skip=%d count=%d",
            "fail slow op=flush skip=%d count=%d", "fail fast op=any skip=%d count=%d"))
        line %= (self.random.randrange(40), self.random.randint(1, 5))
        order(line)
        return line

    def vanish(self):
        """A device is gone, and comes back."""
        self.failed = True
        name = self.random.choice(("fast", "slow"))
        order(f"vanish {name}")
        time.sleep(self.random.random() / 2)
        self.message()
        order(f"return {name}")
        return name

    def slow(self):
        """Some I/O takes long."""
        line = f"slow {self.random.choice(('fast', 'slow'))} us=200000 count=3"
        order(line)
        return line

    def wipe(self):
        """The error target takes its place, then a table comes back."""
        _, text = dmsetup("wipe_table", "c")
        if self.random.random() < 0.5:
            time.sleep(self.random.random() / 5)
        ok, more = dmsetup("reload", "c", "--table", self.table())
        if ok:
            ok, more = dmsetup("resume", "c")
        if not ok and not self.failed:
            raise Wrong(f"after wipe_table: {more}")
        self.model.restart(self.failed)
        return text + more

    def force(self):
        """remove --force under load."""
        return dmsetup("remove", "--force", "c")[1][-40:]

    CALM = (suspend, resume, resume, reload, reload, clear, bad_reload, message, message, message,
            sysfs, sysfs, look, busy_remove, slow)
    ROUGH = (fail, fail, vanish)

    # ---- phases

    def run_phase(self):
        """Create, load, torment, verify, perhaps remove."""
        self.phase += 1
        self.trail.append(f"-- phase {self.phase}")
        self.create()
        rough = self.random.random() < 0.4
        workers = [Worker(i, self.random.random(), self.model, self.base) for i in (0, 1)]
        for worker in workers:
            worker.start()
        for _ in range(STEPS_A_PHASE):
            what = self.random.choice(self.CALM + (self.ROUGH * 2 if rough else ()))
            self.note(f"{what.__name__}: {what(self)}")
            time.sleep(self.random.random() / 20)
            for worker in workers:
                if worker.error:
                    raise worker.error
        end = self.random.random()
        if end < 0.15:
            self.note(f"force: {self.force()}")
        elif end < 0.3:
            self.note(f"wipe: {self.wipe()}")
        self.calm_down(workers)
        if self.exists() and not self.gone():
            self.verify()
        if end < 0.15 or self.random.random() < 0.6 or self.gone():
            self.remove()

    def gone(self):
        """Is the optcache target not in force any more?"""
        return " optcache " not in dmsetup("table", "c")[1]

    def calm_down(self, workers):
        """Devices work, nothing is suspended, threads end."""
        for name in ("fast", "slow"):
            order(f"heal {name}")
        for worker in workers:
            worker.quit.set()
        if self.exists():
            ok, text = dmsetup("resume", "c")
            self.note(f"resume: {text or 'ok'}")
            if not ok and self.failed:
                # a failed cache stays suspended: the way out is to take it away
                self.note(f"force: {self.force()}")
            elif not ok:
                raise Wrong(f"cannot be resumed: {text}")
        for worker in workers:
            worker.join(HANG_S)
            if worker.is_alive():
                raise Hang("I/O does not come back")
            if worker.error:
                raise worker.error
            self.base = max(self.base, worker.next)
        self.note(f"{sum(w.done for w in workers)} I/Os")

    def verify(self):
        """Everything, twice, the second time without its clean blocks."""
        for again in (False, True):
            try:
                dev = Device(CACHED)
                for first in range(0, SECTORS, 512):
                    data = dev.read(first, 512)
                    self.model.check(first, data)
                os.close(dev.fd)
                os.close(dev.fua)
            except OSError as error:
                os.close(dev.fd)
                os.close(dev.fua)
                if not self.failed:
                    raise Wrong(f"reading: {error}") from error
                return
            if not again:
                dmsetup("message", "c", "0", "drop-clean")

    def remove(self):
        """It must go."""
        for _ in range(50):
            if not self.exists() or dmsetup("remove", "c")[0]:
                self.note("remove")
                return
            time.sleep(0.1)
        raise Hang(f"cannot be removed: {dmsetup('remove', 'c')[1]}")

    def end(self):
        """No device is left; the origin alone is right when everything was flushed."""
        if self.failed:
            self.remove()       # a failed cache keeps what is dirty until it starts anew
        self.create()
        dmsetup("message", "c", "0", "set", "mode", "writethrough")
        for _ in range(HANG_S * 2):
            text = dmsetup("status", "c")[1]
            if " dirty=0 " in text:
                break
            time.sleep(0.5)
        else:
            raise Hang(f"never clean: {text}")
        self.verify()
        self.remove()
        dev = Device(SLOW)
        for first in range(0, SECTORS, 512):
            self.model.check(first, dev.read(first, 512))
        os.close(dev.fd)
        os.close(dev.fua)


def main():
    """0 when nothing was wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    fuzzer = Fuzzer(args.seed)
    try:
        for _ in range(max(1, args.steps // STEPS_A_PHASE)):
            fuzzer.run_phase()
        fuzzer.end()
    except (Wrong, Hang, OSError) as error:
        for line in fuzzer.trail[-60:]:
            print(f"# {line}")
        print(f"# SEED={args.seed} STEPS={args.steps}: {type(error).__name__}: {error}")
        print(f"# {dmsetup('status', 'c')[1]}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
