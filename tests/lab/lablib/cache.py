# SPDX-License-Identifier: GPL-2.0-only
"""Where the lab keeps what it downloads and builds, and how entries appear.

An entry is a directory whose name says everything it depends on (version,
hash of the configuration). It counts only once it holds the file READY,
written last: an interrupted build is not an entry and is done again. Two
callers who want the same entry meet at a lock file; the second one waits and
finds the work done.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import sys
import tempfile

READY = ".ready"


def root():
    """The cache directory, created if needed."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    path = pathlib.Path(base) / "dm-optcache"
    path.mkdir(parents=True, exist_ok=True)
    return path


def note(text):
    """Tell the user about something slow; stdout belongs to the results."""
    print(f"lab: {text}", file=sys.stderr, flush=True)


def digest(*parts):
    """A short hash for names of entries."""
    data = b"\0".join(p if isinstance(p, bytes) else str(p).encode() for p in parts)
    return hashlib.sha256(data).hexdigest()[:10]


@contextlib.contextmanager
def lock(name):
    """Hold the lock NAME; the kernel drops it if we die."""
    locks = root() / "locks"
    locks.mkdir(exist_ok=True)
    with open(locks / f"{name}.lock", "w", encoding="ascii") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note(f"waiting for another lab that holds '{name}'")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def is_ready(path):
    """True once an entry is complete."""
    return (path / READY).exists()


def entry(kind, name, fill, keep_partial=False):
    """The directory KIND/NAME, made by fill(path) if it is not there yet.

    With keep_partial, fill() is given what an interrupted run left behind: a
    kernel build can go on where it stopped. Everything else starts afresh.
    """
    path = root() / kind / name
    if is_ready(path):
        return path
    with lock(f"{kind}.{name}"):
        if is_ready(path):
            return path
        if not keep_partial:
            shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True, exist_ok=True)
        fill(path)
        (path / READY).touch()
    return path


@contextlib.contextmanager
def scratch(prefix):
    """A temporary directory in the cache, gone afterwards."""
    parent = root() / "tmp"
    parent.mkdir(exist_ok=True)
    path = tempfile.mkdtemp(prefix=f"{prefix}-", dir=parent)
    try:
        yield pathlib.Path(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)
