# SPDX-License-Identifier: GPL-2.0-only
"""One run: stage the job, boot the kernel, judge, leave the logs behind."""

import pathlib
import re
import shutil

from . import LabError, cache, console

TREE = pathlib.Path(__file__).resolve().parents[3]

# Goes to every guest once it is built.
TOOL = TREE / "build" / "optcachectl"


class Machine:
    """What the guest is to look like."""

    def __init__(self, time, mem, smp, disks, pidfile=None):
        self.time = time
        self.mem = mem
        self.smp = smp
        self.disks = disks
        self.pidfile = pidfile

    def variables(self):
        """What the guest's lib.sh has to know about its disks."""
        numbers = range(len(self.disks))
        off = [n for n in numbers if self.disks[n].options.get("wc") == "off"]
        return [("LAB_DISKS", " ".join(map(str, numbers))),
                ("LAB_DISKS_WC_OFF", " ".join(map(str, off)))]


def default_out(target, job):
    """Where results go unless --out says otherwise; emptied, it is ours."""
    out = TREE / "build" / "lab" / f"{target.name}.{job.script.stem}"
    shutil.rmtree(out, ignore_errors=True)
    return out


def run(target, job, machine, timeout, out, verbose):
    """Run JOB on TARGET; return (exit status, one line about it)."""
    entry = target.ensure()
    out = pathlib.Path(out).resolve() if out else default_out(target, job)
    if re.search(r"[\s,]", str(out)):
        raise LabError(f"'{out}' has a blank or a comma in it, which no kernel command line can "
                       "carry; use --out")
    out.mkdir(parents=True, exist_ok=True)
    log = out / "console.log"
    if TOOL.exists() and TOOL.name not in (f.name for f in job.files):
        job.files.append(TOOL)
    with cache.scratch("run") as stage:
        job.stage(stage, machine.variables())
        argv = target.boot(entry, machine, stage, out)
        verdict = console.watch(argv, log, timeout, verbose)
    (out / "job.log").write_text("".join(f"{line}\n" for line in verdict.job_lines),
                                 encoding="utf-8")
    return verdict.exit_status(), verdict.summary(timeout, log)
