# SPDX-License-Identifier: GPL-2.0-only
"""The verbs of a rescue system: writeback, salvage, dump and restore, the static build."""
import json
import os
import re
import shutil
import subprocess

import crash
import image
from harness import FAKE, REAL, RESCUE, expect_error
from image import ENTRIES, PAGE, Image

DATA, REFUSED, IO, TEMP = 65, 73, 74, 75
MIB = 1 << 20


def read(box, name):
    with open(box.path(name), "rb") as f:
        return f.read()


def write(box, name, data):
    with open(box.path(name), "wb") as f:
        f.write(data)


def mapping_of(box, name):
    """{slot: (block, valid, dirty)} as dump says"""
    found = {}
    r = box.run("dump", "--json", name, tool=REAL)
    for run in r.json()["mappings"]:
        for i in range(run["count"]):
            found[run["slot"] + i] = (run["block"] + i, run["valid"], int(run["dirty"]))
    return found


def expected(box, cache, disk, mapping, without=()):
    """The disk after a write-back, but for some of its sectors."""
    want = bytearray(read(box, disk))
    with Image(box.path(cache)) as im:
        for sector, (slot, s) in image.dirty_sectors(mapping).items():
            if sector not in without and sector * 512 < len(want):
                want[sector * 512:sector * 512 + 512] = im.read(im.slot_offset(slot) + s * 512, 512)
    return bytes(want)


def clean(mapping, but=()):
    return {slot: (block, valid, int(dirty and slot in but))
            for slot, (block, valid, dirty) in mapping.items()}


def pair(box):
    """A pair to write back: "wb" and "wbdisk", which has what is clean in the cache"""
    box.copy("used", "wb")
    image.fill(box.path("wb"), 1)
    disk = bytearray(os.urandom(1 << 16) * 640)
    with Image(box.path("wb")) as im:
        for slot, (block, _, dirty) in box.used_mapping.items():
            if not dirty:
                disk[block * PAGE:(block + 1) * PAGE] = im.read(im.slot_offset(slot), PAGE)
    write(box, "wbdisk", disk)
    return box.used_mapping


def change(box, name, offset):
    """As somebody does who writes it without the cache."""
    with Image(box.path(name)) as im:
        im.flip(offset)


def writeback(tap, box):
    for tool in (REAL, FAKE, RESCUE):
        mapping = pair(box)
        want = expected(box, "wb", "wbdisk", mapping)
        r = box.run("writeback", "wb", "wbdisk", tool=tool)
        tap.ok(r.code == 0 and read(box, "wbdisk") == want and not r.err
               and "can be used alone" in r.out, f"writeback with {os.path.basename(tool)}", r)
        c = box.run("check", "wb")
        tap.ok(c.code == 0 and mapping_of(box, "wb") == clean(mapping),
               "the cache is clean then, and still warm", c)
        before = box.state(["wb", "wbdisk"])
        r = box.run("writeback", "--json", "wb", "wbdisk", tool=tool)
        tap.ok(r.code == 0 and r.json()["written"] == 0 and before == box.state(["wb", "wbdisk"]),
               "once more there is nothing to do, and nothing is written", r)

    # a disk that ends within a block
    box.file("odd", 40 * MIB + 1536)
    box.file("oddcache", 5 * MIB)
    box.run("format", "oddcache", "odd")
    with Image(box.path("oddcache")) as im:
        im.write_page(0, 1, 1, 2, {0: (10240, 0xFF, 1), 1: (10239, 0x81, 1)})
    image.fill(box.path("oddcache"), 2)
    want = expected(box, "oddcache", "odd", mapping_of(box, "oddcache"))
    r = box.run("writeback", "oddcache", "odd")
    tap.ok(r.code == 0 and read(box, "odd") == want and len(want) == 40 * MIB + 1536,
           "a disk that ends within a block", r)


def sampled(box):
    """The same, stopped in order, when the disk was looked at."""
    mapping = pair(box)
    with Image(box.path("wb")) as im:
        im.set_super(flags=image.CLEAN_STOP)
        im.sample(box.path("wbdisk"), (0, 128), (16000, 8))
    return mapping


def superblock_of(box, name):
    r = box.run("dump", "--json", "--no-mappings", name, tool=REAL)
    return r.json()["superblock"]


def fingerprint(tap, box):
    """It is of a disk that writeback has not written."""
    sampled(box)
    before = superblock_of(box, "wb")["fingerprint"]
    r = box.run("writeback", "wb", "wbdisk")
    tap.ok(r.code == 0 and len(before) == 2 and not superblock_of(box, "wb")["fingerprint"]
           and box.run("check", "wb").code == 0, "writeback leaves no fingerprint", r)
    for sample, changed in ((5, True), (None, False)):
        with Image(box.path("wb")) as im:
            im.sample(box.path("wbdisk"), (0, 2048))
            if sample:
                im.set_samples((0, 2048, sample))
        before = box.state(["wb", "wbdisk"])
        r = box.run("writeback", "--json", "wb", "wbdisk")
        tap.ok(r.code == 0 and before == box.state(["wb", "wbdisk"]) and not r.err
               and r.json()["origin_changed"] is changed,
               f"with nothing to write it stays, changed or not: {changed}", r)

    mapping = sampled(box)
    want = expected(box, "wb", "wbdisk", mapping)
    r = box.run("writeback", "wb", "wbdisk", tool=REAL, shim={"SHIM_FAIL": "wb:w:0:1000000"})
    tap.ok(r.code == IO and "do not attach" in r.err and read(box, "wbdisk") == want,
           "where it cannot be taken away the disk becomes complete all the same", r)

    sampled(box)
    with Image(box.path("wb")) as im:
        im.set_super(flags=image.CLEAN_STOP | image.STALE)
    r = box.run("writeback", "--keep-dirty", "wb", "wbdisk")
    j = box.run("dump", "--json", "wb").json()["superblock"]
    tap.ok(r.code == 0 and j["stale"] and j["clean_stop"],
           "after a writeback the clean blocks are no better than before", f"{r}\n{j}")


# ---- a disk that was changed -------------------------------------------------


def changed_at(box, make, offset):
    """A pair whose disk was changed in that byte; what is mapped"""
    mapping = make(box)
    change(box, "wbdisk", offset)
    return mapping


def accepted(tap, box, name, mapping, tool):
    """--keep-dirty lets the dirty blocks win, and says that the clean ones are stale."""
    want = expected(box, "wb", "wbdisk", mapping)
    r = box.run("writeback", "--json", "--keep-dirty", "wb", "wbdisk", tool=tool)
    sb = superblock_of(box, "wb")
    tap.ok(r.code == 0 and read(box, "wbdisk") == want and r.json()["origin_changed"]
           and "warning" in r.err and "fsck" in r.err and sb["stale"] and not sb["fingerprint"]
           and mapping_of(box, "wb") == clean(mapping) and box.run("check", "wb").code == 0,
           f"{name}: with --keep-dirty the dirty blocks win", f"{r}\n{sb}")


# name, how it was stopped, the byte that differs, what is said of it
CHANGES = (
    ("the first byte of a sample", sampled, 0, "within 128 sectors from 0 on"),
    ("the last byte of a sample", sampled, 128 * 512 - 1, "within 128 sectors from 0 on"),
    ("another sample", sampled, 16003 * 512, "within 8 sectors from 16000 on"),
    ("a clean block after a crash", pair, 1005 * PAGE, "at sector 8040, which is cached and clean"),
    ("the last byte of one", pair, 7002 * PAGE - 1, "at sector 56008, which is cached and clean"))


def changed(tap, box):
    """It is not written over unasked."""
    tap.ok(image.siphash((0x0706050403020100, 0x0F0E0D0C0B0A0908), bytes(range(8)))
           == 0x93F5F5799A932462, "SipHash as published")
    for tool in (FAKE, RESCUE):
        for name, make, offset, where in CHANGES:
            mapping = changed_at(box, make, offset)
            dirty = sum(d for _, _, d in mapping.values())
            expect_error(tap, box, f"changed: {name}", ["writeback", "wb", "wbdisk"], REFUSED,
                         re.escape(f"({where}), and {dirty} dirty blocks are newer"),
                         "--keep-dirty.*create --force", tool=tool)
            accepted(tap, box, name, mapping, tool)

    # accepted once is not accepted for ever: the disk may have been used since
    mapping = sampled(box)
    with Image(box.path("wb")) as im:
        im.set_super(flags=image.CLEAN_STOP | image.STALE)
    expect_error(tap, box, "a change that was accepted before", ["writeback", "wb", "wbdisk"], REFUSED,
                 "begun with --keep-dirty", "--keep-dirty.*create --force")
    accepted(tap, box, "a change that was accepted before", mapping, FAKE)

    # the older superblock has samples, the newer one has not: neither may keep them
    mapping = sampled(box)
    with Image(box.path("wb")) as im:
        im.set_super(copies=(1,), seq=im.sb["seq"] + 1, nr_samples=0)
    r = box.run("writeback", "wb", "wbdisk", tool=REAL, shim={"SHIM_FAIL": "wbdisk:w:0:1000000"})
    with Image(box.path("wb")) as im:
        tap.ok(not any(im.super(copy)["nr_samples"] for copy in (0, 1)),
               "no superblock keeps samples of a disk that is being written", r)

    not_changed(tap, box)


def not_changed(tap, box):
    """What is no difference, or cannot be seen."""
    for make in (pair, sampled):
        mapping = make(box)
        want = expected(box, "wb", "wbdisk", mapping)
        r = box.run("writeback", "--json", "-K", "wb", "wbdisk")
        tap.ok(r.code == 0 and not r.err and not r.json()["origin_changed"]
               and read(box, "wbdisk") == want and not superblock_of(box, "wb")["stale"],
               f"--keep-dirty with a disk that was not changed ({make.__name__})", r)

    # with samples the clean blocks are not looked at; what is dirty is no difference either
    for name, make, offset in (("beside the samples", sampled, 1005 * PAGE),
                               ("under a dirty block", pair, 7000 * PAGE),
                               ("where nothing is cached", pair, 0)):
        mapping = changed_at(box, make, offset)
        want = expected(box, "wb", "wbdisk", mapping)
        r = box.run("writeback", "wb", "wbdisk")
        tap.ok(r.code == 0 and read(box, "wbdisk") == want, f"a change {name} is not seen", r)

    # of a block only some sectors are valid: the others may be anything
    for sector, code in ((0, REFUSED), (1, 0), (2, 0), (3, REFUSED), (7, 0)):
        pair(box)
        with Image(box.path("wb")) as im:
            at = im.write_block(box.used_offsets[-1] + 512, 2, 108, [(image.UNMAP, 21, 0, 0, 1),
                                (image.UNMAP, 2, 0, 0, 6), (image.UNMAP, 700, 0, 0, 10)])
            im.write_block(at, 2, 111, [(image.MAP, 21, 7001, 0x79, 1)])
        change(box, "wbdisk", 7001 * PAGE + sector * 512 + 511)
        r = box.run("writeback", "wb", "wbdisk")
        tap.ok(r.code == code, f"a clean block with some sectors, sector {sector} was changed", r)

    for name, make, offset, fail in (
            ("a sample", sampled, 0, "wbdisk:r:512:512"),
            ("a clean block of the disk", pair, 1005 * PAGE, f"wbdisk:r:{1005 * PAGE}:4096"),
            ("a clean block of the cache", pair, 1005 * PAGE, "wb:r:{}:4096")):
        mapping = changed_at(box, make, offset)
        with Image(box.path("wb")) as im:
            fail = fail.format(im.slot_offset(5))
        want = expected(box, "wb", "wbdisk", mapping)
        r = box.run("writeback", "wb", "wbdisk", tool=REAL, shim={"SHIM_FAIL": fail})
        tap.ok(r.code == 0 and not r.err and read(box, "wbdisk") == want,
               f"{name} that cannot be read is not compared", r)


def refusals(tap, box):
    pair(box)
    box.copy("used", "failed")
    with Image(box.path("failed")) as im:
        im.set_super(flags=image.FAILED)
    box.copy("used", "holed")
    with Image(box.path("holed")) as im:
        im.flip(im.journal_offset(box.used_offsets[1]) + 60)
    box.file("shorter", 40 * MIB - 4096)
    for name, argv, code, what, then in (
            ("another disk", ["wb", "shorter"], REFUSED, "is not the disk", "old size"),
            ("a failed cache", ["failed", "wbdisk"], DATA, "failed while it ran", "format"),
            ("a damaged cache", ["holed", "wbdisk"], DATA, "damaged", "repair"),
            ("no superblock", ["nosuper", "wbdisk"], DATA, "damaged", "repair"),
            ("a newer format", ["newer", "wbdisk"], DATA, "newer", "Update"),
            ("the wrong way round", ["wbdisk", "wb"], DATA, "not an optcache cache", "format"),
            ("twice the same", ["wb", "wb"], REFUSED, "of itself", "first"),
            ("twice the same, by a link", ["empty", "link"], REFUSED, "of itself", "first")):
        expect_error(tap, box, f"writeback: {name}", ["writeback", *argv], code, what, then)


def lines(r, title):
    """The ranges of such lines."""
    found = []
    for line in r.out.splitlines():
        if line.startswith(title + " sectors "):
            words = line.split()
            at = words.index("sectors")
            found.append((int(words[at + 1]), int(words[at + 3])))
    return found


def errors(tap, box):
    mapping = pair(box)
    with Image(box.path("wb")) as im:
        slot = im.slot_offset
        fail = (f"wb:r:{slot(720) + 1024}:512,wb:r:{slot(750)}:8192,wb:r:{slot(601) + 512}:512,"
                f"wb:r:{slot(506) + 1536}:1")
    # slots 750 and 751 whole, one sector of 720; of 601 only sector 0 is valid
    bad = {8 * 2020 + 2, *range(8 * 2050, 8 * 2052), 8 * 5000 + 3}
    want = expected(box, "wb", "wbdisk", mapping, bad)
    r = box.run("writeback", "wb", "wbdisk", tool=REAL, shim={"SHIM_FAIL": fail})
    tap.ok(r.code == IO and "cannot be read" in r.err
           and lines(r, "the cache device cannot be read:") == image.runs(bad)
           and read(box, "wbdisk") == want, "bad sectors of the cache are named, all else is copied", r)
    tap.ok(mapping_of(box, "wb") == clean(mapping, (720, 750, 751, 506)),
           "only blocks with a bad sector stay dirty", r)
    want = expected(box, "wb", "wbdisk", mapping)
    r = box.run("writeback", "wb", "wbdisk", tool=REAL)
    tap.ok(r.code == 0 and read(box, "wbdisk") == want, "when they can be read again, they are copied", r)

    mapping = pair(box)
    want = expected(box, "wb", "wbdisk", mapping, {16100, 16101})
    r = box.run("writeback", "--json", "wb", "wbdisk", tool=REAL,
                shim={"SHIM_FAIL": f"wbdisk:w:{16100 * 512}:1024"})
    tap.ok(r.code == IO and "could not be written" in r.err and read(box, "wbdisk") == want
           and [(x["sector"], x["sectors"]) for x in r.json()["unwritable"]] == [(16100, 2)]
           and r.json()["left"] == 1, "bad sectors of the disk", r)
    tap.ok(mapping_of(box, "wb") == clean(mapping, (712,)), "their block stays dirty", r)

    mapping = pair(box)
    before = read(box, "wb")
    r = box.run("writeback", "wb", "wbdisk", tool=REAL, shim={"SHIM_FAIL": "wbdisk:s:0:0"})
    tap.ok(r.code == IO and "cannot flush" in r.err and read(box, "wb") == before,
           "the disk cannot be flushed: nothing becomes clean", r)
    r = box.run("writeback", "wb", "wbdisk", tool=REAL, shim={"SHIM_FAIL": "wb:w:0:1000000"})
    tap.ok(r.code == IO and "cannot be written" in r.err and read(box, "wb") == before
           and read(box, "wbdisk") == expected(box, "wb", "wbdisk", mapping),
           "the cache cannot be written: the disk is complete all the same", r)

    # a bad sector of the journal that replay does not need; one that it does
    mapping = pair(box)
    with Image(box.path("wb")) as im:
        spare, needed = im.journal_offset(16384), im.journal_offset(0)
    want = expected(box, "wb", "wbdisk", mapping)
    r = box.run("writeback", "wb", "wbdisk", tool=REAL, shim={"SHIM_FAIL": f"wb:r:{needed}:512"})
    tap.ok(r.code == DATA and "damaged" in r.err, "the journal cannot be read", r)
    r = box.run("writeback", "wb", "wbdisk", tool=REAL, shim={"SHIM_FAIL": f"wb:r:{spare}:512"})
    tap.ok(r.code == 0 and read(box, "wbdisk") == want, "a part of it that is not needed cannot", r)


def cut_writeback(tap, box, make, *options):
    """Cut at any point, with both devices volatile: never wrong, and the next run ends it.
    Where the disk has anything of ours, there is no fingerprint any more, and what was
    accepted once is accepted."""
    mapping = make(box)
    want = expected(box, "wb", "wbdisk", mapping)
    dirty = image.dirty_sectors(mapping)
    box.copy("wb", "wb0")
    box.copy("wbdisk", "wbdisk0")
    r = box.run("writeback", *options, "wb", "wbdisk", tool=REAL, shim={"SHIM_LOG": box.path("log")})
    assert r.code == 0, r
    box.copy("wbdisk0", "wbdisk")
    box.copy("wb0", "wb")
    disk = crash.Files(box.path("log"), {"wbdisk": box.path("wbdisk"), "wb": box.path("wb")})
    wrong = []
    count = 0
    for text, state in crash.states(box.path("log"), 3, 7):
        count += 1
        box.copy("wb0", "wb")
        disk.take_on(state)
        check = box.run("check", "wb", tool=REAL)
        left = mapping_of(box, "wb") if check.code < 3 else {}
        still = image.dirty_sectors(left)
        good = check.code < 3 and clean(left) == clean(mapping)
        for sector in dirty if good else ():
            old = disk.before("wbdisk", sector * 512)
            now = state["wbdisk"].get(sector * 512) or old
            if now != want[sector * 512:sector * 512 + 512] and (sector not in still or now != old):
                good = False
        if any(disk.before("wbdisk", at) != data for at, data in state["wbdisk"].items()):
            sb = superblock_of(box, "wb")
            good = good and not sb["fingerprint"] and sb["stale"] == bool(options)
        again = box.run("writeback", *options, "wb", "wbdisk", tool=REAL)
        if not good or again.code or read(box, "wbdisk") != want \
                or mapping_of(box, "wb") != clean(mapping) \
                or box.run("check", "wb", tool=REAL).code > 1:
            wrong.append(f"{text}\n{check}\n{again}")
    tap.ok(not wrong and count > 40, f"{' '.join(['writeback', *options])} is cut in {count} ways (seed 7)",
           "\n".join(wrong[:2]))


def with_intents(box):
    """Writes were under way at the cut: one arrived over a clean block on another page, one
    where nothing was, one did not arrive, one is torn; of two that add sectors to a dirty
    block one arrived.  Returns what is mapped then."""
    mapping = dict(pair(box))
    with Image(box.path("wb")) as im:
        at = (box.used_offsets[-1] + 512) % im.sb["journal_size"]
        crc = {slot: image.crc32c(im.read(im.slot_offset(slot), size)) for slot, size in
               ((1100, PAGE), (40, 1024), (41, PAGE))}
        crc[ENTRIES] = image.crc32c(im.read(im.slot_offset(ENTRIES) + 2048, 1024))
        im.write_block(at, 2, 108, [(image.INTENT, 1100, 1002, 0xFF, 1, crc[1100]),
                                    (image.INTENT, 40, 4000, 0x03, 1, crc[40]),
                                    (image.INTENT, 41, 4001, 0xFF, 1, crc[41] ^ 1),
                                    (image.INTENT, 42, 1003, 0xFF, 1, 7),
                                    (image.INTENT, ENTRIES, 5000, 0x30, 1, crc[ENTRIES]),
                                    (image.INTENT, 601, 900, 0x80, 1, 7)])
    del mapping[2]      # held block 1002
    return {**mapping, 1100: (1002, 0xFF, 1), 40: (4000, 0x03, 1), ENTRIES: (5000, 0x3F, 1)}


def intents(tap, box):
    mapping = with_intents(box)
    want = expected(box, "wb", "wbdisk", mapping)
    tap.ok(mapping_of(box, "wb") == mapping, "writes under way at the cut are decided by their data",
           mapping_of(box, "wb").items() ^ mapping.items())
    r = box.run("salvage", "wb", "wbdisk")
    tap.ok(lines(r, "stale:") == image.runs(image.dirty_sectors(mapping)), "salvage knows them", r)
    with Image(box.path("wb")) as im:
        fail = {"SHIM_FAIL": f"wb:r:{im.slot_offset(40)}:512"}
    c = box.run("check", "wb", tool=REAL, shim=fail)
    r = box.run("writeback", "wb", "wbdisk", tool=REAL, shim=fail)
    tap.ok(c.code == 3 and "cannot be read now" in c.out and r.code == DATA,
           "one that cannot be read is damage", f"{c}\n{r}")
    r = box.run("repair", "--yes", "wb", tool=REAL, shim=fail)
    tap.ok(r.code == REFUSED and lines(r, "unreadable, given up:") == [(8 * 4000, 2)],
           "repair names it", r)
    r = box.run("writeback", "wb", "wbdisk")
    tap.ok(r.code == 0 and read(box, "wbdisk") == want and mapping_of(box, "wb") == clean(mapping),
           "they are written back", r)


# ---- dump, restore, salvage --------------------------------------------------


def dump(box, name, to, *more):
    r = box.run("dump", "--json", *more, name, tool=REAL)
    write(box, to, r.out.encode())
    return r.json()


def essence(j):
    """What a restored cache must say again."""
    sb = {k: v for k, v in j["superblock"].items() if not k.startswith("tail_")}
    return sb, j["mapped"], j["dirty"], j["next_lsn"], j["next_offset"], j["mappings"]


def restore(tap, box):
    box.copy("used", "option")
    with Image(box.path("option")) as im:
        im.set_option(0, 1)
        im.set_option(3, 12)
        im.set_option(17, 1 << 63)      # of a later version
        im.set_super(generation=(1 << 53) + 1, compat=(1 << 64) - 1, flags=image.STALE)
        im.set_samples(*((1000 * i, 1 + i, 0xFFFFFFFF - i) for i in range(48)))
    for name in ("used", "cache", "option"):
        a = dump(box, name, "a.json")
        size = os.path.getsize(box.path(name))
        box.file("again", size)
        with open(box.path("a.json")) as f:
            r = box.run("restore", "--yes", "again", stdin=f)
        b = dump(box, "again", "b.json")
        tap.ok(r.code == 0 and essence(a) == essence(b) and box.run("check", "again").code < 2,
               f"restore of a dump of '{name}' says the same", f"{r}\n{a}\n{b}")
        box.file("third", size)
        r = box.run("restore", "--yes", "--input", "b.json", "third", tool=RESCUE)
        tap.ok(r.code == 0 and read(box, "again") == read(box, "third"),
               "and its dump gives the same bytes", r)

    # data and metadata of a damaged device: write-back after it is the same
    mapping = pair(box)
    want = expected(box, "wb", "wbdisk", mapping)
    dump(box, "wb", "a.json")
    with Image(box.path("wb")) as im:
        im.write(0, os.urandom(im.sb["data_start"]))
    r = box.run("restore", "--yes", "-i", "a.json", "wb")
    tap.ok(r.code == 0, "restore over noise", r)
    r = box.run("writeback", "wb", "wbdisk")
    tap.ok(r.code == 0 and read(box, "wbdisk") == want, "a restored cache is written back", r)

    expect_error(tap, box, "restore: the cache was used since", ["restore", "-y", "-i", "a.json", "wb"],
                 REFUSED, "used after the dump", "--force")
    r = box.run("restore", "-y", "--force", "-i", "a.json", "wb")
    tap.ok(r.code == 0 and mapping_of(box, "wb") == mapping, "with --force it is done", r)
    dump(box, "used", "dirty.json", "--dirty")
    dump(box, "used", "none.json", "--no-mappings")
    box.copy("used", "hurt")
    with Image(box.path("hurt")) as im:
        im.flip(im.page_offset(2, 0) + 100)
    dump(box, "hurt", "hurt.json")
    for name, argv, code, what, then in (
            ("without --yes", ["-i", "a.json", "wb"], REFUSED, "no terminal", "--yes"),
            ("a dump without clean blocks", ["-y", "-i", "dirty.json", "wb"], DATA, "not complete", "without"),
            ("a dump without mappings", ["-y", "-i", "none.json", "wb"], DATA, "not complete", "without"),
            ("a dump of a damaged cache", ["-y", "-i", "hurt.json", "wb"], DATA, "not complete", "undamaged"),
            ("over a file system", ["-y", "-i", "a.json", "ext4"], REFUSED, "ext4", "--force"),
            ("over another cache", ["-y", "-i", "a.json", "cache"], REFUSED, "already holds", "--force"),
            ("too small a device", ["-y", "-i", "a.json", "small"], DATA, "room for 64", "dump"),
            ("no such dump", ["-y", "-i", "nothing", "wb"], 66, "nothing", "name"),
            ("no dump at all", ["-y", "wb"], DATA, "empty", "dump")):
        expect_error(tap, box, f"restore: {name}", ["restore", *argv], code, what, then)
    bad_fingerprints(tap, box)
    bad_dumps(tap, box)


def bad_dumps(tap, box):
    """Anything that is not a dump, or not a good one, is refused in one line."""
    good = read(box, "a.json").decode()
    j = json.loads(good)
    texts = {"nothing": "", "no JSON": "hello", "a list": "[1]", "an empty object": "{}",
             "two of them": good + good, "two lists": good.rstrip()[:-1] + ', "mappings":[]}',
             "superblock last": json.dumps({"mappings": [], **j}),
             "deep": "[" * 100000, "long": '{"a":"' + "x" * 100000}
    for n in range(0, len(good) - 2, len(good) // 40):
        texts[f"cut at {n}"] = good[:n]
    changes = {"uuid": "x", "seq": -1, "generation": 0.5, "epoch": "1", "version": 2,
               "clean_stop": 1, "options": {"mode": "fast"}, "stale": 1}
    for key, value in changes.items():
        texts[f"{key} = {value}"] = json.dumps({**j, "superblock": {**j["superblock"], key: value}})
    for key in j["superblock"]["geometry"]:
        if key != "table_pages":
            geo = {**j["superblock"]["geometry"], key: 7}
            texts[f"{key} = 7"] = json.dumps({**j, "superblock": {**j["superblock"], "geometry": geo}})
    for change in ({"slot": 1256}, {"slot": -1}, {"slot": 1255, "count": 2}, {"count": 1 << 40},
                   {"count": 1.5}, {"block": 1 << 40}, {"block": 10239, "count": 2}, {"valid": 0},
                   {"valid": 256}, {"dirty": 1}, {"slot": None}):
        run = {"slot": 1, "block": 1, "count": 1, "valid": 255, "dirty": True, **change}
        texts[f"mapping {change}"] = json.dumps({**j, "mappings": [run]}, separators=(",", ":"))
    run = {"slot": 1, "block": 1, "count": 1, "valid": 255, "dirty": True}
    texts["a slot twice"] = json.dumps({**j, "mappings": [run, run]})
    texts["dump_version"] = json.dumps({**j, "dump_version": 2})
    before = read(box, "wb")
    bad = []
    for name, text in texts.items():
        write(box, "bad.json", text.encode())
        r = box.run("restore", "-y", "--force", "-i", "bad.json", "wb")
        if r.code != DATA or r.err.count("\n") != 1 or "no good dump" not in r.err:
            bad.append(f"{name}: {r}")
    tap.ok(not bad and read(box, "wb") == before, f"{len(texts)} bad dumps are refused", "\n".join(bad[:3]))
    # the order within the objects, and blanks, do not matter
    write(box, "pretty.json", json.dumps(j, indent=3).encode())
    r = box.run("restore", "-y", "--force", "-i", "pretty.json", "wb")
    tap.ok(r.code == 0, "a dump that was formatted anew", r)


def bad_fingerprints(tap, box):
    """What no superblock can hold, or no disk of this size has."""
    j = json.loads(read(box, "a.json"))
    part = {"sector": 8, "sectors": 8, "hash": 1}
    end = 40 << 11
    before = read(box, "wb")
    for value, text in (
            (None, "not a list"), ("none", "not a list"), (part, "not a list"), ([7], "not an object"),
            ([{**part, "sector": 16 * i} for i in range(49)], "has 49 parts, there may be 48"),
            *(([part, {k: v for k, v in part.items() if k != key}], f'"{key}" is missing') for key in part),
            ([{**part, "hash": 1 << 32}], '"hash" is missing, or no number up to 4294967295'),
            ([{**part, "sectors": -1}], '"sectors" is missing, or no number'),
            ([{**part, "sector": "8"}], '"sector" is missing, or no number'),
            ([{**part, "sectors": 0}], "senseless length"), ([{**part, "sectors": 2049}], "senseless length"),
            ([{**part, "sector": end - 7}], "outside the origin"),
            ([{**part, "sector": (1 << 64) - 1}], "outside the origin"),
            ([part, {**part, "sector": 15}], "overlap")):
        bad = {**j, "superblock": {**j["superblock"], "fingerprint": value}}
        write(box, "bad.json", json.dumps(bad).encode())
        r = box.run("restore", "-y", "--force", "-i", "bad.json", "wb")
        tap.ok(r.code == DATA and r.err.count("\n") == 1 and "no good dump" in r.err and text in r.err
               and read(box, "wb") == before, f"restore: fingerprint: {text}", r)


def salvage(tap, box):
    mapping = pair(box)
    want = image.runs(image.dirty_sectors(mapping))
    before = box.state(["wb", "wbdisk"])
    r = box.run("salvage", "wb", "wbdisk")
    tap.ok(r.code == 0 and lines(r, "stale:") == want, "salvage lists what is dirty, merged", r)
    dump(box, "wb", "a.json")
    dump(box, "wb", "d.json", "--dirty")
    for source in ("wb", "a.json", "d.json"):
        r = box.run("salvage", "--json", source, "wbdisk")
        j = r.json()
        tap.ok(r.code == 0 and j["exact"] and [(x["sector"], x["sectors"]) for x in j["stale"]] == want
               and all(x["offset"] == 512 * x["sector"] and x["bytes"] == 512 * x["sectors"]
                       for x in j["stale"])
               and j["stale_bytes"] == 512 * sum(n for _, n in want), f"salvage --json from {source}", r)
    tap.ok({k: v for k, v in before.items() if "json" not in k} ==
           {k: v for k, v in box.state(["wb", "wbdisk"]).items() if "json" not in k},
           "nothing was written")
    r = box.run("salvage", "cache", "origin")
    tap.ok(r.code == 0 and "nothing is older" in r.out, "salvage of a clean cache", r)
    box.copy("wb", "hurt")
    with Image(box.path("hurt")) as im:
        im.flip(im.page_offset(1, 1) + 100)
    r = box.run("salvage", "hurt", "wbdisk")
    tap.ok(r.code == DATA and lines(r, "stale:") and "not exact" in r.err,
           "salvage of a damaged cache says what it can, and that it is not all", r)
    dump(box, "wb", "n.json", "--no-mappings")
    r = box.run("salvage", "n.json", "wbdisk")
    tap.ok(r.code == DATA and "not exact" in r.err, "salvage from a dump without mappings", r)
    for name, argv, code, what, then in (
            ("another disk", ["wb", "origin"], REFUSED, "is not the disk", "old size"),
            ("a dump, another disk", ["a.json", "origin"], REFUSED, "is not the disk", "old size"),
            ("no superblock", ["nosuper", "origin"], DATA, "no usable superblock", "dump --json"),
            ("not a cache", ["ext4", "wbdisk"], DATA, "not an optcache", "format")):
        expect_error(tap, box, f"salvage: {name}", ["salvage", *argv], code, what, then)


def rescue_system(tap, box):
    """The static program in a folder where nothing else is."""
    if os.getuid():
        tap.skip("the static program in an empty root", "needs root")
        return
    mapping = pair(box)
    want = expected(box, "wb", "wbdisk", mapping)
    root = box.path("root")
    os.mkdir(root)
    shutil.copy(RESCUE, root)
    os.rename(box.path("wb"), root + "/cache")
    os.rename(box.path("wbdisk"), root + "/disk")

    def run(*argv):
        return subprocess.run(["/optcachectl-rescue", *argv], preexec_fn=lambda: (os.chroot(root),
                              os.chdir("/")), env={}, stdin=subprocess.DEVNULL, check=False,
                              capture_output=True, text=True)
    steps = [run("check", "cache"), run("writeback", "cache", "disk"), run("check", "cache"),
             run("--help")]
    with open(root + "/disk", "rb") as f:
        got = f.read()
    tap.ok([s.returncode for s in steps] == [1, 0, 0, 0] and got == want
           and sorted(os.listdir(root)) == ["cache", "disk", "optcachectl-rescue"],
           "the static program in an empty root", steps)
    r = run("status")
    tap.ok(r.returncode == 64 and "unknown" in r.stderr, "it has no verbs for active caches", r)


def run(tap, box):
    writeback(tap, box)
    fingerprint(tap, box)
    changed(tap, box)
    refusals(tap, box)
    errors(tap, box)
    cut_writeback(tap, box, sampled)
    cut_writeback(tap, box, lambda box: changed_at(box, sampled, 0), "--keep-dirty")
    intents(tap, box)
    cut_writeback(tap, box, with_intents)
    restore(tap, box)
    salvage(tap, box)
    rescue_system(tap, box)
