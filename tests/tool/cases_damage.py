# SPDX-License-Identifier: GPL-2.0-only
"""Damage: flip bytes everywhere that check should look, and see that it does."""
import random

import image
from image import PAGE, Image
from harness import FAKE

SOUND, REPLAY, COVERED, DAMAGED = 0, 1, 2, 3
RESULT = {SOUND: "sound", REPLAY: "needs-replay", COVERED: "covered", DAMAGED: "damaged"}


def expect(tap, box, name, img, code, where=None, text=""):
    """check finds it, in both forms, and leaves the image alone."""
    before = box.state([img])
    r = box.run("check", "--json", img)
    plain = box.run("check", img)
    good = r.code == code and plain.code == code and not r.err and not plain.err
    found = []
    if good:
        j = r.json()
        found = j["findings"]
        good = j["result"] == RESULT[code] and j["exit_code"] == code
        if where:
            good = good and any(f["where"] == where and text in f["text"] for f in found)
            good = good and text in plain.out
    same = box.state([img]) == before
    tap.ok(good and same, name, f"want exit {code}, {where}: {text}\n{r}\n{plain}")


def variant(box, base, change):
    path = box.copy(base, "damaged")
    with Image(path) as im:
        change(im)
    return "damaged"


def supers(tap, box):
    for copy in (0, 1):
        for at in (0, 7, 8, 12, 16, 64, 80, 128, 144, 200, 448, 4095):
            img = variant(box, "used", lambda im: im.flip(copy * PAGE + at, at % 8))
            expect(tap, box, f"superblock copy {copy}, byte {at}", img, COVERED, "superblock",
                   "the other copy is used")
    img = variant(box, "used", lambda im: (im.flip(100), im.flip(PAGE + 100)))
    expect(tap, box, "both superblock copies", img, DAMAGED, "superblock", "wrong checksum")
    img = variant(box, "used", lambda im: (im.flip(0), im.flip(PAGE + 100)))
    expect(tap, box, "no magic in one, wrong checksum in the other", img, DAMAGED, "superblock",
           "wrong checksum")
    img = variant(box, "used", lambda im: im.set_super(copies=(1,), uuid=b"x" * 16))
    expect(tap, box, "copies of two caches", img, DAMAGED, "superblock", "two caches")
    img = variant(box, "used", lambda im: im.set_super(copies=(0,), origin_sectors=90000))
    expect(tap, box, "copies with two layouts", img, DAMAGED, "superblock", "disagree")
    img = variant(box, "used", lambda im: im.set_super(flags=image.FAILED))
    expect(tap, box, "failed mark", img, DAMAGED, "superblock", "failed mark")

    senseless = {
        "cache_sectors": 1 << 60, "origin_sectors": 0, "journal_start": 0, "journal_size": 12345,
        "table_start": 8192, "data_start": 1 << 50, "nr_slots": 0xFFFFFFFF, "journal_unit": 1000,
        "slot_size": 8192, "flags": 0x80, "epoch": 0, "tail_lsn": 0, "tail_offset": 1 << 40,
        "tail_epoch": 1 << 63, "seq": 0, "nr_samples": 49,
    }
    for field, value in senseless.items():
        img = variant(box, "used", lambda im: im.set_super(**{field: value}))
        expect(tap, box, f"superblocks with good checksums and {field} = {value}", img, DAMAGED,
               "superblock", "superblock: ")
    end = 40 << 11      # sectors of the disk
    for samples, text in {
            ((0, 0, 1),): "senseless length", ((0, 2049, 1),): "senseless length",
            ((end, 1, 1),): "outside the origin", ((end - 7, 8, 1),): "outside the origin",
            (((1 << 64) - 8, 16, 1),): "outside the origin",
            ((0, 9, 1), (8, 8, 1)): "overlap", ((8, 8, 1), (0, 8, 1)): "overlap"}.items():
        img = variant(box, "used", lambda im: im.set_samples(*samples))
        expect(tap, box, f"fingerprint {samples}", img, DAMAGED, "superblock", text)
    img = variant(box, "stopped", lambda im: im.set_super(flags=image.CLEAN_STOP | image.STALE))
    expect(tap, box, "stale mark", img, SOUND, "superblock", "attach it once")
    with open(box.copy("used", "short"), "r+b") as f:
        f.truncate(4 << 20)
    expect(tap, box, "device has shrunk", "short", DAMAGED, "superblock", "the device has only")


def table(tap, box):
    with Image(box.path("used")) as im:
        pages = im.pages
    for nr in range(2, pages):              # written by format only
        for at in (0, 8, 24, 32, 40, 48, 2000, 4095):
            img = variant(box, "used", lambda im: im.flip(im.page_offset(nr, 0) + at))
            expect(tap, box, f"table page {nr}, the only place, byte {at}", img, DAMAGED, "table",
                   "no good place")
    # page 0: place 1 (seq 4, lsn 100 = tail) is newer than place 0 (seq 3, lsn 90)
    for at in (0, 4, 9, 40, 48, 100, 4095):
        img = variant(box, "used", lambda im: im.flip(im.page_offset(0, 0) + at))
        expect(tap, box, f"table page 0, the older place, byte {at}", img, COVERED, "table",
               "place 0 is damaged")
        img = variant(box, "used", lambda im: im.flip(im.page_offset(0, 1) + at))
        expect(tap, box, f"table page 0, the newer place, byte {at}", img, DAMAGED, "table",
               "no longer covers it")

    def torn(im):
        im.write_page(0, 0, 104, 5, {i: (3000 + i, 0xFF, 0) for i in range(506)})
        im.write(im.page_offset(0, 0) + 512, bytes(512))
    expect(tap, box, "torn write of a page that the journal still covers",
           variant(box, "used", torn), COVERED, "table", "journal cover")

    def both(im):
        im.flip(im.page_offset(0, 0) + 99)
        im.flip(im.page_offset(0, 1) + 99)
    expect(tap, box, "both places of a page", variant(box, "used", both), DAMAGED, "table",
           "no good place")
    img = variant(box, "used", lambda im: im.write_page(2, 0, 1, 1, {0: (1 << 39, 255, 0)}))
    expect(tap, box, "entry beyond the disk", img, DAMAGED, "table", "out of range")
    img = variant(box, "used", lambda im: im.write_page(2, 0, 1, 1, {5: (1003, 255, 0)}))
    expect(tap, box, "two slots with one block", img, DAMAGED, "mapping", "another slot")
    img = variant(box, "used", lambda im: im.write(im.page_offset(2, 0),
                                                   im.read(im.page_offset(1, 1), PAGE)))
    expect(tap, box, "page in the place of another", img, DAMAGED, "table", "no good place")
    img = variant(box, "used", lambda im: im.write_page(2, 1, 500, 9, {}))
    expect(tap, box, "page ahead of the journal", img, DAMAGED, "journal", "behind the journal's end")


def journal(tap, box, offsets):
    last = len(offsets) - 1
    with Image(box.path("used")) as im:
        used = [48 + 16 * im.read(im.journal_offset(o) + 40, 1)[0] for o in offsets]
    for n, offset in enumerate(offsets):
        for at in (0, 5, 8, 24, 32, 40, 42, 48, 60, 67, 500):
            img = variant(box, "used", lambda im: im.flip(im.journal_offset(offset) + at))
            if at >= used[n]:   # behind the last record: nobody looks there
                expect(tap, box, f"journal block {n}, byte {at}", img, REPLAY, "journal", "will replay 8")
            elif n < last - 2:    # as many as can be in flight may be missing after a cut
                expect(tap, box, f"journal block {n}, byte {at}", img, DAMAGED, "journal",
                       "records are lost")
            else:
                expect(tap, box, f"one of the last journal blocks, {n}, byte {at}", img, COVERED, "journal",
                       "incomplete")

    def cut(im):
        im.write(im.journal_offset(offsets[1]), bytes(512))
        im.write(im.journal_offset(offsets[2]), bytes(512))
    expect(tap, box, "two journal blocks zeroed", variant(box, "used", cut), DAMAGED, "journal",
           "records are lost")

    def senseless(im):
        im.write_block(offsets[last], 2, 107, [(image.MAP, 1 << 30, 0, 0xFF, 1)])
    expect(tap, box, "sealed block with senseless records", variant(box, "used", senseless),
           DAMAGED, "journal", "senseless")

    def old_lap(im):
        behind = (offsets[last] + 512) % im.sb["journal_size"]
        im.write_block(behind, 1, 60, [(image.UNMAP, 0, 0, 0, 1)])
    expect(tap, box, "block of an earlier lap behind the end", variant(box, "used", old_lap),
           REPLAY, "journal", "will replay 8 records")

    def settled(im):
        """Torn by a crash, then recovered and stopped in order without a journal write."""
        im.write_block(4096, 1, 50, [(image.UNMAP, 0, 0, 0, 1)])
        im.flip(im.journal_offset(4096) + 50)
        im.set_super(epoch=2, tail_epoch=2)
    expect(tap, box, "incomplete block that a recovery has settled",
           variant(box, "stopped", settled), SOUND)

    def foreign(im):
        behind = (offsets[last] + 512) % im.sb["journal_size"]
        im.write_block(behind, 2, 108, [(image.UNMAP, 0, 0, 0, 1)])
        im.write(im.journal_offset(behind) + 8, b"y" * 16)
    with Image(box.path("used")) as im:
        uuid = im.sb["uuid"]
    assert uuid != b"y" * 16
    img = variant(box, "used", foreign)
    r = box.run("check", "--json", img)
    tap.ok(r.code in (REPLAY, COVERED) and r.json()["journal_records"] == 8,
           "block of another cache behind the end is not replayed", r)

    # a clean stop leaves nothing torn
    def after_stop(im):
        im.write_block(4096, 1, 50, [(image.UNMAP, 0, 0, 0, 1)])
        im.flip(im.journal_offset(4096) + 50)
    expect(tap, box, "incomplete block after a stop in order", variant(box, "stopped", after_stop),
           DAMAGED, "journal", "after a stop in order")


def noise(tap, box):
    """Whatever is there: an answer, no crash, no write."""
    rnd = random.Random(1)
    bad = []
    for n in range(60):
        img = box.copy("used", "noise")
        with Image(img) as im:
            limit = im.sb["data_start"]
            for _ in range(rnd.randrange(1, 40)):
                at = rnd.randrange(limit)
                im.write(at, rnd.randbytes(rnd.randrange(1, min(600, limit - at) + 1)))
        for argv in (["check", "noise"], ["dump", "--json", "noise"]):
            r = box.run(*argv, tool=FAKE)
            if r.code not in (0, 1, 2, 3, 65) or "runtime error" in r.err or "Sanitizer" in r.err:
                bad.append((n, str(r)))
    tap.ok(not bad, "60 images with random damage (seed 1): check and dump answer", bad[:2])


def run(tap, box):
    box.copy("cache", "stopped")
    image.stopped(box.path("stopped"))
    offsets = box.used_offsets
    expect(tap, box, "fresh image", "cache", SOUND)
    expect(tap, box, "stopped image", "stopped", SOUND)
    expect(tap, box, "image that was cut", "used", REPLAY, "journal", "will replay 8 records")
    supers(tap, box)
    table(tap, box)
    journal(tap, box, offsets)
    noise(tap, box)
