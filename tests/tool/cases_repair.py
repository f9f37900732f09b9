# SPDX-License-Identifier: GPL-2.0-only
"""repair: what is safe is done, what is not is said and asked for, and cuts do no harm."""
import crash
import image
from harness import FAKE, REAL, expect_error
from image import ENTRIES, PAGE, Image
from cases_rescue import lines, mapping_of, read

DATA, REFUSED, IO = 65, 73, 74
DOUBT, KEPT, GIVEN_UP = "in doubt:", "in doubt, kept:", "in doubt, given up:"


def hurt(box, change, base="used"):
    box.copy(base, "hurt")
    with Image(box.path("hurt")) as im:
        change(im)


def dirty_runs(mapping):
    return image.runs(image.dirty_sectors(mapping))


def drop(mapping, slots=(), clean_in=()):
    """Without these slots, and without the clean ones among those."""
    return {slot: e for slot, e in mapping.items()
            if slot not in slots and (e[2] or slot not in clean_in)}


def repaired(tap, box, name, options, want, said=()):
    """A dry run changes nothing; then it is sound, and maps this."""
    before = box.state(["hurt"])
    r = box.run("repair", "--dry-run", *options, "hurt")
    dry = r.code == 0 and before == box.state(["hurt"]) and "nothing was changed" in r.out
    r2 = box.run("repair", "--yes", *options, "hurt")
    check = box.run("check", "hurt", tool=REAL)
    got = mapping_of(box, "hurt")
    tap.ok(dry and r2.code == 0 and "repaired" in r2.out and check.code == 0 and got == want
           and all(s in r2.out for s in said), name,
           f"{r}\n{r2}\n{check}\nmissing {want.items() - got.items()}\nmore {got.items() - want.items()}")


def refused(tap, box, name, options, what, then):
    """Without the consent nothing happens."""
    before = box.state(["hurt"])
    r = box.run("repair", "--yes", *options, "hurt")
    tap.ok(r.code == REFUSED and what in r.err and then in r.err and before == box.state(["hurt"]),
           name, r)
    return r


def covered(tap, box):
    """Nothing is lost: no consent is needed."""
    mapping = box.used_mapping
    last = box.used_offsets[-1]

    def torn_page(im):
        im.write_page(0, 0, 104, 5, {i: (3000 + i, 0xFF, 0) for i in range(506)})
        im.write(im.page_offset(0, 0) + 512, bytes(512))
    for name, change in {
            "superblock copy 0": lambda im: im.flip(100),
            "superblock copy 1": lambda im: im.flip(PAGE + 100),
            "the older place of a page": lambda im: im.flip(im.page_offset(0, 0) + 99),
            "a torn page": torn_page}.items():
        hurt(box, change)
        repaired(tap, box, f"repair of {name}", [], mapping)
    hurt(box, lambda im: im.flip(im.journal_offset(last) + 60))
    repaired(tap, box, "repair of a torn last block", [], {**mapping, 600: (800, 0xFF, 0)})
    for name in ("cache", "used", "stopped"):
        before = box.state([name])
        r = box.run("repair", "--yes", name)
        tap.ok(r.code == 0 and "nothing to repair" in r.out and before == box.state([name]),
               f"'{name}' needs no repair", r)


def pages(tap, box):
    mapping = box.used_mapping
    # its older place is empty, and the journal goes on from the newer one
    hurt(box, lambda im: im.flip(im.page_offset(1, 1) + 99))
    refused(tap, box, "a page's only good place is lost", [], "may be lost", "--drop-dirty")
    repaired(tap, box, "repaired with --drop-dirty", ["--drop-dirty"], drop(mapping, [ENTRIES]),
             ["506 slots are unknown"])
    hurt(box, lambda im: (im.flip(im.page_offset(0, 0) + 99), im.flip(im.page_offset(0, 1) + 99)))
    refused(tap, box, "both places of a page", ["--keep-dirty"], "may be lost", "--drop-dirty")
    repaired(tap, box, "both places, repaired", ["--drop-dirty"], drop(mapping, range(8)))

    # the newer place, which the journal no longer covers: what it changed is certain
    def newer_lost(im):
        im.write_page(0, 0, 90, 3, {i: (1000 + i, 0xFF, 0) for i in range(4)}
                      | {30: (6000, 255, 1), 21: (8000, 255, 1), 31: (6001, 255, 1)})
        im.write_block(box.used_offsets[-1], 2, 107, [(image.CLEAN, 31, 0, 0, 1)])
        im.flip(im.page_offset(0, 1) + 99)
    hurt(box, newer_lost)
    refused(tap, box, "the newer place of a page", [], "may be lost", "--drop-dirty")
    r = refused(tap, box, "the newer place, --keep-dirty", ["--keep-dirty"], "may be lost", "--drop-dirty")
    tap.ok(lines(r, KEPT) == [(8 * 6000, 8)], "its dirty block is named", r)
    certain = {**drop(mapping, range(8)), 600: (800, 255, 0)}
    repaired(tap, box, "the newer place, dirty ones kept", ["--keep-dirty", "--drop-dirty"],
             {**certain, 30: (6000, 255, 1)}, [KEPT, "3 clean blocks are dropped"])
    hurt(box, newer_lost)
    repaired(tap, box, "the newer place, dirty ones given up", ["--drop-dirty"], certain, [GIVEN_UP])

    # senseless entries: the others stay
    hurt(box, lambda im: im.write_page(2, 0, 1, 1, {0: (1 << 39, 255, 0), 3: (77, 255, 1)}))
    repaired(tap, box, "a clean entry out of range", [], {**mapping, 2 * ENTRIES + 3: (77, 255, 1)})
    hurt(box, lambda im: im.write_page(2, 0, 1, 1, {0: (1 << 39, 255, 1), 3: (77, 0, 0), 4: (78, 1, 0)}))
    refused(tap, box, "a dirty entry out of range", [], "may be lost", "--drop-dirty")
    repaired(tap, box, "it is given up", ["--drop-dirty"], {**mapping, 2 * ENTRIES + 4: (78, 1, 0)},
             ["1 senseless entries"])


def contradictions(tap, box):
    mapping = box.used_mapping
    slot = 2 * ENTRIES
    hurt(box, lambda im: im.write_page(2, 0, 1, 1, {0: (1003, 255, 0), 1: (1004, 255, 0)}))
    repaired(tap, box, "clean blocks in two slots are dropped", [], drop(mapping, [3, 4]),
             ["4 clean blocks are dropped"])
    hurt(box, lambda im: im.write_page(2, 0, 1, 1, {0: (1003, 255, 1), 5: (4000, 255, 1)}))
    r = refused(tap, box, "a dirty block in two slots", ["--keep-dirty"], "may be lost", "--drop-dirty")
    tap.ok(lines(r, "contradictory, given up:") == [(8 * 1003, 8)], "it is named", r)
    repaired(tap, box, "it is given up", ["--drop-dirty"],
             {**drop(mapping, [3]), slot + 5: (4000, 255, 1)})
    # of two slots the one that is not in doubt stays
    def older_claims(im):
        im.write_page(2, 0, 1, 1, {7: (2100, 255, 0)})
        im.write_page(2, 1, 1, 2, {7: (2100, 255, 0)})
        im.flip(im.page_offset(2, 1) + 3000)
    hurt(box, older_claims)
    repaired(tap, box, "of two slots the certain one stays", ["--drop-dirty"], mapping)


def journals(tap, box):
    mapping = box.used_mapping
    offsets = box.used_offsets
    # block 1: UNMAP 0 and 1, CLEAN 21.  Behind it: MAP 600, 601, 700 to 955 ...
    hurt(box, lambda im: im.flip(im.journal_offset(offsets[1]) + 60))
    r = refused(tap, box, "a hole in the journal", [], "may be lost", "--drop-dirty")
    doubtful = {20 + i: (7000 + i, 0xFF, 1) for i in range(4)}
    doubtful[ENTRIES] = (5000, 0x0F, 1)
    tap.ok(lines(r, DOUBT) == dirty_runs(doubtful), "what may be out of date is named", r)
    behind = {s: e for s, e in mapping.items() if s >= 601}
    repaired(tap, box, "a hole, doubtful blocks kept", ["--keep-dirty", "--drop-dirty"],
             {**behind, **doubtful}, ["2 records or more are lost"])
    hurt(box, lambda im: im.flip(im.journal_offset(offsets[1]) + 60))
    repaired(tap, box, "a hole, doubtful blocks given up", ["--drop-dirty"], behind)

    def senseless(im):
        im.write_block(offsets[1], 1, 101, [(image.MAP, 1 << 30, 0, 0xFF, 1), (image.UNMAP, 1, 0, 0, 1)])
    hurt(box, senseless)
    repaired(tap, box, "senseless records count as a hole", ["--drop-dirty"], behind)

    def lost_end(im):
        for offset in offsets[3:]:
            im.write(im.journal_offset(offset), bytes(512))
        im.write_page(2, 1, 107, 2, {0: (3000, 255, 1)})
    hurt(box, lost_end)
    repaired(tap, box, "a page that knows of more than the journal", ["--drop-dirty"],
             {2 * ENTRIES: (3000, 255, 1)})

    # the latest superblock is lost: the journal tells, and nothing is in doubt
    def old_super(im):
        im.set_super(epoch=1)
    hurt(box, old_super)
    repaired(tap, box, "the latest superblock is lost", [], mapping)

    def ahead(im):
        im.set_super(tail_lsn=300)
        for offset in offsets:
            im.write(im.journal_offset(offset), bytes(512))
        im.write_block(offsets[0] - 512, 1, 99, [(image.UNMAP, 0, 0, 0, 1)])
    hurt(box, ahead)
    refused(tap, box, "a superblock that does not go with the journal", [], "may be lost", "--drop-dirty")
    repaired(tap, box, "it is repaired", ["--drop-dirty"], {})


def fingerprints(tap, box):
    """Repair does not write the disk, but the superblock may be from before the cache did."""
    def stopped(im):
        im.set_super(flags=image.CLEAN_STOP)
        im.set_samples((0, 8, 5))

    def left():
        j = box.run("dump", "--json", "hurt").json()["superblock"]
        return [part["hash"] for part in j["fingerprint"]]
    hurt(box, lambda im: (stopped(im), im.flip(100)))
    repaired(tap, box, "repair of a cache that was stopped", [], box.used_mapping)
    tap.ok(left() == [5], "the fingerprint stays", left())
    hurt(box, lambda im: (stopped(im), im.set_super(epoch=1)))
    repaired(tap, box, "the latest superblock is lost, the one before has a fingerprint", [],
             box.used_mapping)
    tap.ok(left() == [], "which is taken away", left())


def beyond_repair(tap, box):
    for name, change, what, then in (
            ("both superblocks", lambda im: (im.flip(99), im.flip(PAGE + 99)), "wrong checksum", "restore"),
            ("two caches", lambda im: im.set_super(copies=(1,), uuid=b"x" * 16), "two caches", "restore"),
            ("two layouts", lambda im: im.set_super(copies=(0,), origin_sectors=90000), "contradict", "restore"),
            ("a copy from the future", lambda im: im.set_super(copies=(0,), tail_lsn=5000), "contradict", "restore"),
            ("the failed mark", lambda im: im.set_super(flags=image.FAILED), "failed while it ran", "format")):
        hurt(box, change)
        before = box.state(["hurt"])
        r = box.run("repair", "--yes", "--drop-dirty", "hurt")
        tap.ok(r.code == DATA and what in r.err and then in r.err and before == box.state(["hurt"]),
               f"repair: {name}", r)
    expect_error(tap, box, "repair: not a cache", ["repair", "ext4"], DATA, "no superblock", "format")
    expect_error(tap, box, "repair: a newer format", ["repair", "newer"], DATA, "newer", "Update")
    hurt(box, lambda im: im.flip(100))
    r = box.run("repair", "hurt")
    tap.ok(r.code == REFUSED and "--yes" in r.err, "repair asks", r)
    before = read(box, "hurt")
    r = box.run("repair", "--yes", "hurt", tool=REAL, shim={"SHIM_FAIL": "hurt:w:0:4096"})
    tap.ok(r.code == IO and "cannot write" in r.err, "repair: the device cannot be written", r)
    r = box.run("repair", "--yes", "--json", "hurt")
    j = r.json()
    tap.ok(r.code == 0 and j["repaired"] and j["findings"] and not j["doubtful"], "repair --json", r)
    tap.ok(before != read(box, "hurt"), "which wrote it")


def cuts(tap, box):
    """Cut at any point: what can be read then is the old mapping or the new one, or repair
    can be run again and ends the same."""
    def change(im):
        im.flip(im.journal_offset(box.used_offsets[1]) + 60)
        im.flip(im.page_offset(0, 0) + 99)
    hurt(box, change)
    box.copy("hurt", "hurt0")
    args = ["repair", "--yes", "--keep-dirty", "--drop-dirty", "hurt"]
    r = box.run(*args, tool=REAL, shim={"SHIM_LOG": box.path("log")})
    assert r.code == 0, r
    want = mapping_of(box, "hurt")
    box.copy("hurt0", "hurt")
    files = crash.Files(box.path("log"), {"hurt": box.path("hurt")})
    wrong, count = [], 0
    for text, state in crash.states(box.path("log"), 4, 3):
        count += 1
        box.copy("hurt0", "hurt")
        files.take_on(state)
        again = box.run(*args, tool=REAL)
        got = mapping_of(box, "hurt")
        if again.code or got != want or box.run("check", "hurt", tool=REAL).code > 1:
            wrong.append(f"{text}\n{again}\nmissing {want.items() - got.items()}\n"
                         f"more {got.items() - want.items()}")
    tap.ok(not wrong and count > 20, f"repair is cut in {count} ways (seed 3)", "\n".join(wrong[:2]))


def run(tap, box):
    box.copy("cache", "stopped")
    image.stopped(box.path("stopped"))
    covered(tap, box)
    pages(tap, box)
    contradictions(tap, box)
    journals(tap, box)
    fingerprints(tap, box)
    beyond_repair(tap, box)
    cuts(tap, box)
