# SPDX-License-Identifier: GPL-2.0-only
"""Cache device images, written by hand.

A second implementation of the on-disk format, from the header's words and not
from the core's code: what both agree on is the format.
"""
import random
import struct
import zlib

PAGE = 4096
ENTRIES = 506
CLEAN_STOP, FAILED, STALE = 1, 2, 4
MAP, UNMAP, CLEAN, INTENT, DIRTY = 1, 2, 3, 4, 0x10

# name: (offset, struct code)
SUPER = {
    "magic": (0, "8s"), "version": (8, "I"), "crc": (12, "I"), "uuid": (16, "16s"),
    "origin_uuid": (32, "16s"), "incompat": (48, "Q"), "compat": (56, "Q"), "seq": (64, "Q"),
    "generation": (72, "Q"), "cache_sectors": (80, "Q"), "origin_sectors": (88, "Q"),
    "journal_start": (96, "Q"), "journal_size": (104, "Q"), "table_start": (112, "Q"),
    "data_start": (120, "Q"), "nr_slots": (128, "I"), "journal_unit": (132, "I"),
    "slot_size": (136, "I"), "flags": (140, "I"), "epoch": (144, "Q"), "tail_lsn": (152, "Q"),
    "tail_offset": (160, "Q"), "tail_epoch": (168, "Q"), "nr_samples": (176, "I"),
    "option_mask": (188, "I"),
}
SAMPLES = 448


def _table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


_CRC = _table()


def crc32c(data, crc=0xFFFFFFFF):
    for b in data:
        crc = crc >> 8 ^ _CRC[(crc ^ b) & 0xFF]
    return crc


def siphash(key, data):
    """SipHash-2-4 of whole 64-bit words.  key: two words"""
    top = (1 << 64) - 1
    a, b, c, d = (k ^ m for k, m in zip(key + key, (
        0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)))
    words = struct.unpack(f"<{len(data) // 8}Q", data)
    for word, rounds in [(w, 2) for w in (*words, len(data) << 56 & top)] + [(None, 4)]:
        if word is None:
            c ^= 0xFF
        else:
            d ^= word
        for _ in range(rounds):
            a = a + b & top
            c = c + d & top
            b = (b << 13 | b >> 51) & top ^ a
            d = (d << 16 | d >> 48) & top ^ c
            a = (a << 32 | a >> 32) & top
            c = c + b & top
            a = a + d & top
            b = (b << 17 | b >> 47) & top ^ c
            d = (d << 21 | d >> 43) & top ^ a
            c = (c << 32 | c >> 32) & top
        a ^= word or 0
    return a ^ b ^ c ^ d


def sample_hash(uuid, data):
    """Of a part of the origin: the hash of each block changes the key of the next."""
    key = struct.unpack("<QQ", uuid)
    for at in range(0, len(data), PAGE):
        key = (key[0] ^ siphash(key, data[at:at + PAGE]), key[1])
    return key[0] & 0xFFFFFFFF


def sealed(data, at):
    """data with its checksum at offset at"""
    data = data[:at] + bytes(4) + data[at + 4:]
    return data[:at] + struct.pack("<I", crc32c(data)) + data[at + 4:]


class Image:
    """One open image that format has made."""

    def __init__(self, path):
        self.path = path
        self.file = open(path, "r+b")
        self.sb = self.super(0)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.file.close()

    def read(self, offset, size):
        self.file.seek(offset)
        return self.file.read(size)

    def write(self, offset, data):
        self.file.seek(offset)
        self.file.write(data)

    def flip(self, offset, bit=0):
        self.write(offset, bytes([self.read(offset, 1)[0] ^ 1 << bit]))

    def super(self, copy):
        raw = self.read(copy * PAGE, PAGE)
        return {k: struct.unpack_from("<" + c, raw, o)[0] for k, (o, c) in SUPER.items()}

    def set_super(self, copies=(0, 1), seal=True, **fields):
        for copy in copies:
            raw = bytearray(self.read(copy * PAGE, PAGE))
            for key, value in fields.items():
                struct.pack_into("<" + SUPER[key][1], raw, SUPER[key][0], value)
            self.write(copy * PAGE, sealed(bytes(raw), 12) if seal else bytes(raw))
        self.sb = self.super(0)

    def set_samples(self, *samples):
        """(sector, sectors, hash) each"""
        for copy in (0, 1):
            raw = b"".join(struct.pack("<QII", *s) for s in samples)
            self.write(copy * PAGE + SAMPLES, raw)
        self.set_super(nr_samples=len(samples))

    def sample(self, disk, *parts):
        """What a cache that is stopped keeps of the disk: (sector, sectors) each"""
        with open(disk, "rb") as f:
            data = f.read()
        self.set_samples(*((at, n, sample_hash(self.sb["uuid"], data[at * 512:(at + n) * 512]))
                           for at, n in parts))

    def set_option(self, index, value):
        for copy in (0, 1):
            raw = bytearray(self.read(copy * PAGE, PAGE))
            mask = struct.unpack_from("<I", raw, 188)[0] | 1 << index
            struct.pack_into("<I", raw, 188, mask)
            struct.pack_into("<Q", raw, 192 + 8 * index, value)
            self.write(copy * PAGE, sealed(bytes(raw), 12))

    @property
    def pages(self):
        return -(-self.sb["nr_slots"] // ENTRIES)

    def page_offset(self, nr, place):
        return self.sb["table_start"] + (2 * nr + place) * PAGE

    def write_page(self, nr, place, lsn, seq, entries):
        """entries: {index: (block, valid, dirty)}"""
        raw = bytearray(PAGE)
        struct.pack_into("<II16sQQII", raw, 0, 0x4254434F, 0, self.sb["uuid"], lsn, seq, nr, 0)
        for i, (block, valid, dirty) in entries.items():
            word = block | valid << 40 | 1 << 48 | dirty << 49
            struct.pack_into("<Q", raw, 48 + 8 * i, word)
        self.write(self.page_offset(nr, place), sealed(bytes(raw), 4))

    def slot_offset(self, slot):
        return self.sb["data_start"] + slot * PAGE

    def journal_offset(self, offset):
        return self.sb["journal_start"] + offset

    def write_block(self, offset, epoch, lsn, records, size=None):
        """records: (type, slot, block, valid, count[, crc]); returns the offset behind"""
        body = b""
        for kind, slot, block, valid, count, *crc in records:
            body += struct.pack("<IIIBBBB", slot, crc[0] if crc else 0, block & 0xFFFFFFFF, block >> 32, valid,
                                kind, count - 1)
        unit = self.sb["journal_unit"]
        size = size or -(-(48 + len(body)) // unit) * unit
        raw = struct.pack("<II16sQQHHI", 0x4C4A434F, 0, self.sb["uuid"], epoch, lsn,
                          len(records), size, 0) + body
        self.write(self.journal_offset(offset), sealed(raw, 4).ljust(size, b"\0"))
        return (offset + size) % self.sb["journal_size"]


def used(path):
    """Turns a fresh image into one that ran and was cut: epoch 2, six blocks to replay.

    Returns what it now maps: {slot: (block, valid, dirty)}.
    """
    with Image(path) as im:
        tail = im.sb["journal_size"] - 1024          # so that the journal wraps
        im.set_super(seq=6, generation=1, epoch=2, tail_lsn=100, tail_offset=tail, tail_epoch=1)
        im.set_super(copies=(1,), seq=7)
        table = {i: (1000 + i, 0xFF, 0) for i in range(8)}
        im.write_page(0, 0, 90, 3, {i: e for i, e in table.items() if i < 4})
        im.write_page(0, 1, 100, 4, table)
        im.write_page(1, 1, 100, 2, {0: (5000, 0x0F, 1)})
        mapping = dict(table)
        mapping[ENTRIES] = (5000, 0x0F, 1)

        at, lsn = tail, 100
        blocks = [
            (1, [(MAP | DIRTY, 20, 7000, 0xFF, 4)]),
            (1, [(UNMAP, 0, 0, 0, 2), (CLEAN, 21, 0, 0, 1)]),
            (2, [(MAP, 600, 800, 0xFF, 1), (MAP | DIRTY, 601, 900, 0x01, 1)]),
            (2, [(MAP | DIRTY, 700, 2000, 0xFF, 256)]),
            (2, [(CLEAN, 700, 0, 0, 10)]),
            (2, [(UNMAP, 600, 0, 0, 1)]),
        ]
        offsets = []
        for epoch, records in blocks:
            offsets.append(at)
            at = im.write_block(at, epoch, lsn, records)
            lsn += len(records)
    for i in range(4):
        mapping[20 + i] = (7000 + i, 0xFF, int(i != 1))
    del mapping[0], mapping[1]
    mapping[601] = (900, 0x01, 1)
    for i in range(256):
        mapping[700 + i] = (2000 + i, 0xFF, int(i >= 10))
    return mapping, offsets


def fill(path, seed):
    """Random data in every slot."""
    with Image(path) as im:
        im.write(im.slot_offset(0), random.Random(seed).randbytes(im.sb["nr_slots"] * PAGE))


def dirty_sectors(mapping):
    """{sector of the disk: (slot, sector in it)} of a mapping {slot: (block, valid, dirty)}"""
    return {8 * block + s: (slot, s) for slot, (block, valid, dirty) in mapping.items() if dirty
            for s in range(8) if valid >> s & 1}


def runs(sectors):
    """Ascending (first, number) of a set of sectors."""
    found = []
    for s in sorted(sectors):
        if found and sum(found[-1]) == s:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((s, 1))
    return found


def stopped(path):
    """Turns a fresh image into one that was stopped in order, with 8 clean slots."""
    with Image(path) as im:
        im.set_super(seq=8, generation=1, epoch=1, tail_lsn=50, tail_offset=4096,
                     flags=CLEAN_STOP)
        im.set_super(copies=(1,), seq=9)
        im.write_page(0, 1, 50, 2, {i: (i, 0xFF, 0) for i in range(8)})


def gpt(path, size):
    """A partition table as gdisk leaves it."""
    sectors = size // 512
    entries = bytearray(128 * 128)
    entries[0:16] = bytes.fromhex("af3dc60f838472478e793d69d8477de4")
    entries[16:32] = b"0123456789abcdef"
    struct.pack_into("<QQ", entries, 32, 2048, sectors - 40)

    def header(here, other, table):
        raw = struct.pack("<8sIIIIQQQQ16sQIII", b"EFI PART", 0x10000, 92, 0, 0, here, other, 34,
                          sectors - 34, b"fedcba9876543210", table, 128, 128,
                          zlib.crc32(entries))
        return raw[:16] + struct.pack("<I", zlib.crc32(raw)) + raw[20:]

    mbr = bytearray(512)
    mbr[446:462] = struct.pack("<B3sB3sII", 0, b"\0\2\0", 0xEE, b"\xff\xff\xff", 1, sectors - 1)
    mbr[510:512] = b"\x55\xaa"
    with open(path, "r+b") as f:
        f.write(bytes(mbr) + header(1, sectors - 1, 2).ljust(512, b"\0") + entries)
        f.seek((sectors - 33) * 512)
        f.write(entries)
        f.write(header(sectors - 1, 1, sectors - 33).ljust(512, b"\0"))


def mbr(path, size):
    raw = bytearray(512)
    raw[446:462] = struct.pack("<B3sB3sII", 0, b"\0\2\0", 0x83, b"\xff\xff\xff", 2048,
                               size // 512 - 2048)
    raw[510:512] = b"\x55\xaa"
    with open(path, "r+b") as f:
        f.write(raw)


def luks(path):
    with open(path, "r+b") as f:
        f.write(b"LUKS\xba\xbe" + struct.pack(">H", 1) + b"aes".ljust(32, b"\0") +
                b"xts-plain64".ljust(32, b"\0") + b"sha256".ljust(32, b"\0") +
                struct.pack(">II", 4096, 64) + bytes(20 + 32 + 4) +
                b"01234567-89ab-cdef-0123-456789abcdef".ljust(40, b"\0"))


def swap(path):
    raw = bytearray(PAGE)
    struct.pack_into("<III", raw, 1024, 1, 100, 0)
    raw[1036:1052] = b"0123456789abcdef"
    raw[PAGE - 10:] = b"SWAPSPACE2"
    with open(path, "r+b") as f:
        f.write(raw)


def ext4(path, label=b""):
    """Enough of a superblock for libblkid (ext2 with the journal and extent bits)."""
    sb = bytearray(1024)
    struct.pack_into("<IIIII", sb, 0, 64, 1024, 0, 512, 50)
    struct.pack_into("<III", sb, 20, 1, 0, 0)
    struct.pack_into("<I", sb, 32, 8192)
    struct.pack_into("<H", sb, 56, 0xEF53)
    struct.pack_into("<III", sb, 76, 1, 0, 0)
    struct.pack_into("<III", sb, 92, 0x04, 0x42, 0)      # journal; filetype, extents
    sb[104:120] = b"0123456789abcdef"
    sb[120:120 + len(label)] = label
    with open(path, "r+b") as f:
        f.seek(1024)
        f.write(sb)
