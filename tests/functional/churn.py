#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""I/O against a model: several threads write, read and discard a device, and every
sector that is read is compared with what it must hold.

In the first half of the device neighbouring sectors, so sectors of the same 4 KiB block,
belong to different threads; in the second half each thread has a large piece. A sector
tells its number and its version, so a wrong one says where it came from.

After a discard a sector may read as zeroes or as any earlier version (G2), but then it
has to stay that way until it is written.

With --crash an I/O error is no failure but the power cut that the caller has ordered: what
was durable by then (G1), and what may be, goes to the file of --state. With --check the
device is compared with that file: each sector must hold its last durable version or a
later one, and what it holds is what it must hold from then on.
"""

import argparse
import fcntl
import mmap
import os
import pickle
import random
import struct
import subprocess
import sys
import threading

SECTOR = 512
GROUP = 3                       # neighbouring sectors of one thread
LARGE = 512                     # sectors of the largest I/O
BLKDISCARD, BLKZEROOUT, BLKGETSIZE64 = 0x1277, 0x127F, 0x80081272
ZERO = 0
MODES = ("writeback", "writethrough", "writearound", "passthrough")


def content(sector, version):
    """The 512 bytes of a version; version 0 is zeroes."""
    if version == ZERO:
        return bytes(SECTOR)
    return struct.pack("<QQ", sector, version) * (SECTOR // 16)


def decode(sector, data):
    """The version that DATA is, or None when it is not one of SECTOR."""
    if data == bytes(SECTOR):
        return ZERO
    number, version = struct.unpack_from("<QQ", data)
    return version if number == sector and data == content(sector, version) else None


class Wrong(Exception):
    """A sector does not hold what it must."""


class Model:
    """What the device must hold."""

    def __init__(self, sectors):
        self.version = [ZERO] * sectors
        self.loose = bytearray(sectors)     # discarded: any version up to this one
        self.durable = [ZERO] * sectors     # survives a power cut
        self.issued = [ZERO] * sectors      # the newest that may survive it

    def settle(self):
        """Everything that was written is durable."""
        self.durable = list(self.version)
        self.issued = list(self.version)

    def check_cut(self, first, data):
        """Compare after a power cut; what is there is what counts from now on."""
        for i in range(len(data) // SECTOR):
            sector = first + i
            got = decode(sector, data[i * SECTOR:(i + 1) * SECTOR])
            low, high = self.durable[sector], self.issued[sector]
            if got is None or not low <= got <= high:
                head = struct.unpack_from("<QQ", data, i * SECTOR)
                raise Wrong(f"sector {sector} (block {sector // 8}): version {got}, durable was "
                            f"{low}, written at most {high}; it begins {head}")
            self.version[sector] = got

    def check(self, first, data):
        """Compare; remember what discarded sectors turned out to be."""
        for i in range(len(data) // SECTOR):
            sector = first + i
            piece = data[i * SECTOR:(i + 1) * SECTOR]
            want, got = self.version[sector], decode(sector, piece)
            if self.loose[sector] and got is not None and got <= want:
                self.version[sector], self.loose[sector] = got, 0
            elif got != want or self.loose[sector]:
                head = struct.unpack_from("<QQ", piece)
                raise Wrong(f"sector {sector} (block {sector // 8}): version {got}, not {want}"
                            f"{' or older' if self.loose[sector] else ''}; it begins {head}")


class Device:
    """Direct I/O through one buffer."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDWR | os.O_DIRECT)
        self.fua = os.open(path, os.O_RDWR | os.O_DIRECT | os.O_DSYNC)
        size = fcntl.ioctl(self.fd, BLKGETSIZE64, bytes(8))
        self.sectors = struct.unpack("<Q", size)[0] // SECTOR
        self.buffer = mmap.mmap(-1, LARGE * SECTOR)

    def read(self, first, nr):
        """NR sectors from FIRST on."""
        view = memoryview(self.buffer)[:nr * SECTOR]
        done = os.preadv(self.fd, [view], first * SECTOR)
        if done != nr * SECTOR:
            raise Wrong(f"short read of {done} bytes at sector {first}")
        return bytes(view)

    def write(self, first, data, fua=False):
        """DATA from FIRST on."""
        view = memoryview(self.buffer)[:len(data)]
        view[:] = data
        done = os.pwritev(self.fua if fua else self.fd, [view], first * SECTOR)
        if done != len(data):
            raise Wrong(f"short write of {done} bytes at sector {first}")

    def over(self, request, first, nr):
        """BLKDISCARD or BLKZEROOUT."""
        fcntl.ioctl(self.fd, request, struct.pack("<QQ", first * SECTOR, nr * SECTOR))


class Worker(threading.Thread):
    """One thread with its own sectors."""

    def __init__(self, me, args, model, stop):
        super().__init__(name=f"worker {me}", daemon=True)
        self.me, self.args, self.model, self.stop = me, args, model, stop
        self.random = random.Random(f"{args.seed}/{me}")
        self.dev = Device(args.device)
        self.error = None
        self.next = args.first_version
        self.written = set()        # since our last fsync

    def run(self):
        try:
            for _ in range(self.args.steps):
                if self.stop.is_set():
                    return
                self.step()
        except Wrong as error:
            self.error = error
            self.stop.set()
        except OSError as error:
            if not self.args.crash:
                self.error = error
            self.stop.set()

    def place(self):
        """(first, nr) of sectors of ours."""
        half = self.dev.sectors // 2
        if self.random.random() < 0.6:
            groups = half // GROUP // self.args.threads
            group = self.random.randrange(groups) * self.args.threads + self.me
            off = self.random.randrange(GROUP)
            return group * GROUP + off, self.random.randint(1, GROUP - off)
        share = (self.dev.sectors - half) // self.args.threads
        nr = min(self.random.choice((1, 8, 8, 15, 64, LARGE)), share)
        first = self.random.randrange(share - nr + 1)
        if self.random.random() < 0.5 and nr >= 8:
            first -= (half + self.me * share + first) % 8
            first = max(first, 0)
        return half + self.me * share + first, nr

    def step(self):
        """One operation."""
        first, nr = self.place()
        dice = self.random.random()
        if dice < 0.45:
            self.model.check(first, self.dev.read(first, nr))
        elif dice < 0.90 or (self.args.crash and dice >= 0.94):
            self.write(first, nr, fua=dice < 0.55)
        elif dice < 0.94:
            self.sync()
        elif dice < 0.96:
            self.dev.over(BLKZEROOUT, first, nr)
            for sector in range(first, first + nr):
                self.model.version[sector], self.model.loose[sector] = ZERO, 0
        else:
            # what the discard may leave behind has to be known before
            self.dev.over(BLKDISCARD, first, nr)
            for sector in range(first, first + nr):
                self.model.loose[sector] = 1
            self.model.check(first, self.dev.read(first, nr))


    def write(self, first, nr, fua):
        """The next version of some sectors."""
        sectors = range(first, first + nr)
        self.next += 1
        for sector in sectors:
            self.model.issued[sector] = self.next
        self.dev.write(first, b"".join(content(s, self.next) for s in sectors), fua)
        for sector in sectors:
            self.model.version[sector], self.model.loose[sector] = self.next, 0
            if fua:
                self.model.durable[sector] = self.next
        self.written.update(sectors)

    def sync(self):
        """Everything of ours is durable afterwards."""
        os.fsync(self.dev.fd)
        for sector in self.written:
            self.model.durable[sector] = self.model.version[sector]
        self.written.clear()


def whole(dev, check):
    """Read all of DEV."""
    for first in range(0, dev.sectors, LARGE):
        nr = min(LARGE, dev.sectors - first)
        check(first, dev.read(first, nr))


def pester(args, stop):
    """Management while the threads run."""
    rng = random.Random(f"{args.seed}/messages")
    orders = [
        lambda: ["message", args.name, "0", "drop-clean"],
        lambda: ["message", args.name, "0", "flush"],
        lambda: ["message", args.name, "0", "cancel-flush"],
        lambda: ["message", args.name, "0", "set", "mode", rng.choice(MODES)],
        lambda: ["message", args.name, "0", "set", "seq_cutoff", rng.choice("0 64 1024".split())],
        lambda: ["message", args.name, "0", "set", "writeback_delay", rng.choice("0 1 5".split())],
    ]
    while not stop.wait(rng.random() / 4):
        order = rng.choice(orders)()
        result = subprocess.run(["dmsetup", *order], check=False, capture_output=True, text=True)
        if result.returncode:
            print(f"# dmsetup {' '.join(order)}: {result.stderr.strip()}")
            stop.set()
            return


def main():
    """Run; 0 when nothing was wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", required=True)
    parser.add_argument("--name", help="dm device, for messages")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--shadow", help="leave here what the device must hold")
    parser.add_argument("--state", help="the model's file, for the next run to go on from")
    parser.add_argument("--crash", action="store_true", help="errors are the power cut")
    parser.add_argument("--check", action="store_true", help="after a power cut: compare, end")
    args = parser.parse_args()

    dev = Device(args.device)
    model = Model(dev.sectors)
    args.first_version = 1
    if args.state and os.path.exists(args.state):
        with open(args.state, "rb") as state:
            model = pickle.load(state)
        args.first_version = max(model.issued)
    try:
        if args.check:
            whole(dev, model.check_cut)
            whole(dev, model.check)
            model.settle()
        elif not churn(args, model):
            return 1
        elif not args.crash:
            whole(dev, model.check)
    except Wrong as error:
        print(f"# seed {args.seed}, at the end: {error}")
        return 1
    leave(args, model)
    return 0


def leave(args, model):
    """The files for others."""
    if args.state:
        with open(args.state, "wb") as state:
            pickle.dump(model, state)
    if args.shadow:
        with open(args.shadow, "wb") as shadow:
            for sector, version in enumerate(model.version):
                shadow.write(content(sector, version))


def churn(args, model):
    """All threads to their end; True when nothing was wrong."""
    stop = threading.Event()
    workers = [Worker(i, args, model, stop) for i in range(args.threads)]
    quiet = threading.Event()
    boss = threading.Thread(target=pester, args=(args, quiet), daemon=True)
    for worker in workers:
        worker.start()
    if args.name:
        boss.start()
    for worker in workers:
        worker.join()
    failed = quiet.is_set()
    quiet.set()
    if args.name:
        boss.join()
    for worker in workers:
        if worker.error:
            failed = True
            print(f"# seed {args.seed}, {worker.name}: {worker.error}")
    return not failed


if __name__ == "__main__":
    sys.exit(main())
