# SPDX-License-Identifier: GPL-2.0-only
"""Two runs in one tree must not write into the same folder of build/ at a time."""

import contextlib
import fcntl
import sys


@contextlib.contextmanager
def alone(lock, what, wait=True):
    """Hold the file LOCK, which the kernel lets go if we die; WHAT is for people.

    If another process has it, wait for that one, or raise BlockingIOError.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    with open(lock, "w", encoding="ascii") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise
            print(f"# {what} is running in this tree already: waiting for its end",
                  file=sys.stderr, flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
