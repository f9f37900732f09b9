# SPDX-License-Identifier: GPL-2.0-only
"""What the demo shows while it works, and how it runs commands without showing them."""

import subprocess
import sys
import time


class DemoError(Exception):
    """The demo cannot go on; the text is for the user."""


class Screen:
    """Numbered steps; on a terminal a line that waits counts its seconds."""

    def __init__(self, steps):
        self.steps = steps
        self.number = 0
        self.live = sys.stdout.isatty()
        self.pending = None
        self.since = 0

    def step(self, text):
        """A new step."""
        self.number += 1
        self.say("")
        self.say(f"[{self.number}/{self.steps}] {text}")

    def say(self, text):
        """A line of its own."""
        self._close("")
        print(text, flush=True)

    def begin(self, text):
        """The first half of a line."""
        self._close("")
        self.pending, self.since = f"{text:<45}", time.monotonic()
        print(self.pending, end="", flush=True)

    def end(self, text):
        """The second half."""
        self._close(text)

    def tick(self):
        """Called now and then while something takes long."""
        if self.pending and self.live:
            print(f"\r{self.pending} ({time.monotonic() - self.since:.0f} s)\033[K", end="",
                  flush=True)

    def _close(self, text):
        if self.pending is None:
            return
        clear = f"\r{self.pending}\033[K" if self.live else ""
        print(f"{clear} {text}", flush=True)
        self.pending = None


def quietly(argv, log, what, env=None):
    """Run ARGV, its output to the file LOG; a DemoError with the end of it if it fails."""
    with open(log, "wb") as out:
        try:
            done = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=subprocess.STDOUT, env=env, check=False)
        except OSError as error:
            raise DemoError(f"{what}: {error.strerror}: {argv[0]}") from error
    if done.returncode:
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
        raise DemoError(f"{what} failed; the end of {log}:\n{tail}")
