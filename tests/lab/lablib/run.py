# SPDX-License-Identifier: GPL-2.0-only
"""One run: stage the job, boot the kernel, judge, leave the logs behind."""

import pathlib
import shutil

from . import cache, console

TREE = pathlib.Path(__file__).resolve().parents[3]


class Machine:
    """What the guest is to look like."""

    def __init__(self, time, mem, smp, disks):
        self.time = time
        self.mem = mem
        self.smp = smp
        self.disks = disks


def default_out(target, job):
    """Where results go unless --out says otherwise; emptied, it is ours."""
    out = TREE / "build" / "lab" / f"{target.name}.{job.script.stem}"
    shutil.rmtree(out, ignore_errors=True)
    return out


def run(target, job, machine, timeout, out, verbose):
    """Run JOB on TARGET; return (exit status, one line about it)."""
    entry = target.ensure()
    out = pathlib.Path(out).resolve() if out else default_out(target, job)
    out.mkdir(parents=True, exist_ok=True)
    log = out / "console.log"
    with cache.scratch("run") as stage:
        job.stage(stage)
        argv = target.boot(entry, machine, stage, out)
        verdict = console.watch(argv, log, timeout, verbose)
    (out / "job.log").write_text("".join(f"{line}\n" for line in verdict.job_lines),
                                 encoding="utf-8")
    return verdict.exit_status(), verdict.summary(timeout, log)
