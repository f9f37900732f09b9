# SPDX-License-Identifier: GPL-2.0-only
"""Playing many seeds: builds what that takes, boots guests of the lab, adds up."""

import collections
import concurrent.futures
import dataclasses
import pathlib
import re
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
LAB = TOP / "tests" / "lab" / "lab"
LAB_MODULES = TOP / "tests" / "lab" / "modules"
OUT = TOP / "build" / "crash"

KERNEL = "uml-6.12"
MEMORY = "512M"
AT_ONCE = 2
CHUNK = 400         # seeds of one boot
# What hangs is found by its silence; simulated time does not stand still meanwhile.
SILENCE_S = 120
BOOT_LIMIT_S = 7200

COLUMNS = ("lost", "stale", "foreign", "unstable", "errors", "inexact_dirty", "recovery_failed")

SEED_LINE = re.compile(r"S (\d+) ((?:\w+=\w+ ?)+)(?:why: (.*))?$")
COMPLAINT = re.compile(r"the kernel complained: (.*?); see ")


class Trouble(Exception):
    """It could not be run; says why."""


def call(*argv):
    """Run a program to its good end."""
    done = subprocess.run([str(a) for a in argv], cwd=TOP, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise Trouble(f"{pathlib.Path(argv[0]).name} {argv[1]}: exit status {done.returncode}\n"
                      + "\n".join(done.stdout.splitlines()[-20:]))
    return done.stdout


def build_rig():
    """The driver and the lab's modules; return their paths."""
    OUT.mkdir(parents=True, exist_ok=True)
    rig = OUT / "rig"
    call("gcc", "-static", "-O2", "-Wall", "-Wextra", "-Werror", "-o", rig,
         *sorted((HERE / "rig").glob("*.c")))
    call(LAB, "build", KERNEL, LAB_MODULES, OUT / "lab")
    return [OUT / "lab" / "labdev.ko", OUT / "lab" / "labcut.ko"], rig


def build_module(source, place):
    """dm-optcache from the tree SOURCE, in PLACE."""
    call(LAB, "build", KERNEL, source, place)
    return place / "dm-optcache.ko"


@dataclasses.dataclass
class Job:
    """What is to be played."""
    target: str
    files: list          # modules
    rig: pathlib.Path
    options: list        # of the rig
    name: str            # folder below OUT


@dataclasses.dataclass
class Result:
    """What the seeds came to."""
    seeds: int = 0
    kernel: str = ""
    total: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    bad: dict = dataclasses.field(default_factory=dict)      # seed -> why
    hashes: dict = dataclasses.field(default_factory=dict)   # seed -> hash

    def take(self, seed, fields, why):
        """One seed."""
        self.seeds += 1
        self.hashes[seed] = fields.pop("hash", "")
        numbers = {key: int(value) for key, value in fields.items()}
        self.total.update(numbers)
        found = [f"{c}={numbers[c]}" for c in COLUMNS if numbers.get(c)]
        if found:
            self.bad[seed] = " ".join(found) + (f" ({why})" if why else "")

    def died(self, seed, why):
        """A seed that the guest did not survive."""
        self.seeds += 1
        self.total.update(recovery_failed=1)
        self.bad[seed] = why

    def add(self, other):
        """Sum up."""
        self.seeds += other.seeds
        self.kernel = self.kernel or other.kernel
        self.total.update(other.total)
        self.bad.update(other.bad)
        self.hashes.update(other.hashes)


def silent(guest, log):
    """Wait for GUEST. True if nothing was added to LOG for too long."""
    size, since = -1, time.monotonic()
    while True:
        try:
            guest.wait(1)
            return False
        except subprocess.TimeoutExpired:
            now = log.stat().st_size if log.exists() else 0
        if now != size:
            size, since = now, time.monotonic()
        elif time.monotonic() - since > SILENCE_S:
            return True


def boot(job, first, count, options=()):
    """One boot; return (lines of the rig, what ended it or None, folder)."""
    out = OUT / job.name / f"{first}"
    log = out / "rig.log"
    log.unlink(missing_ok=True)
    argv = [LAB, "run", KERNEL, HERE / "job.sh", "--time", "sim", "--mem", MEMORY,
            "--timeout", BOOT_LIMIT_S, "--out", out]
    for module in job.files:
        argv += ["--module", module]
    argv += ["--file", job.rig, f"TARGET={job.target}", f"FIRST={first}", f"COUNT={count}",
             f"OPTIONS={' '.join([*job.options, *options])}"]
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "lab.log", "w+", encoding="utf-8") as said:
        guest = subprocess.Popen([str(a) for a in argv], cwd=TOP, stdin=subprocess.DEVNULL,
                                 stdout=said, stderr=subprocess.STDOUT)
        try:
            hangs = silent(guest, log)
        finally:
            guest.terminate()   # the lab takes its guest along
            status = guest.wait()
        said.seek(0)
        last = said.read().strip()
    if status == 126 or not log.exists():
        raise Trouble(last)
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    if "END" in lines:
        return lines, None, out
    return lines, "nothing is heard any more: it hangs" if hangs else why(lines, last), out


def why(lines, last):
    """In a line: what a guest that did not come to its end died of."""
    for line in lines:
        if line.startswith("FATAL"):
            return line
    match = COMPLAINT.search(last)
    return f"kernel: {match[1]}" if match else last


def play(job, first, count):
    """Some seeds, in as many boots as it takes; return a Result."""
    result, seed = Result(), first
    while seed < first + count:
        lines, end, out = boot(job, seed, first + count - seed)
        for line in lines:
            if match := SEED_LINE.match(line):
                result.take(int(match[1]), dict(f.split("=") for f in match[2].split()), match[3])
                seed = int(match[1]) + 1
        if not end:
            break
        if not lines:
            raise Trouble(f"the rig does not start: {end}")
        result.died(seed, f"{end}; {out.relative_to(TOP)}/console.log")
        seed += 1
    console = out / "console.log"
    if match := re.search(r"lab: job starts on (\S+)", console.read_text(errors="replace")):
        result.kernel = match[1]
    return result


def play_all(job, first, count, progress, enough=None):
    """All seeds, a few boots at a time; with ENOUGH, until so many are bad."""
    result, start = Result(), time.monotonic()
    chunk = max(1, min(CHUNK, -(-count // AT_ONCE)))
    todo = [(at, min(chunk, first + count - at)) for at in range(first, first + count, chunk)]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        waiting = {pool.submit(play, job, *part) for part in todo}
        for done in concurrent.futures.as_completed(waiting):
            if done.cancelled():
                continue
            result.add(done.result())
            progress(result, time.monotonic() - start)
            if enough and len(result.bad) >= enough:
                for later in waiting:
                    later.cancel()
    return result


def shrink(job, seed):
    """Play SEED and leave out what it does not take to fail; return the report's lines."""
    lines, end, _ = boot(job, seed, 1, ["shrink=1"])
    return lines + ([end] if end else [])
