# SPDX-License-Identifier: GPL-2.0-only
"""Where the fuzzers begin: made by optcachectl and by the second implementation of the
format in tests/tool/image.py, so that no binary lies in the repository."""
import os
import struct
import subprocess
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(TOP, "tests", "tool"))

import image  # noqa: E402
from image import CLEAN, DIRTY, INTENT, MAP, PAGE, UNMAP  # noqa: E402

TOOL = os.path.join(TOP, "build", "optcachectl")
UUID = b"the cache's uuid"


def tool(*argv):
    return subprocess.run([TOOL, *argv], stdin=subprocess.DEVNULL, capture_output=True, check=False)


def record(kind, slot, block, valid, count, crc=0):
    return struct.pack("<IIIBBBB", slot, crc, block & 0xFFFFFFFF, block >> 32, valid, kind,
                       count - 1)


RECORDS = [record(MAP | DIRTY, 20, 70, 0xFF, 4), record(UNMAP, 0, 0, 0, 2),
           record(CLEAN, 21, 0, 0, 1), record(MAP, 599, 625, 1, 1),
           record(INTENT, 40, 71, 0xFF, 1, 3), record(INTENT, 41, 90, 3, 1, 2)]


def images(folder):
    """A fresh one, one that was cut, one that was stopped and has a fingerprint."""
    disk = os.path.join(folder, "disk")
    with open(disk, "wb") as f:
        f.truncate(40 << 20)
    found = []
    for name, change in (("fresh", None), ("used", image.used), ("stopped", image.stopped)):
        path = os.path.join(folder, name)
        with open(path, "wb") as f:
            f.truncate(5 << 20)
        done = tool("format", "--force", "--yes", "--set", "dirty_high=70", path, disk)
        if done.returncode:
            sys.exit(done.stderr.decode())
        if change:
            change(path)
        found.append(path)
    with image.Image(found[-1]) as im:
        im.set_samples((0, 2048, 1), (4096, 128, 2), ((80 << 10) - 8, 8, 3))
    return found


def supers(folder):
    for path in images(folder):
        with open(path, "rb") as f:
            raw = f.read(2 * PAGE)
        yield b"\3" + raw
        yield b"\7" + raw[:PAGE] + b"\1"


def pages(_):
    for nr in (0, 1):
        body = struct.pack("<Q", 5 | 0xFF << 40 | 3 << 48) + struct.pack("<Q", 600 | 1 << 40 | 1 << 48)
        head = struct.pack("<II16sQQII", 0x4254434F, 0, UUID, 7, 3, nr, 0)
        yield bytes([1 | nr << 1]) + (head + body).ljust(PAGE, b"\0")


def blocks(_):
    for n in (1, len(RECORDS)):
        body = b"".join(RECORDS[:n])
        raw = struct.pack("<II16sQQHHI", 0x4C4A434F, 0, UUID, 2, 9, n, 512, 0) + body
        yield b"\3" + raw.ljust(512, b"\0")
        yield b"\3" + raw.ljust(512, b"\0") + bytes(512)


def replays(_):
    entry = struct.pack("<BBHQ", 0, 0, 5, 5 | 0xFF << 40 | 3 << 48)
    other = struct.pack("<BBHQ", 0, 2, 9, 7 | 0x0F << 40 | 1 << 48)
    head = struct.pack("<BBHB", 1, 1, 11, 2)
    block = struct.pack("<BBBB", 2, 5, 0, len(RECORDS) - 1) + b"".join(RECORDS)
    tail = struct.pack("<BBHBB", 4, 31, 100, 2, 6)
    poke = struct.pack("<BHB", 3, 300, 1)
    yield entry + other + block + block
    yield entry + head + block
    yield tail + block + block + entry
    yield entry + block + poke


def lines(_):
    yield b"0/dev/a /dev/b 0"
    yield b"08:0 8:16 5 format writethrough seq_cutoff 4096 format"
    yield b"08:0 8:16 2 keep_dirty passthrough"
    yield b"08:0 8:16 8 mode passthrough writeback_delay 3600 dirty_low 94 dirty_high 95"
    yield b"1dirty_low 5 dirty_high 7 mode writeback\n seq_cutoff +1"


def dumps(folder):
    for path in images(folder):
        for more in ([], ["--dirty"], ["--no-mappings"]):
            yield tool("dump", "--json", *more, path).stdout


def commands(_):
    words = [["--name", "a", "--mode=writeback", "c", "o"], ["-n", "a", "-Ks", "dirty_low=1", "c", "o"],
             ["--keep", "--yes", "n"], [], ["-j"], ["-i5", "--count", "3", "n"], ["n", "mode", "x"],
             ["n", "writeback"], ["--timeout=9", "n"], ["-fy", "c", "o"], ["-dM", "c"], ["-q", "c"],
             ["c", "o"], ["--dry-run", "-DK", "c"], ["--input=x", "c"], ["--help"]]
    for n, line in enumerate(words):
        yield bytes([n]) + "\n".join(line).encode()
    yield b"11 mode=writeback state=running health=ok slots=2022 dirty=0 x= =y seq_cutoff=1024"


MAKERS = {"super": supers, "page": pages, "journal": blocks, "replay": replays, "options": lines,
          "dumpfile": dumps, "cli": commands}


def make(target, folder, scratch):
    """Files in @folder; @scratch may be filled with others."""
    os.makedirs(folder, exist_ok=True)
    os.makedirs(scratch, exist_ok=True)
    for n, data in enumerate(MAKERS[target](scratch)):
        with open(os.path.join(folder, f"seed-{n}"), "wb") as f:
            f.write(data)
