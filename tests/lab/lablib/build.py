# SPDX-License-Identifier: GPL-2.0-only
"""Building an out-of-tree module directory against a kernel of the lab.

The build happens in a copy, so that the source tree stays clean and several
kernels can be built for at once. The copy is brought up to date rather than
made anew: make then compiles only what changed.
"""

import filecmp
import os
import pathlib
import re
import shutil
import subprocess

from . import LabError, cache

# Which kernel a copy was built for; objects for another one are of no use.
STAMP = ".lab-kernel"
LOG = "build.log"

# Not sources: what builds leave, and what is too big to be one.
SKIPPED_DIRS = {".git", "build", "debian", "__pycache__"}
SKIPPED_SUFFIXES = (".o", ".ko", ".mod", ".mod.c", ".cmd", ".order", ".symvers", ".a")


def is_source(path):
    """True if PATH belongs into the copy."""
    return not path.name.endswith(SKIPPED_SUFFIXES)


def sources(src, out):
    """The source files under SRC, relative; OUT may lie inside it."""
    for base, dirs, files in os.walk(src):
        here = pathlib.Path(base)
        dirs[:] = [d for d in dirs if d not in SKIPPED_DIRS and here / d != out]
        for name in files:
            if is_source(here / name):
                yield (here / name).relative_to(src)


def sync(src, out):
    """Make the sources in OUT equal those in SRC, touching only what differs."""
    wanted = set(sources(src, out))
    for rel in list(sources(out, None)):
        if rel not in wanted and rel.name not in (STAMP, LOG):
            (out / rel).unlink()
    for rel in wanted:
        old, new = out / rel, src / rel
        if not old.exists() or not filecmp.cmp(old, new, shallow=False):
            old.parent.mkdir(parents=True, exist_ok=True)
            # of now: a file of another tree may be older than the object made of ours
            shutil.copyfile(new, old)
            shutil.copymode(new, old)


def prepare(src, out, entry):
    """OUT as a fresh or updated copy of SRC, for the kernel at ENTRY."""
    stamp = out / STAMP
    if out.exists() and any(out.iterdir()):
        if not stamp.exists():
            raise LabError(f"{out} is not empty and was not made by 'lab build'; "
                           "name another directory, or remove it")
        if stamp.read_text(encoding="utf-8") != entry.name:
            shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)
    stamp.write_text(entry.name, encoding="utf-8")
    sync(src, out)


def point_to_sources(text, src, out):
    """Make the compiler name the files the developer edits, not their copies;
    inside a build root the copies are called /src."""
    return re.sub(rf"(?<![\w/.-])(?:/src|{re.escape(str(out))})/", f"{src}/", text)


def build(target, src, out, args):
    """Build SRC against TARGET in OUT; return (modules made, compiler warnings)."""
    src, out = pathlib.Path(src).resolve(), pathlib.Path(out).resolve()
    if not (src / "Kbuild").exists() and not (src / "Makefile").exists():
        raise LabError(f"{src} has neither Kbuild nor Makefile; name a module directory")
    if out == src or out in src.parents:
        raise LabError(f"{out} would overwrite its own sources; name another OUT_DIR")
    entry = target.ensure()
    with cache.lock(f"build.{cache.digest(out)}"):
        prepare(src, out, entry)
        argv = [str(a) for a in target.build(entry, out, args)]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        text = point_to_sources(done.stdout, src, out)
        (out / LOG).write_text(text, encoding="utf-8")
    if done.returncode:
        raise LabError(f"building {src} for {target.name} failed:\n{text.rstrip()}")
    warnings = [line for line in text.splitlines() if "warning:" in line.lower()]
    return sorted(out.rglob("*.ko")), warnings
