# SPDX-License-Identifier: GPL-2.0-only
"""Running a guest and judging it by its console.

A job that "passed" in a kernel that warned, locked up or corrupted memory did
not pass. Only lines of the kernel itself count, told by their time stamp, so
that a job may print what it likes.
"""

import os
import re
import selectors
import signal
import subprocess
import sys
import time

# A kernel line, its time stamp (and caller id) taken off.
KERNEL_LINE = re.compile(r"^(?:<\d+>)?\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? (?P<text>.*)$")

# What no test may provoke. WARNING covers WARN(), lockdep and refcounts; BUG
# covers KASAN, sleeping in atomic context, lockups and list corruption.
COMPLAINT = re.compile(
    r"^(WARNING:|BUG:|BUG |Oops|Kernel panic|kernel BUG at|UBSAN:|ODEBUG:|KCSAN:|KFENCE:"
    r"|INFO: task .* blocked for more than|INFO: possible recursive"
    r"|INFO: trying to register non-static key|INFO: rcu.* stall|rcu: INFO: .* stall"
    r"|INFO: lockdep is turned off|DEBUG_LOCKS_WARN_ON"
    r"|general protection fault|divide error|stack segment|invalid opcode"
    r"|[Uu]nable to handle kernel|list_(add|del) corruption"
    r"|kmemleak: \d+ new suspected memory leaks"
    r"|Out of memory: Killed)")

# After these the guest is dead: wait for the rest of the text, not for the job.
FATAL = re.compile(r"^(Kernel panic|Oops)")
DEAD_GRACE_S = 5

# How long a guest may take to switch itself off once its job is done.
END_GRACE_S = 60

JOB_STARTS = "lab: job starts on "
JOB_ENDS = re.compile(r"^lab: job ends with status (\d+) after ([\d.]+) s")

STATUS_TIMEOUT = 124
STATUS_KERNEL = 125


def kernel_text(line):
    """The kernel's message in a console line, or None."""
    match = KERNEL_LINE.match(line)
    return match["text"] if match else None


class Verdict:
    """What the console told about a run."""

    def __init__(self):
        self.complaint = None   # the first bad thing the kernel said
        self.status = None      # the job's own status
        self.uptime = None      # the guest's clock at the end
        self.started = False
        self.dead = False       # panicked: no status will come
        self.timed_out = False
        self.job_lines = []

    def take(self, line):
        """Judge one line of the console."""
        text = kernel_text(line)
        if text is not None:
            if not self.complaint and COMPLAINT.match(text):
                self.complaint = text
            self.dead = self.dead or bool(FATAL.match(text))
        end = JOB_ENDS.match(line)
        if end:
            self.status, self.uptime = int(end[1]), end[2]
        elif line.startswith(JOB_STARTS):
            self.started = True
        elif self.started and self.status is None:
            self.job_lines.append(line)

    def over(self):
        """True once nothing more will come from the job."""
        return self.dead or self.status is not None

    def exit_status(self):
        """The run's status: trouble in the kernel outweighs the job's own."""
        if self.complaint:
            return STATUS_KERNEL
        if self.timed_out:
            return STATUS_TIMEOUT
        return STATUS_KERNEL if self.status is None else self.status

    def summary(self, timeout, log):
        """One line on how it went."""
        if self.complaint:
            return f"the kernel complained: {self.complaint}; see {log}"
        if self.timed_out and self.status is not None:
            return f"the job ended, but the guest did not switch itself off; see {log}"
        if self.timed_out:
            return f"no end after {timeout} s (--timeout); see {log}"
        if self.status is None:
            what = "the guest died in the job" if self.started else "the guest did not boot"
            return f"{what}; see {log}"
        word = "passed" if self.status == 0 else f"failed with status {self.status}"
        return f"job {word} after {self.uptime} s of guest time; see {log}"


def watch(argv, log, timeout, verbose):
    """Run the guest ARGV, its console to LOG; return the Verdict."""
    verdict = Verdict()
    deadline = time.monotonic() + timeout
    guest = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True)
    try:
        with open(log, "w", encoding="utf-8") as out:
            for line in lines(guest.stdout, lambda: deadline):
                out.write(line + "\n")
                if verbose:
                    print(line, file=sys.stdout, flush=True)
                was_over = verdict.over()
                verdict.take(line)
                if verdict.over() and not was_over:
                    grace = DEAD_GRACE_S if verdict.dead else END_GRACE_S
                    deadline = min(deadline, time.monotonic() + grace)
        verdict.timed_out = guest.poll() is None and not ended(guest) and not verdict.dead
    finally:
        kill(guest)
    return verdict


def ended(guest):
    """True if GUEST, whose console is closed, ends by itself within a moment."""
    try:
        guest.wait(timeout=1)
    except subprocess.TimeoutExpired:
        return False
    return True


def lines(pipe, deadline):
    """The lines of PIPE until it closes or deadline() has passed."""
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            left = deadline() - time.monotonic()
            if left <= 0 or not selector.select(left):
                break
            data = os.read(pipe.fileno(), 65536)
            if not data:
                break
            *whole, pending = (pending + data).split(b"\n")
            for line in whole:
                yield line.rstrip(b"\r").decode(errors="replace")
    if pending:
        yield pending.rstrip(b"\r").decode(errors="replace")


def kill(guest):
    """End the guest and the helpers it started: they are one process group."""
    try:
        os.killpg(guest.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    guest.wait()
