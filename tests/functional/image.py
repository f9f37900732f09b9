#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Read and damage the metadata of a cache device.

    image.py get DEVICE FIELD                    of the newer superblock
    image.py set DEVICE FIELD=VALUE...           in both copies, with good checksums
    image.py set --copy 0 --bad-crc DEVICE ...   in one copy, checksum left as it was
    image.py page DEVICE NR FIELD=VALUE...       in both places of a page of the table

VALUE: a number, or +N or -N on top of what is there. Fields of a page: magic, lsn, seq,
page, entry0..entry505. Written from the format's description alone, and not from the
module's code, so that both are tested.
"""

import argparse
import os
import struct
import sys

PAGE = 4096
SUPER = {
    "magic": (0, "8s"), "version": (8, "I"), "crc": (12, "I"), "uuid": (16, "16s"),
    "origin_uuid": (32, "16s"), "features_incompat": (48, "Q"), "features_compat": (56, "Q"),
    "seq": (64, "Q"), "generation": (72, "Q"), "cache_sectors": (80, "Q"),
    "origin_sectors": (88, "Q"), "journal_start": (96, "Q"), "journal_size": (104, "Q"),
    "table_start": (112, "Q"), "data_start": (120, "Q"), "nr_slots": (128, "I"),
    "journal_unit": (132, "I"), "slot_size": (136, "I"), "flags": (140, "I"),
    "epoch": (144, "Q"), "tail_lsn": (152, "Q"), "tail_offset": (160, "Q"),
    "tail_epoch": (168, "Q"), "nr_samples": (176, "I"), "option_mask": (188, "I"),
    **{f"option{i}": (192 + 8 * i, "Q") for i in range(32)},
    **{f"sample{i}_sector": (448 + 16 * i, "Q") for i in range(48)},
    **{f"sample{i}_sectors": (456 + 16 * i, "I") for i in range(48)},
    **{f"sample{i}_hash": (460 + 16 * i, "I") for i in range(48)},
}
TABLE = {
    "magic": (0, "I"), "crc": (4, "I"), "uuid": (8, "16s"), "lsn": (24, "Q"), "seq": (32, "Q"),
    "page": (40, "I"), "reserved": (44, "I"),
    **{f"entry{i}": (48 + 8 * i, "Q") for i in range(506)},
}
CRC_AT = {id(SUPER): 12, id(TABLE): 4}


def _crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = _crc_table()


def crc32c(data):
    """Castagnoli, seed ~0, not inverted at the end."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc


class Block:
    """4 KiB of metadata."""

    def __init__(self, layout, data):
        self.layout, self.data = layout, bytearray(data)

    def __getitem__(self, field):
        at, kind = self.layout[field]
        return struct.unpack_from("<" + kind, self.data, at)[0]

    def __setitem__(self, field, value):
        at, kind = self.layout[field]
        if isinstance(value, int):
            value &= (1 << 8 * struct.calcsize(kind)) - 1
        struct.pack_into("<" + kind, self.data, at, value)

    def seal(self):
        """Put the right checksum in."""
        self["crc"] = 0
        self["crc"] = crc32c(self.data)

    def is_whole(self):
        """The checksum is right."""
        copy = Block(self.layout, self.data)
        copy.seal()
        return copy["crc"] == self["crc"]


class Image:
    """A cache device."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDWR)

    def close(self):
        """Everything is on the device afterwards."""
        os.fsync(self.fd)
        os.close(self.fd)

    def read(self, offset, layout):
        """The block at OFFSET."""
        return Block(layout, os.pread(self.fd, PAGE, offset))

    def write(self, offset, block):
        """BLOCK to OFFSET."""
        os.pwrite(self.fd, bytes(block.data), offset)

    def super(self, copy):
        """One of the two superblocks."""
        return self.read(copy * PAGE, SUPER)

    def newest(self):
        """The one that counts."""
        whole = [s for s in (self.super(0), self.super(1)) if s.is_whole()]
        if not whole:
            sys.exit("image: no superblock is whole")
        return max(whole, key=lambda s: s["seq"])

    def page_offset(self, nr, place):
        """Of a page of the table."""
        return self.newest()["table_start"] + (2 * nr + place) * PAGE


def assign(block, words, bad_crc=False):
    """Apply FIELD=VALUE words."""
    for word in words:
        field, _, value = word.partition("=")
        if field not in block.layout:
            sys.exit(f"image: no field '{field}'")
        if block.layout[field][1].endswith("s"):
            block[field] = value.encode().ljust(struct.calcsize(block.layout[field][1]), b"\0")
        elif value[0] in "+-":
            block[field] = block[field] + int(value, 0)
        else:
            block[field] = int(value, 0)
    if not bad_crc:
        block.seal()


def main():
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=("get", "set", "page"))
    parser.add_argument("--copy", type=int, choices=(0, 1))
    parser.add_argument("--bad-crc", action="store_true")
    parser.add_argument("device")
    parser.add_argument("words", nargs="+")
    args = parser.parse_args()
    image = Image(args.device)
    if args.verb == "get":
        for field in args.words:
            print(image.newest()[field])
    elif args.verb == "set":
        # the older copy becomes as new as the newer one, so that either counts
        newest = image.newest()
        for copy in (0, 1) if args.copy is None else (args.copy,):
            block = Block(SUPER, newest.data)
            assign(block, args.words, args.bad_crc)
            image.write(copy * PAGE, block)
    else:
        nr = int(args.words[0])
        for place in (0, 1):
            offset = image.page_offset(nr, place)
            block = image.read(offset, TABLE)
            assign(block, args.words[1:], args.bad_crc)
            image.write(offset, block)
    image.close()


if __name__ == "__main__":
    main()
