# SPDX-License-Identifier: GPL-2.0-only
"""In the guest: images with seeded mutations, their checksums made right again, are
activated. The kernel refuses them or serves what they say, and says it once it has to.

    mutants.py COUNT SEED IMAGE...

Every image is judged by oracle.py. An activated one is read (each block of its mapping,
and others), written, flushed and removed; then the bare origin must hold everything.
"""
import fcntl
import os
import random
import struct
import subprocess
import sys

import image
from image import PAGE, SUPER
from oracle import UNSURE, recover

CONTROL = "/sys/kernel/debug/labdev/control"
FAST, SLOW, CACHED = "/dev/fast", "/dev/slow", "/dev/mapper/c"
FLUSH_TRIES = 2000
OTHERS = 12         # blocks beside those of the mapping
WRITES = 24


def order(line):
    with open(CONTROL, "w", encoding="ascii") as control:
        control.write(line)


def dmsetup(*words):
    done = subprocess.run(["dmsetup", *words], check=False, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def write_device(path, pieces):
    """pieces: {offset: bytes}"""
    with open(path, "r+b", buffering=0) as dev:
        for offset, data in pieces.items():
            dev.seek(offset)
            dev.write(data)
        os.fsync(dev.fileno())
        fcntl.ioctl(dev, 0x1261)        # BLKFLSBUF


def written(name):
    """Sectors that a device was sent."""
    with open(f"/sys/block/{name}/stat", encoding="ascii") as f:
        return int(f.read().split()[6])


def read_at(dev, offset, size):
    dev.seek(offset)
    return dev.read(size)


# ---- mutations ---------------------------------------------------------------


class Mutator:
    """Changes some bytes of the metadata and seals what it touched."""

    def __init__(self, raw, rnd):
        self.raw, self.rnd, self.told = raw, rnd, []
        self.sb = {k: struct.unpack_from("<" + c, raw, o)[0] for k, (o, c) in SUPER.items()}

    def value(self, size, legal=()):
        kind = self.rnd.randrange(6)
        if kind == 0:
            return bytes(size)
        if kind == 1:
            return b"\xff" * size
        if kind == 2:
            return self.rnd.randbytes(size)
        if legal and kind < 5:
            return self.rnd.choice(legal).to_bytes(8, "little")[:size]
        return self.rnd.randrange(1 << 12).to_bytes(8, "little")[:size]

    def put(self, at, data, what):
        self.raw[at:at + len(data)] = data
        self.told.append(f"{what}={data.hex()}")

    def seal(self, at, size, crc_at):
        self.raw[at:at + size] = image.sealed(bytes(self.raw[at:at + size]), crc_at)

    def superblock(self):
        field = self.rnd.choice([k for k in SUPER if k not in ("magic", "crc")])
        at, code = SUPER[field]
        data = self.value(struct.calcsize(code), (self.sb["tail_lsn"], self.sb["epoch"], 1, 2, 3))
        for copy in self.rnd.choice(((0,), (1,), (0, 1), (0, 1))):
            self.put(copy * PAGE + at, data[:struct.calcsize(code)], f"super {copy} {field}")
            self.seal(copy * PAGE, PAGE, 12)

    def page(self):
        pages = -(-self.sb["nr_slots"] // image.ENTRIES)
        nr, place = self.rnd.randrange(pages), self.rnd.randrange(2)
        at = self.sb["table_start"] + (2 * nr + place) * PAGE
        if self.rnd.random() < 0.3:
            offset, size = self.rnd.choice(((24, 8), (32, 8), (40, 4), (0, 4), (8, 16)))
            self.put(at + offset, self.value(size, (self.sb["tail_lsn"], 1, 100, 7)),
                     f"page {nr}/{place} at {offset}")
        else:
            word = (self.rnd.randrange(1 << 13) | self.rnd.randrange(1, 256) << 40
                    | self.rnd.choice((1, 1, 3, 3, 0, 5)) << 48)
            i = self.rnd.choice((self.rnd.randrange(image.ENTRIES), self.rnd.randrange(24)))
            self.put(at + 48 + 8 * i, word.to_bytes(8, "little"), f"page {nr}/{place} entry {i}")
        self.seal(at, PAGE, 4)

    def journal(self):
        start, ring = self.sb["journal_start"], self.sb["journal_size"]
        blocks = [at for at in range(start, start + ring, 512)
                  if self.raw[at:at + 4] == b"OCJL"]
        if not blocks:
            return
        at = self.rnd.choice(blocks)
        nr, size = struct.unpack_from("<HH", self.raw, at + 40)
        if not nr or size < 512 or at + size > start + ring:
            return
        if self.rnd.random() < 0.3:
            offset, width = self.rnd.choice(((24, 8), (32, 8), (40, 2), (42, 2), (44, 4)))
            self.put(at + offset, self.value(width, (1, 2, 3, 104)), f"block at {at} +{offset}")
        else:
            i = self.rnd.randrange(min(nr, (size - 48) // 16))
            offset, width = self.rnd.choice(((0, 4), (4, 4), (8, 4), (12, 1), (13, 1), (14, 1), (15, 1)))
            self.put(at + 48 + 16 * i + offset, self.value(width, (1, 2, 3, 0x11, 0xFF)),
                     f"block at {at} record {i} +{offset}")
        nr, size = struct.unpack_from("<HH", self.raw, at + 40)
        if 48 + 16 * nr <= start + ring - at:
            self.seal(at, 48 + 16 * nr, 4)

    def noise(self):
        at = self.rnd.randrange(self.sb["data_start"] - 16)
        self.put(at, self.rnd.randbytes(self.rnd.randrange(1, 16)), f"noise at {at}")

    def mutate(self):
        for _ in range(self.rnd.choice((1, 1, 1, 2, 3))):
            self.rnd.choice((self.superblock, self.page, self.page, self.journal, self.journal,
                             self.noise))()
        return ", ".join(self.told)


# ---- one image ------------------------------------------------------------------


class Wrong(Exception):
    """The kernel did something that it must not."""


class Model:
    """What the cached device must answer."""

    def __init__(self, raw, mapping, data, origin):
        self.origin, self.over = origin, {}
        for slot, (block, valid, _) in mapping.items():
            for s in range(8):
                if valid >> s & 1:
                    at = data + slot * PAGE + 512 * s
                    self.over[8 * block + s] = bytes(raw[at:at + 512])

    def block(self, block):
        return b"".join(self.over.get(8 * block + s) or
                        self.origin[(8 * block + s) * 512:(8 * block + s + 1) * 512] for s in range(8))

    def write(self, sector, data):
        for i in range(len(data) // 512):
            self.over[sector + i] = data[512 * i:512 * i + 512]


def compare(path, model, blocks):
    with open(path, "rb", buffering=0) as dev:
        fcntl.ioctl(dev, 0x1261)
        for block in blocks:
            want = model.block(block)
            if read_at(dev, block * PAGE, len(want)) != want:
                raise Wrong(f"{path}: block {block} is not what it should be")


def use(raw, mapping, data, origin, touched, rnd):
    """An active cache."""
    total = len(origin) // PAGE
    model = Model(raw, mapping, data, origin)
    blocks = {block for block, _, _ in mapping.values()} | {rnd.randrange(total) for _ in range(OTHERS)}
    touched |= blocks
    compare(CACHED, model, sorted(blocks))
    with open(CACHED, "r+b", buffering=0) as dev:
        for _ in range(WRITES):
            sector = 8 * rnd.choice((rnd.randrange(total), rnd.choice(sorted(blocks)))) + rnd.randrange(8)
            data = rnd.randbytes(512 * rnd.choice((1, 8 - sector % 8)))
            dev.seek(sector * 512)
            dev.write(data)
            model.write(sector, data)
            blocks.add(sector // 8)
            touched.add(sector // 8)
        os.fsync(dev.fileno())
    compare(CACHED, model, sorted(blocks))
    return model, blocks


def drain():
    if dmsetup("message", "c", "0", "flush")[0]:
        raise Wrong("the message flush is refused")
    for _ in range(FLUSH_TRIES):
        words = dmsetup("status", "c")[1].split()
        if "flush=idle" in words:
            if "dirty=0" not in words:
                raise Wrong(f"a flush ended with dirty blocks: {words}")
            return
    raise Wrong("a flush does not end")


def make_clean(raw, want, origin):
    """The disk has what clean slots hold: {offset: bytes} to write there."""
    mapping, data = want
    pieces = {}
    for slot, (block, valid, dirty) in mapping.items():
        for s in range(8):
            if valid >> s & 1 and not dirty:
                at = data + slot * PAGE + 512 * s
                pieces[(8 * block + s) * 512] = bytes(raw[at:at + 512])
    for at, piece in pieces.items():
        origin[at:at + 512] = piece
    return pieces


def one(raw, base, rnd):
    """Return what happened: refused, served, unsure. The disk holds @base, before and after."""
    write_device(FAST, {0: bytes(raw)})
    want = recover(bytes(raw), len(raw) // 512, len(base) // 512)
    origin, touched = bytearray(base), set()
    if isinstance(want, tuple):
        pieces = make_clean(raw, want, origin)
        write_device(SLOW, pieces)
        touched |= {at // PAGE for at in pieces}
    try:
        return activate(raw, want, bytes(origin), touched, rnd)
    finally:
        write_device(SLOW, {b * PAGE: base[b * PAGE:b * PAGE + PAGE] for b in touched})


def activate(raw, want, origin, touched, rnd):
    """The same; @touched: blocks of the disk that may have changed, grows."""
    before = written("slow")
    status, said = dmsetup("create", "c", "--table", f"0 {len(origin) // 512} optcache {FAST} {SLOW} 0")
    if status:
        dmsetup("remove", "--force", "c")
        if isinstance(want, tuple):
            raise Wrong(f"a good image is refused: {said}")
        if written("slow") != before:
            raise Wrong("a refused cache wrote to the origin")
        return "refused"
    try:
        if want is None:
            raise Wrong("an image that must be refused is active")
        if want is UNSURE:
            return "unsure"
        model, blocks = use(raw, *want, origin, touched, rnd)
        drain()
    finally:
        status, said = dmsetup("remove", "c")
    if status:
        raise Wrong(f"it cannot be removed: {said}")
    compare(SLOW, model, sorted(blocks))
    return "served"


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    bases = []
    for path in sys.argv[3:]:
        with open(path, "rb") as f:
            bases.append(f.read())
    first = {k: struct.unpack_from("<" + c, bases[0], o)[0] for k, (o, c) in SUPER.items()}
    origin_bytes = first["origin_sectors"] * 512
    order(f"add name=fast model=ram size_mb={len(bases[0]) >> 20}")
    order(f"add name=slow model=ram size_mb={origin_bytes >> 20}")
    origin = random.Random(seed).randbytes(1 << 20) * (origin_bytes >> 20)
    write_device(SLOW, {0: origin})
    happened, failed = {}, 0
    for n in range(count):
        rnd = random.Random(seed * 1000003 + n)
        raw = bytearray(rnd.choice(bases))
        told = Mutator(raw, rnd).mutate() if n >= len(bases) else "none"
        try:
            what = one(raw, origin, rnd)
        except Wrong as wrong:
            failed += 1
            what = "wrong"
            print(f"# image {n} of seed {seed} ({told}): {wrong}", flush=True)
        happened[what] = happened.get(what, 0) + 1
    with open("/dev/kmsg", "rb", buffering=0) as log:
        os.set_blocking(log.fileno(), False)
        beyond = 0
        while True:
            try:
                beyond += b"access beyond end" in log.read(8192)
            except (BlockingIOError, TypeError):
                break
            except BrokenPipeError:
                continue
    text = ", ".join(f"{v} {k}" for k, v in sorted(happened.items()))
    print(f"{'not ok' if failed else 'ok'} 1 - {count} mutated images (seed {seed}): {text}")
    enough = min(happened.get("refused", 0), happened.get("served", 0)) > count // 10
    print(f"{'ok' if enough else 'not ok'} 2 - a good part is refused, and a good part is served")
    print(f"{'not ok' if beyond else 'ok'} 3 - nothing outside of a device is asked for")
    print("1..3")
    return 1 if failed or not enough or beyond else 0


sys.exit(main())
