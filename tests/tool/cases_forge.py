# SPDX-License-Identifier: GPL-2.0-only
"""A damage generator, and a verdict on every damage: check finds it, or what is recovered
is the same as before.  The third kind, a forgery that nothing on the device contradicts, is
listed here by name, and no other is allowed."""
import random
import struct

import image
from harness import FAKE, REAL
from image import ENTRIES, PAGE, SUPER, Image

# with its checksum made right
FORGERIES = {
    "entry of the place in force",      # another mapping, as good as the true one
    "record",                           # the same
    "last block says less",             # fewer records, another size: a shorter journal
    "last block never written",         # nothing, or something else, is in its place
    "a lost write of a page",           # the version before is there, and no journal from before
    # Only once in the life of a page: beside its first version there may be anything, for
    # the module's format leaves second places as they are.
    "the second version never written",
}

HEADER = {"magic": (0, "I"), "crc": (4, "I"), "uuid": (8, "16s"), "epoch": (24, "Q"),
          "lsn": (32, "Q"), "nr": (40, "H"), "size": (42, "H"), "reserved": (44, "I")}
RECORD = {"slot": (0, "I"), "crc": (4, "I"), "block_lo": (8, "I"), "block_hi": (12, "B"),
          "valid": (13, "B"), "type": (14, "B"), "count": (15, "B")}
RECORD_SIZE = 16
PAGE_HEAD = {"magic": (0, "I"), "crc": (4, "I"), "uuid": (8, "16s"), "lsn": (24, "Q"),
             "seq": (32, "Q"), "page": (40, "I"), "reserved": (44, "I")}
MORE_SUPER = {"reserved0": (180, "Q"), "option_0": (192, "Q"), "option_7": (248, "Q"),
              "sample_0": (448, "Q"), "sectors_0": (456, "I"), "hash_0": (460, "I"),
              "sample_1": (464, "Q"), "sample_47": (1200, "Q"), "reserved": (1216, "Q"),
              "reserved_end": (4088, "Q")}


def values(code, rnd):
    size = struct.calcsize(code)
    return bytes(size), b"\1" + bytes(size - 1), b"\xff" * size, rnd.randbytes(size)


class Generator:
    """Yields (name, forged kind or None, [(offset, bytes)])."""

    def __init__(self, im, offsets, seed):
        self.im, self.offsets, self.rnd = im, offsets, random.Random(seed)

    def change(self, at, size, crc_at, sealed, changes):
        """A structure with these bytes, (offset in it, bytes)."""
        raw = bytearray(self.im.read(at, size))
        for offset, data in changes:
            raw[offset:offset + len(data)] = data
        return at, image.sealed(bytes(raw), crc_at) if sealed else bytes(raw)

    def change_block(self, at, size, sealed, changes):
        """The same of a journal block, whose checksum is of its head and records."""
        _, raw = self.change(at, size, 4, False, changes)
        used = min(48 + RECORD_SIZE * struct.unpack_from("<H", raw, 40)[0], size)
        return at, image.sealed(raw[:used], 4) + raw[used:] if sealed else raw

    def supers(self):
        for field, (at, code) in {**SUPER, **MORE_SUPER}.items():
            for raw in values(code, self.rnd):
                for sealed, copies in ((False, (0,)), (False, (0, 1)), (True, (0,)), (True, (1,)),
                                       (True, (0, 1))):
                    yield (f"superblock {copies} {field}={raw.hex()} sealed={sealed}", None,
                           [self.change(c * PAGE, PAGE, 12, sealed, [(at, raw)]) for c in copies])

    def pages(self, places):
        for nr, place, current, second in places:
            at = self.im.page_offset(nr, place)
            fields = dict(PAGE_HEAD)
            fields.update({f"entry {i}": (48 + 8 * i, "Q") for i in (0, 2, 100, ENTRIES - 1)})
            for field, (offset, code) in fields.items():
                for raw in values(code, self.rnd):
                    for sealed in (False, True):
                        kind = None
                        if sealed and current and field.startswith("entry"):
                            kind = "entry of the place in force"
                        elif second and field == "uuid":
                            kind = "the second version never written"
                        yield (f"page {nr} place {place} {field}={raw.hex()} sealed={sealed}", kind,
                               [self.change(at, PAGE, 4, sealed, [(offset, raw)])])

    def entries(self):
        """Legal ones in all their variety."""
        at = self.im.page_offset(0, 1)
        for word in (5000 | 0xFF << 40 | 1 << 48, 7000 | 0xFF << 40 | 1 << 48, 1003 | 0xFF << 40 | 1 << 48,
                     9 | 0xFF << 40 | 3 << 48, 1002 | 3 << 40 | 1 << 48, 10240 | 0xFF << 40 | 1 << 48,
                     9 | 1 << 48, 9 | 0xFF << 40, 9 | 0xFF << 40 | 5 << 48):
            yield (f"entry 2 is {word:#x}", "entry of the place in force",
                   [self.change(at, PAGE, 4, True, [(48 + 16, struct.pack("<Q", word))])])

    def blocks(self):
        for n, offset in enumerate(self.offsets):
            at = self.im.journal_offset(offset)
            nr, size = struct.unpack_from("<HH", self.im.read(at, 48), 40)
            for field, (where, code) in HEADER.items():
                for raw in values(code, self.rnd):
                    for sealed in (False, True):
                        less = sealed and n == len(self.offsets) - 1
                        yield (f"block {n} {field}={raw.hex()} sealed={sealed}",
                               "last block says less" if less else None,
                               [self.change_block(at, size, sealed, [(where, raw)])])
            for i in range(nr):
                for field, (where, code) in RECORD.items():
                    for raw in values(code, self.rnd):
                        for sealed in (False, True):
                            yield (f"block {n} record {i} {field}={raw.hex()} sealed={sealed}",
                                   "record" if sealed else None,
                                   [self.change_block(at, size, sealed,
                                                      [(48 + RECORD_SIZE * i + where, raw)])])

    def sectors(self, places):
        """Each sector of each structure: zero, noise, or that of a neighbour."""
        regions = [(0, PAGE, None), (PAGE, PAGE, None)]
        regions += [(self.im.page_offset(nr, place), PAGE, "the second version never written" if second else None)
                    for nr, place, _, second in places]
        regions += [(self.im.journal_offset(o), 512, None) for o in self.offsets[:-1]]
        regions += [(self.im.journal_offset(o), 512, "last block never written") for o in self.offsets[-1:]]
        for at, size, kind in regions:
            for sector in range(at, at + size, 512):
                for what, data in (("zero", bytes(512)), ("noise", self.rnd.randbytes(512)),
                                   ("the next one", self.im.read(sector + 512, 512))):
                    yield f"sector at {sector} is {what}", kind if sector == at else None, [(sector, data)]

    def swaps(self):
        def swap(a, b, size):
            return [(a, self.im.read(b, size)), (b, self.im.read(a, size))]

        def copy(a, b, size):
            return [(b, self.im.read(a, size))]
        page = self.im.page_offset
        block = self.im.journal_offset
        yield "superblocks swapped", None, swap(0, PAGE, PAGE)
        yield "superblock 0 over 1", None, copy(0, PAGE, PAGE)
        yield "superblock 1 over 0", None, copy(PAGE, 0, PAGE)
        yield "places of page 0 swapped", None, swap(page(0, 0), page(0, 1), PAGE)
        yield "places of page 1 swapped", None, swap(page(1, 0), page(1, 1), PAGE)
        yield "pages 0 and 1 swapped", None, swap(page(0, 0), page(1, 0), 2 * PAGE)
        yield "page 1 over page 2", None, copy(page(1, 1), page(2, 0), PAGE)
        yield "newer over older", None, copy(page(0, 1), page(0, 0), PAGE)
        yield "older over newer", None, copy(page(0, 0), page(0, 1), PAGE)
        yield "zero over newer", "a lost write of a page", [(page(0, 1), bytes(PAGE))]
        before = self.change(page(0, 0), PAGE, 4, True, [(24, struct.pack("<QQ", 80, 2))])[1]
        yield "the version before both", "a lost write of a page", [(page(0, 1), before)]
        for n in range(len(self.offsets) - 1):
            a, b = block(self.offsets[n]), block(self.offsets[n + 1])
            yield f"blocks {n} and {n + 1} swapped", None, swap(a, b, 512)
            last = n + 2 == len(self.offsets)
            yield (f"block {n} over the next", "last block never written" if last else None,
                   copy(a, b, 512))
            yield f"block {n + 1} over the one before", None, copy(b, a, 512)

    def all(self, places):
        yield from self.supers()
        yield from self.pages(places)
        yield from self.entries()
        yield from self.blocks()
        yield from self.sectors(places)
        yield from self.swaps()


def recovered(box, name, tool):
    """What replay comes to."""
    r = box.run("dump", "--json", name, tool=tool)
    j = r.json()
    return r.code, j["mappings"], j["journal_records"]


def judge(box, base, before, tool):
    """found, harmless or None"""
    r = box.run("check", "--json", "forged", tool=tool)
    if r.code in (2, 3, 65) and "Sanitizer" not in r.err and "runtime error" not in r.err:
        return "found", r
    if r.code not in (0, 1):
        return "crash", r
    return ("harmless" if recovered(box, "forged", tool) == before else None), r


def generate(tap, box, base, offsets, places):
    box.copy(base, "forged")
    before = recovered(box, base, REAL)
    count = {"found": 0, "harmless": 0}
    forged, wrong = {}, []
    with Image(box.path(base)) as source, open(box.path("forged"), "r+b", buffering=0) as target:
        for n, (name, kind, writes) in enumerate(Generator(source, offsets, 5).all(places)):
            if all(source.read(at, len(data)) == data for at, data in writes):
                continue
            for at, data in writes:
                target.seek(at)
                target.write(data)
            verdict, r = judge(box, base, before, REAL if n % 16 else FAKE)
            if verdict in count:
                count[verdict] += 1
            elif verdict is None and kind in FORGERIES:
                forged[kind] = forged.get(kind, 0) + 1
            else:
                wrong.append(f"{name}: {verdict or 'not found, and another result'}")
                if verdict == "crash":
                    wrong.append(str(r))
            for at, data in writes:
                target.seek(at)
                target.write(source.read(at, len(data)))
    total = sum(count.values()) + sum(forged.values())
    tap.ok(not wrong and count["found"] > total / 2,
           f"'{base}': {total} damages (seed 5): {count['found']} found, {count['harmless']} harmless, "
           f"{sum(forged.values())} forgeries", f"{len(wrong)} wrong, forgeries {forged}\n"
           + "\n".join(wrong[:40]))
    return forged


def run(tap, box):
    box.copy("cache", "stopped")
    image.stopped(box.path("stopped"))
    with Image(box.path("stopped")) as im:
        im.set_samples((0, 2048, 1), (4096, 8, 2))
    forged = generate(tap, box, "used", box.used_offsets,
                      [(0, 0, False, False), (0, 1, True, False), (1, 0, False, False), (1, 1, True, True),
                       (2, 0, True, False), (2, 1, False, False)])
    more = generate(tap, box, "stopped", [], [(0, 0, False, False), (0, 1, True, True), (1, 0, True, False)])
    kinds = set(forged) | set(more)
    tap.ok(kinds == FORGERIES, "the kinds of forgeries are these and no others",
           f"not seen {FORGERIES - kinds}")
