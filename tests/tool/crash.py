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
    files[name][offset:offset + len(data)] = data


def torn(rnd, files, name, offset, data):
    """Some of its sectors."""
    for at in range(0, len(data), SECTOR):
        if rnd.random() < 0.5:
            put(files, name, offset + at, data[at:at + SECTOR])


def states(log, base, tries, seed):
    """Every cut between two operations: nothing that was not flushed, all of it, and @tries
    times some of it, in sectors.  base: {name: bytes}; yields (text, {name: bytearray})."""
    ops = read_log(log)
    rnd = random.Random(seed)
    durable = {name: bytearray(data) for name, data in base.items()}
    pending = []
    for cut in range(len(ops) + 1):
        for what in ["none", "all", *range(tries)]:
            files = {name: bytearray(data) for name, data in durable.items()}
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
