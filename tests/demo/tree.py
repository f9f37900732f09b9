# SPDX-License-Identifier: GPL-2.0-only
"""The files on the slow disk: a copy of a part of this machine's /usr."""

import hashlib
import os
import pathlib
import random
import re
import shutil

from steps import quietly

SOURCES = ("/usr/include", "/usr/share", "/usr/lib")
TREE_BYTES = 320 << 20
LARGEST = 16 << 20

# So that the guest can hand lists of them to its plain tools.
PLAIN_NAME = re.compile(r"[\w./+,@%=:~-]+", re.ASCII)

SEED = 1
SAMPLE_FILES = 1500
# Longer runs of one file the cache leaves to the disk, which is good at them.
SAMPLE_LARGEST = 1 << 20

WRITTEN_BYTES = 16 << 20


class Tree:
    """Its files as {name: bytes}; which of them are read again and again."""

    def __init__(self, sizes):
        self.sizes = sizes
        small = [name for name in sorted(sizes) if sizes[name] <= SAMPLE_LARGEST]
        count = min(SAMPLE_FILES, len(small))
        self.sample = sorted(random.Random(SEED).sample(small, count))

    def bytes(self):
        """Of all files."""
        return sum(self.sizes.values())

    def sample_bytes(self):
        """Of the files of the sample."""
        return sum(self.sizes[name] for name in self.sample)


def chosen():
    """(path, bytes) of files under SOURCES, in order, until it is enough."""
    left = TREE_BYTES
    for source in SOURCES:
        for base, dirs, names in os.walk(source):
            dirs.sort()
            for name in sorted(names):
                path = os.path.join(base, name)
                if os.path.islink(path) or not PLAIN_NAME.fullmatch(path):
                    continue
                size = os.path.getsize(path)
                if not os.path.isfile(path) or size > LARGEST:
                    continue
                if size > left:
                    return
                left -= size
                yield path, size


def copy(root, sums):
    """Copy the files to ROOT/tree, write their checksums to SUMS; return the Tree."""
    shutil.rmtree(root, ignore_errors=True)
    sizes = {}
    with open(sums, "w", encoding="ascii") as out:
        for path, _ in chosen():
            name = f"tree{path}"
            target = root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            data = pathlib.Path(path).read_bytes()
            target.write_bytes(data)
            out.write(f"{hashlib.sha256(data).hexdigest()}  {name}\n")
            sizes[name] = len(data)
    # what will be written to has its place already, and no zeroes that mke2fs would leave out
    (root / "written").write_bytes(random.Random(SEED).randbytes(WRITTEN_BYTES))
    return Tree(sizes)


def make_image(image, size, root, log):
    """An ext4 file system of SIZE (as mke2fs has it) with everything under ROOT."""
    quietly(["mke2fs", "-F", "-t", "ext4", "-d", root, "-i", "8192",
             # else the kernel goes on formatting behind the measurement
             "-E", "lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0", image, size],
            log, "mke2fs", env=dict(os.environ, PATH=f"{os.environ['PATH']}:/usr/sbin:/sbin"))
