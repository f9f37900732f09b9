# SPDX-License-Identifier: GPL-2.0-only
"""What a power cut can leave of the writes of a program: from the log of shim.c."""
import random

SECTOR = 512


def read_log(path):
    """[(name, offset, data)], and (name,) for an fsync"""
    ops = []
    with open(path, "rb") as f:
        while line := f.readline().split():
            if line[0] == b"S":
                ops.append((line[1].decode(),))
            else:
                ops.append((line[1].decode(), int(line[2]), f.read(int(line[3]))))
    return ops


def put(files, name, offset, data):
    for at in range(0, len(data), SECTOR):
        files[name][offset + at] = data[at:at + SECTOR]


def torn(rnd, files, name, offset, data):
    """Some of its sectors."""
    for at in range(0, len(data), SECTOR):
        if rnd.random() < 0.5:
            files[name][offset + at] = data[at:at + SECTOR]


def states(log, tries, seed):
    """Every cut between two operations: nothing that was not flushed, all of it, and @tries
    times some of it, in sectors. Yields (text, {name: {offset: sector}}): what differs from
    the files before."""
    ops = read_log(log)
    rnd = random.Random(seed)
    durable = {op[0]: {} for op in ops}
    pending = []
    for cut in range(len(ops) + 1):
        for what in ["none", "all", *range(tries)]:
            files = {name: dict(sectors) for name, sectors in durable.items()}
            for op in pending:
                if what == "all":
                    put(files, *op)
                elif what != "none":
                    torn(rnd, files, *op)
            yield f"cut {cut} of {len(ops)}, {what}", files
            if not pending:
                break
        if cut == len(ops):
            return
        if len(ops[cut]) == 1:
            for op in pending:
                if op[0] == ops[cut][0]:
                    put(durable, *op)
            pending = [op for op in pending if op[0] != ops[cut][0]]
        else:
            pending.append(ops[cut])


class Files:
    """Files that take on one such state after the other; a cheap copy of large ones."""

    def __init__(self, log, paths):
        self.paths = paths
        self.base = {}
        for name, path in paths.items():
            with open(path, "rb") as f:
                self.base[name] = f.read()
        self.touched = {name: set() for name in paths}
        for op in read_log(log):
            if len(op) > 1:
                self.touched[op[0]].update(range(op[1], op[1] + len(op[2]), SECTOR))

    def before(self, name, offset):
        return self.base[name][offset:offset + SECTOR]

    def take_on(self, state):
        for name, path in self.paths.items():
            with open(path, "r+b") as f:
                for offset in sorted(self.touched[name]):
                    f.seek(offset)
                    f.write(state[name].get(offset) or self.before(name, offset))
