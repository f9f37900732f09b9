# SPDX-License-Identifier: GPL-2.0-only
"""A round: boots of a guest, power cuts between them, and what was found."""

import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess

import suite
from disks import FATES, Disk, Power, Server

GUEST = pathlib.Path(__file__).resolve().with_name("guest.sh")
WORKS = ("ext4", "xfs", "sqlite")

# So small that blocks are written back and leave all the time. XFS wants 300 MiB.
FAST_MIB, SLOW_MIB = 6, 320
MEMORY = "512M"
PROCESSORS = 1
LIMIT_S = 600

# Writes and flushes of both disks that the power outlives the begin of the work; and the
# boot, for a cut in recovery.
REQUESTS = (100, 3000)
REQUESTS_RECOVERY = (1, 400)
CUTS = (1, 3)

# What a kernel says of a file system or a disk that is damaged. The lab finds the rest.
COMPLAINT = re.compile(r"EXT4-fs (error|warning)|JBD2: .*(error|recovery failed)|I/O error"
                       r"|XFS .*([Cc]orrupt|[Ii]nternal error|[Ss]hutdown|[Ff]ailed)"
                       r"|device-mapper: optcache: .*(failed|refused|lost|degraded)")
COUNTERS = ("evictions", "writeback_blocks")


class Round:
    """One seed of one work on one kernel."""

    def __init__(self, kernel, work, seed, lie, out):
        self.kernel, self.work, self.seed, self.lie = kernel, work, seed, lie
        self.name = f"{kernel}, {work}, seed {seed}" + (f", {lie} lies" if lie else "")
        self.out = out / (f"{kernel}.{work}.{seed}" + (f".{lie}" if lie else ""))
        self.findings = []
        self.metrics = dict.fromkeys(("cuts", "acknowledged", "unstable", "old", *COUNTERS), 0)
        self._rng = random.Random(f"{work} {seed}")
        self._power = Power()
        self._disks = {"fast": Disk(FAST_MIB << 20), "slow": Disk(SLOW_MIB << 20)}
        self._acked = [0] if work == "sqlite" else [0, 0, 0]
        self._boots = 0
        self._fs = self._rng.choice(("ext4", "xfs")) if work == "sqlite" else work
        self._journal = self._rng.choice(("wal", "delete"))

    def summary(self):
        """One line on how it went."""
        counts = self.metrics
        return (f"{counts['cuts']} cuts, {counts['acknowledged']} steps acknowledged, "
                f"{counts['old']} of {counts['unstable']} unstable sectors fell back, "
                f"{counts['evictions']} evictions")

    def lost(self):
        """True if something acknowledged was not there."""
        return any(line.startswith("LOST") for line in self.findings)

    def found_out(self):
        """True if the disks were found to be wrong, and nothing else was."""
        return bool(self.findings) and not any(line.startswith(("BOOT", "WORK"))
                                               for line in self.findings)

    def play(self, files, sockets):
        """All its boots, until something is found."""
        shutil.rmtree(self.out, ignore_errors=True)
        paths = {name: sockets / name for name in self._disks}
        for name, disk in self._disks.items():
            Server(disk, self._power, paths[name])
        boots = [("make", False)]
        for _ in range(self._rng.randint(*CUTS) - 1):
            boots.append(("recover", self._rng.random() < 0.4))
        for phase, early in boots:
            requests = self._rng.randint(*(REQUESTS_RECOVERY if early else REQUESTS))
            self._boot(phase, files, paths, requests, early)
            self._cut()
            if self.findings:
                return
        self._boot("end", files, paths)
        self._cut()  # what detach did is durable, or it did not happen
        if not self.findings:
            self._boot("bare", files, {"slow": paths["slow"]})

    def _cut(self):
        """The power was off; each disk has its own fate. A lie is no good if all is kept."""
        self.metrics["cuts"] += 1
        for name, disk in self._disks.items():
            fate = "drop" if name == self.lie else self._rng.choice(FATES)
            unstable, old = disk.cut(self._rng, fate)
            self.metrics["unstable"] += unstable
            self.metrics["old"] += old

    def _boot(self, phase, files, paths, requests=None, early=False):
        """A guest, until it ends, or until the power goes."""
        self._boots += 1
        out = self.out / f"{self._boots}.{phase}"
        out.mkdir(parents=True)
        self._power.on()
        if early:
            self._power.arm(requests)
        pidfile = paths["slow"].with_name("pid")
        with open(out / "lab.log", "wb") as log:
            lab = subprocess.Popen(self._command(phase, files, paths, pidfile, out),
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            try:
                self._watch(lab, out, pidfile, None if early else requests)
            finally:
                if lab.poll() is None:
                    lab.terminate()  # takes the guest down, too
                    lab.wait()
        self._collect(out, lab.returncode, cut=requests is not None)

    def _command(self, phase, files, paths, pidfile, out):
        """The lab's command line."""
        words = [suite.LAB, "run", self.kernel, GUEST, f"PHASE={phase}", f"FS={self._fs}",
                 f"WORK={'sqlite' if self.work == 'sqlite' else 'files'}",
                 f"JOURNAL={self._journal}", f"SEED={self.seed}",
                 f"ACKED={' '.join(map(str, self._acked))}",
                 "--mem", MEMORY, "--smp", PROCESSORS, "--timeout", LIMIT_S,
                 "--pidfile", pidfile, "--out", out]
        for name, path in paths.items():
            words += ["--disk", f"scsi:{self._disks[name].size >> 20}M,nbd={path}"]
        for file in files:
            words += ["--module" if file.suffix == ".ko" else "--file", file]
        return [str(word) for word in words]

    def _watch(self, lab, out, pidfile, requests):
        """Arm the power when the work begins, kill the guest when it is off."""
        while lab.poll() is None:
            if requests and (out / "load").exists():
                for name, disk in self._disks.items():
                    disk.lies = name == self.lie
                self._power.arm(requests)
                requests = None
            if self._power.off.wait(0.05):
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    os.kill(int(pidfile.read_text(encoding="ascii")), signal.SIGKILL)
                lab.wait()

    def _collect(self, out, status, cut):
        """What a boot left behind."""
        self._acked = [max([acked, *acknowledged(out, worker)])
                       for worker, acked in enumerate(self._acked)]
        self.metrics["acknowledged"] = sum(self._acked)
        where = out.name
        found = [line.strip() for line in lines(out / "findings")]
        found += [f"KERNEL: {line}" for line in lines(out / "console.log") if COMPLAINT.search(line)]
        said = " ".join(lines(out / "lab.log"))
        unexpected = cut != self._power.off.is_set() or (status and not cut)
        if "the kernel complained" in said or (unexpected and not found):
            found.append(f"BOOT: {said}")
        self.findings += [f"{line} ({where})" for line in found if line]
        stats = " ".join(lines(out / "stats"))
        for key in COUNTERS:
            self.metrics[key] += int((re.findall(rf"\b{key}=(\d+)", stats) or [0])[0])


def lines(path):
    """The lines of a file; none if it is not there."""
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []


def acknowledged(out, worker):
    """The numbers in the files of a worker; one may have been cut off while it was made."""
    return [int(line) for path in out.glob(f"ack.{worker}*") for line in lines(path)[:1] if line]
