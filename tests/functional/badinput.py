#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Wrong table lines, messages, sysfs values and metadata, one case a line.

Each case must fail with just this errno, leave exactly one line of ours in the kernel's
log that tells the cause, and change nothing: neither a byte on one of the devices nor, if
a cache is active, a word of its status.
"""

import errno
import fcntl
import hashlib
import os
import re
import subprocess
import sys

from image import Image, PAGE, SUPER, TABLE, Block, assign

CONTROL = "/sys/kernel/debug/labdev/control"
CACHE_MB, ORIGIN_MB = 2, 2
ORIGIN = ORIGIN_MB * 2048
FAST, SLOW = "/dev/fast", "/dev/slow"


def order(line):
    """To the model devices."""
    with open(CONTROL, "w", encoding="ascii") as control:
        control.write(line)


def dmsetup(*words):
    """(status, what it said)"""
    done = subprocess.run(["dmsetup", *words], check=False, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def need(*words):
    """A dmsetup command that must work."""
    status, text = dmsetup(*words)
    if status:
        raise RuntimeError(f"dmsetup {' '.join(words)}: {text}")
    return text


def digest(path):
    """Checksum of a device, past the page cache."""
    with open(path, "rb") as dev:
        fcntl.ioctl(dev, 0x1261)        # BLKFLSBUF
        return hashlib.sha256(dev.read()).hexdigest()


class Log:
    """Of the kernel, from now on."""

    def __init__(self):
        self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)

    def lines(self):
        """Those of the device mapper since last asked."""
        found = []
        while True:
            try:
                record = os.read(self.fd, 8192).decode(errors="replace")
            except BlockingIOError:
                return found
            except BrokenPipeError:
                continue
            text = record.split(";", 1)[1].split("\n")[0]
            if text.startswith("device-mapper: optcache:"):
                found.append(text)


class Results:
    """TAP."""

    def __init__(self):
        self.count = self.failed = 0

    def add(self, what, problems):
        """One case."""
        self.count += 1
        for problem in problems:
            print(f"# {problem}")
        self.failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {self.count} - {what}", flush=True)


RESULTS, LOG = Results(), Log()


def table(args="0", cache=FAST, origin=SLOW, length=ORIGIN, start=0):
    """A line."""
    return f"{start} {length} optcache {cache} {origin} {args}"


def judge(what, status, said, cause, before, expect):
    """What all cases have in common. EXPECT: the text of an errno."""
    problems = []
    # libdevmapper tells some errors of the kernel by their text only
    if not status:
        problems.append("it was accepted")
    elif os.strerror(expect) not in said:
        problems.append(f"is not {errno.errorcode[expect]}: {said.strip()[-200:]}")
    log = [l for l in LOG.lines() if "refused, the line before says why" not in l]
    if len(log) != 1:
        problems.append(f"{len(log)} lines in the log instead of one: {log}")
    elif not re.search(cause, log[0]):
        problems.append(f"the log does not tell the cause ({cause}): {log[0]}")
    after = state()
    for name, value in before.items():
        if after[name] != value:
            problems.append(f"{name} changed: {value} -> {after[name]}")
    RESULTS.add(what, problems)


def state():
    """What must not change."""
    status, text = dmsetup("status", "c")
    # only a new cache's own counters may be there, and nobody uses it
    return {"the cache device": digest(FAST), "the origin": digest(SLOW),
            "the status": text if not status else "none"}


# ---- table lines ---------------------------------------------------------------------

TABLES = [
    # line, cause in the log, errno
    (f"0 {ORIGIN} optcache", "needs|Not enough|number of arguments", errno.EINVAL),
    (f"0 {ORIGIN} optcache {FAST}", "needs <cache dev>", errno.EINVAL),
    (f"0 {ORIGIN} optcache {FAST} {SLOW}", "needs <cache dev>", errno.EINVAL),
    (table("1"), "number of arguments is '1', but 0", errno.EINVAL),
    (table("0 writeback"), "number of arguments is '0', but 1", errno.EINVAL),
    (table("2 writeback"), "number of arguments is '2', but 1", errno.EINVAL),
    (table("-1"), "number of arguments", errno.EINVAL),
    (table("x"), "number of arguments is 'x'", errno.EINVAL),
    (table("4294967296"), "number of arguments", errno.EINVAL),
    (table("18446744073709551616"), "number of arguments", errno.EINVAL),
    (table("1 frobnicate"), "unknown option 'frobnicate'", errno.EINVAL),
    (table("1 Writeback"), "unknown option 'Writeback'", errno.EINVAL),
    (table("1 write-back"), "unknown option 'write-back'", errno.EINVAL),
    (table("1 " + "a" * 200), "unknown option 'a{10,}", errno.EINVAL),
    (table("1 %s%n%p"), "unknown option '%s%n%p'", errno.EINVAL),
    (table("1 mode"), "mode needs a value", errno.EINVAL),
    (table("2 mode fast"), "mode 'fast': must be one of", errno.EINVAL),
    (table("2 mode 0"), "mode '0': must be one of", errno.EINVAL),
    (table("2 writeback writethrough"), "mode is given twice", errno.EINVAL),
    (table("3 writeback mode writeback"), "mode is given twice", errno.EINVAL),
    (table("2 format format"), "format is given twice", errno.EINVAL),
    (table("2 keep_dirty keep_dirty"), "keep_dirty is given twice", errno.EINVAL),
    (table("1 seq_cutoff"), "seq_cutoff needs a value", errno.EINVAL),
    (table("2 seq_cutoff x"), "seq_cutoff 'x'", errno.EINVAL),
    (table("2 seq_cutoff -1"), "seq_cutoff '-1'", errno.EINVAL),
    (table("2 seq_cutoff 0x10"), "seq_cutoff '0x10'", errno.EINVAL),
    (table("2 seq_cutoff 1k"), "seq_cutoff '1k'", errno.EINVAL),
    (table("2 seq_cutoff 1073741825"), "seq_cutoff 1073741825: must be 0..1073741824", errno.EINVAL),
    (table("2 seq_cutoff 18446744073709551616"), "seq_cutoff '18446744073709551616'", errno.EINVAL),
    (table("4 seq_cutoff 1 seq_cutoff 1"), "seq_cutoff is given twice", errno.EINVAL),
    (table("2 writeback_delay 3601"), "writeback_delay 3601: must be 0..3600", errno.EINVAL),
    (table("2 writeback_delay 1.5"), "writeback_delay '1.5'", errno.EINVAL),
    (table("2 dirty_low 95"), "dirty_low 95: must be 0..94", errno.EINVAL),
    (table("2 dirty_high 0"), "dirty_high 0: must be 1..95", errno.EINVAL),
    (table("2 dirty_high 96"), "dirty_high 96: must be 1..95", errno.EINVAL),
    (table("2 dirty_high 100%"), "dirty_high '100%'", errno.EINVAL),
    (table("4 dirty_low 50 dirty_high 50"), "dirty_low 50 must be below dirty_high 50", errno.EINVAL),
    (table("4 dirty_high 10 dirty_low 50"), "dirty_low 50 must be below dirty_high 10", errno.EINVAL),
    (table(cache="/dev/nothing"), "cache device cannot be opened", errno.ENOENT),
    (table(origin="/dev/nothing"), "origin cannot be opened", errno.ENOENT),
    (table(cache="7:255"), "cache device cannot be opened", errno.ENXIO),
    (table(cache="/etc/passwd"), "cache device cannot be opened", errno.ENOTBLK),
    (table(cache="/dev/null"), "cache device cannot be opened", errno.ENOTBLK),
    (table(origin="/dev"), "origin cannot be opened", errno.ENOTBLK),
    (table(cache=FAST, origin=FAST, length=CACHE_MB * 2048), "are the same device", errno.EINVAL),
    (table(length=ORIGIN - 1), "length is not the size of the origin", errno.EINVAL),
    (table(length=ORIGIN - 8), "length is not the size of the origin", errno.EINVAL),
    (table(length=1), "length is not the size of the origin", errno.EINVAL),
    (table(length=ORIGIN + 8), "length is not the size of the origin|too small", errno.EINVAL),
    (table("1 format"), "format: the cache device is not zeroed", errno.EEXIST),
    (table(cache=SLOW, origin=FAST, length=CACHE_MB * 2048), "no magic", errno.ENODATA),
]


def table_cases():
    """On a formatted, stopped pair."""
    for line, cause, error in TABLES:
        before = state()
        LOG.lines()
        status, said = dmsetup("create", "c", "--table", line)
        judge(f"table: {line[:90]}", status, said, cause, before, error)
        if not status:
            dmsetup("remove", "c")

    before = state()
    LOG.lines()
    status, said = dmsetup("create", "c", "--readonly", "--table", table())
    judge("table: read only", status, said, "read-only table is not supported", before, errno.EROFS)

    # the log for a reload tells the same, and the live table stays
    need("create", "c", "--table", table())
    for line, cause, error in TABLES[3:40:3]:
        before = state()
        LOG.lines()
        status, said = dmsetup("reload", "c", "--table", line)
        judge(f"reload: {line[:90]}", status, said, cause, before, error)
        dmsetup("clear", "c")
    for length in (ORIGIN - 8, ORIGIN + 8):
        before = state()
        LOG.lines()
        status, said = dmsetup("reload", "c", "--table", table(length=length))
        judge(f"reload: {length - ORIGIN:+} sectors", status, said,
              "length is not the size of the origin|too small", before, errno.EINVAL)
        dmsetup("clear", "c")
    before = state()
    LOG.lines()
    status, said = dmsetup("reload", "c", "--table", table("1 format"))
    judge("reload: format", status, said, "format: the cache is active", before, errno.EBUSY)
    for what, line in (("both", table()), ("the cache", table(origin="/dev/other")),
                       ("the origin", table(cache="/dev/zeroed"))):
        before = state()
        LOG.lines()
        status, said = dmsetup("create", "d", "--table", line)
        judge(f"table: {what} in use by another", status, said,
              "already part of the cache", before, errno.EBUSY)
        dmsetup("remove", "d")
    need("remove", "c")


# ---- messages and sysfs ----------------------------------------------------------------

MESSAGES = [
    ("frobnicate", "no message 'frobnicate'"),
    ("FLUSH", "no message 'FLUSH'"),
    ("x" * 300, "no message 'x{10,}"),
    ("%s%s%n", "no message '%s%s%n'"),
    ("flush now", "flush takes no argument, 1 given"),
    ("cancel-flush 1", "cancel-flush takes no argument"),
    ("drop-clean 1 2", "drop-clean takes no argument, 2 given"),
    ("reset-stats x", "reset-stats takes no argument"),
    ("set", "set takes two arguments"),
    ("set mode", "set takes two arguments"),
    ("set mode writeback now", "set takes two arguments"),
    ("set x 1", "unknown option 'x'"),
    ("set format 1", "unknown option 'format'"), ("set keep_dirty 1", "unknown option 'keep_dirty'"),
    ("set mode fast", "mode 'fast'"),
    ("set seq_cutoff -1", "seq_cutoff '-1'"),
    ("set seq_cutoff 1073741825", "seq_cutoff 1073741825: must be"),
    ("set writeback_delay 3601", "writeback_delay 3601: must be"),
    ("set dirty_low 60", "dirty_low 60 must be below dirty_high 60"),
    ("set dirty_high 0", "dirty_high 0: must be"),
    ("set dirty_high 96", "dirty_high 96: must be"),
]

SYSFS = [
    ("mode", "fast", "mode 'fast'"), ("mode", "", "mode ''"), ("mode", "writeback writeback", "mode '"),
    ("mode", "1", "mode '1'"), ("seq_cutoff", "", "seq_cutoff ''"), ("seq_cutoff", "x", "seq_cutoff 'x'"),
    ("seq_cutoff", "1 2", "seq_cutoff '1 2'"), ("seq_cutoff", "-5", "seq_cutoff '-5'"),
    ("seq_cutoff", "9" * 4000, "seq_cutoff '9+'"),
    ("writeback_delay", "1s", "writeback_delay '1s'"), ("writeback_delay", "4000", "must be 0..3600"),
    ("dirty_low", "95", "dirty_low 95: must be"), ("dirty_low", "70", "must be below dirty_high"),
    ("dirty_high", "0", "dirty_high 0: must be"), ("dirty_high", "\n", "dirty_high ''"),
]


def live_cases():
    """On an active cache."""
    need("create", "c", "--table", table())
    for words, cause in MESSAGES:
        before = state()
        LOG.lines()
        status, said = dmsetup("message", "--", "c", "0", *words.split())
        judge(f"message: {words[:60]}", status, said, cause, before, errno.EINVAL)
    minor = need("info", "-c", "--noheadings", "-o", "minor", "c").strip()
    folder = f"/sys/block/dm-{minor}/optcache"
    for key, value, cause in SYSFS:
        before = state()
        LOG.lines()
        status, said = 0, ""
        try:
            # one write, once: a file object would try again when it is closed
            fd = os.open(f"{folder}/{key}", os.O_WRONLY)
            try:
                os.write(fd, (value or "\n").encode())
            finally:
                os.close(fd)
        except OSError as error:
            status, said = 1, os.strerror(error.errno)
        judge(f"sysfs: {key} = {value[:30]!r}", status, said, cause, before, errno.EINVAL)
    for name in ("dirty", "mode", "slots", "lost"):
        path = f"{folder}/stats/{name}"
        writable = os.path.exists(path) and os.stat(path).st_mode & 0o222
        RESULTS.add(f"sysfs: stats/{name} cannot be written",
                    ["it is writable"] if writable else [])
    # a suspended cache cannot be told to do what needs a running one
    need("suspend", "c")
    for words in ("flush", "cancel-flush", "drop-clean"):
        LOG.lines()
        status, said = dmsetup("message", "c", "0", words)
        log = LOG.lines()
        problems = []
        if not status:
            problems.append("accepted")
        if len(log) != 1 or "not active" not in log[0]:
            problems.append(f"the log: {log}")
        RESULTS.add(f"message: {words} while suspended", problems)
    need("resume", "c")
    need("remove", "c")


# ---- superblock -----------------------------------------------------------------------

BIG = 1 << 63
SUPERS = [
    # fields, cause
    ("magic=OPTCACHE", "no magic"), ("magic=", "no magic"), ("version=0", "format version"),
    ("version=2", "format version"), ("version=4294967295", "format version"),
    ("features_incompat=1", "unknown feature"), (f"features_incompat={BIG}", "unknown feature"),
    ("seq=0", "counter is zero"), ("tail_lsn=0", "counter is zero"), ("tail_epoch=0", "counter is zero"),
    ("cache_sectors=0", "size of the cache device|beyond"),
    ("cache_sectors=8", "beyond the cache device"), ("cache_sectors=-8", "beyond the cache device"),
    ("cache_sectors=+8192", "shrunk|beyond"), (f"cache_sectors={BIG}", "size of the cache device"),
    ("origin_sectors=0", "size of the origin"), ("origin_sectors=+8", "made for an origin of"),
    ("origin_sectors=-1 nr_samples=0", "made for an origin of"),
    ("origin_sectors=1 nr_samples=0", "made for an origin of"),
    (f"origin_sectors={BIG}", "size of the origin"),
    ("journal_start=0", "overlaps the superblocks"), ("journal_start=4096", "overlaps the superblocks"),
    ("journal_start=+512", "not aligned"), ("journal_start=+4096", "overlaps the table"),
    (f"journal_start={BIG}", "beyond the cache device"),
    ("journal_size=0", "journal is too small"), ("journal_size=4096", "journal is too small"),
    ("journal_size=+4096", "overlaps the table"), ("journal_size=+1", "not aligned"),
    (f"journal_size={(1 << 64) - 4096}", "beyond the cache device"),
    ("table_start=0", "overlaps the table"), ("table_start=-4096", "overlaps the table"),
    ("table_start=+4096", "overlaps the slots"), ("table_start=+8", "not aligned"),
    (f"table_start={BIG}", "beyond the cache device"),
    ("data_start=0", "overlaps the slots"), ("data_start=-4096", "overlaps the slots"),
    ("data_start=+4096", "slots reach beyond"), ("data_start=+512", "not aligned"),
    (f"data_start={(1 << 64) - 4096}", "beyond the cache device"),
    ("nr_slots=0", "number of slots"), ("nr_slots=63", "number of slots"),
    ("nr_slots=+1", "slots reach beyond|overlaps the slots"),
    ("nr_slots=2147483648", "number of slots"), ("nr_slots=4294967295", "number of slots"),
    ("nr_slots=2147483647", "overlaps the slots|slots reach beyond"),
    ("journal_unit=0", "journal unit"), ("journal_unit=1024", "journal unit"),
    ("slot_size=0", "slot size"), ("slot_size=8192", "slot size"), ("slot_size=512", "slot size"),
    ("flags=8", "unknown flag"), ("flags=2147483648", "unknown flag"), ("flags=2", "has failed"),
    ("epoch=0", "tail is newer"), ("tail_epoch=+100", "tail is newer"),
    ("tail_offset=+65536", "outside the journal"), ("tail_offset=100", "not aligned"),
    (f"tail_offset={BIG}", "outside the journal"),
    ("nr_samples=49", "too many samples"), ("nr_samples=4294967295", "too many samples"),
    ("nr_samples=1 sample0_sectors=0", "senseless length"),
    ("nr_samples=1 sample0_sectors=2049", "senseless length"),
    (f"nr_samples=1 sample0_sector={ORIGIN - 7} sample0_sectors=8", "outside the origin"),
    (f"nr_samples=1 sample0_sector={BIG} sample0_sectors=8", "outside the origin"),
    ("nr_samples=2 sample0_sector=0 sample0_sectors=9 sample1_sector=8 sample1_sectors=8",
     "samples of the origin overlap"),
]


def read_image():
    """All of the cache device."""
    with open(FAST, "rb") as dev:
        return dev.read()


def write_image(data):
    """Back to it."""
    with open(FAST, "r+b") as dev:
        dev.write(data)
        os.fsync(dev.fileno())


def refused_start(what, cause, error):
    """Creating must fail, and change nothing."""
    before = state()
    LOG.lines()
    status, said = dmsetup("create", "c", "--table", table())
    judge(what, status, said, cause, before, error)
    dmsetup("remove", "c")


def damage(words, **how):
    """Of the superblock."""
    image = Image(FAST)
    newest = image.newest()
    for copy in (0, 1):
        block = Block(SUPER, newest.data)
        assign(block, words, **how)
        image.write(copy * PAGE, block)
    image.close()


def why_errno(cause):
    """The errno that belongs to a text of the superblock's checks."""
    if "magic" in cause:
        return errno.ENODATA
    if "format version" in cause or "unknown feature" in cause:
        return errno.EPROTONOSUPPORT
    if "made for an origin" in cause or "has failed" in cause:
        return errno.EINVAL
    if "shrunk" in cause:
        return errno.EINVAL
    return errno.EUCLEAN


def super_cases(good):
    """Fields with right checksums, then without."""
    for words, cause in SUPERS:
        write_image(good)
        damage(words.split())
        refused_start(f"superblock: {words}", cause, why_errno(cause))
    for words in ("version=1", "seq=+1", "nr_slots=+1"):
        write_image(good)
        damage(words.split(), bad_crc=True)
        if words != "version=1":
            refused_start(f"superblock, both checksums wrong: {words}", "wrong checksum", errno.EBADMSG)
    # one copy may be gone, whichever, and however
    for copy in (0, 1):
        for what, junk in (("zeroes", bytes(PAGE)), ("ones", b"\xff" * PAGE),
                           ("half", None)):
            write_image(good)
            image = Image(FAST)
            block = image.super(copy)
            data = junk or bytes(block.data[:512]) + bytes(PAGE - 512)
            os.pwrite(image.fd, data if junk else data[:100] + b"\1" + data[101:], copy * PAGE)
            image.close()
            status, said = dmsetup("create", "c", "--table", table())
            RESULTS.add(f"superblock: copy {copy} is {what}, the other one does",
                        [said] if status else [])
            if not status:
                need("remove", "c")
    for what, data in (("zeroes", bytes(len(good))), ("ones", b"\xff" * len(good))):
        write_image(data)
        refused_start(f"cache device: {what}", "no magic", errno.ENODATA)
    # two caches' halves
    write_image(good)
    image = Image(FAST)
    block = image.super(0)
    assign(block, ["uuid=otherotherother1", "seq=+5"])
    image.write(0, block)
    image.close()
    refused_start("superblock: copies of two caches", "belong to two caches", errno.EUCLEAN)
    # one that does not know the device's sectors
    write_image(good)


# ---- table pages and journal --------------------------------------------------------------

MAPPED, DIRTY, VALID = 1 << 48, 1 << 49, 0xFF << 40
PAGES = [
    ("entry0=1", "page 0 is damaged"),
    (f"entry0={MAPPED}", "page 0 is damaged"),
    (f"entry0={MAPPED | VALID | (1 << 50)}", "page 0 is damaged"),
    (f"entry0={MAPPED | VALID | (ORIGIN // 8)}", "page 0 is damaged"),
    (f"entry0={MAPPED | VALID | ((1 << 40) - 1)}", "page 0 is damaged"),
    (f"entry0={MAPPED | VALID | DIRTY | 7} entry1={MAPPED | VALID | DIRTY | 7}", "claims a block"),
    (f"entry0={MAPPED | VALID | 7} entry300={MAPPED | VALID | DIRTY | 7}", "claims a block"),
    ("magic=0", "page 0 is damaged"), ("page=1", "page 0 is damaged"),
]


def page_cases(good):
    """Damaged mapping tables."""
    for words, cause in PAGES:
        write_image(good)
        image = Image(FAST)
        for place in (0, 1):
            offset = image.page_offset(0, place)
            block = image.read(offset, TABLE)
            if block["magic"] == 0:
                block = Block(TABLE, image.read(image.page_offset(0, 1 - place), TABLE).data)
            assign(block, words.split())
            image.write(offset, block)
        image.close()
        refused_start(f"table page: {words[:80]}", cause,
                      errno.EBADMSG if "magic" in words or "page=" in words else errno.EUCLEAN)
    write_image(good)
    image = Image(FAST)
    for place in (0, 1):
        offset = image.page_offset(0, place)
        os.pwrite(image.fd, b"\x5a" * 100, offset + 1000)
    image.close()
    refused_start("table page: both places torn", "page 0 is damaged", errno.EBADMSG)


def mixed_sectors(good):
    """A cache made on 512-byte sectors, copied to a device that has 4096."""
    order("add name=fast4k model=ram lbs=4096 size_mb=%d" % CACHE_MB)
    order("add name=slow4k model=ram lbs=4096 size_mb=%d" % ORIGIN_MB)
    with open("/dev/fast4k", "r+b") as dev:
        dev.write(good)
        os.fsync(dev.fileno())
    LOG.lines()
    status, said = dmsetup("create", "c", "--table",
                           table(cache="/dev/fast4k", origin="/dev/slow4k"))
    problems = [] if status else ["it was accepted"]
    log = LOG.lines()
    if status and not any("sector" in line or "journal unit" in line for line in log):
        problems.append(f"the log does not tell: {log} {said}")
    dmsetup("remove", "c")
    RESULTS.add("superblock: journal unit below the device's sectors", problems)


def saved_options(good):
    """Options out of range in the superblock: told, and the defaults count; and what table
    and superblock say together must be legal."""
    for words in ("option_mask=1 option0=9", "option_mask=2 option1=99999999999",
                  "option_mask=24 option3=50 option4=10", "option_mask=8 option3=90"):
        write_image(good)
        damage(words.split())
        LOG.lines()
        status, said = dmsetup("create", "c", "--table", table())
        log = LOG.lines()
        problems = [said] if status else []
        if not any("saved options are ignored" in line for line in log):
            problems.append(f"the log: {log}")
        line = "" if status else need("status", "c")
        if not status and "dirty_low=0 dirty_high=60" not in line:
            problems.append(line)
        dmsetup("remove", "c")
        RESULTS.add(f"saved options: {words}", problems)
    write_image(good)
    damage("option_mask=16 option4=10".split())
    LOG.lines()
    status, said = dmsetup("create", "c", "--table", table("2 dirty_low 50"))
    problems = []
    if not status:
        line = need("status", "c")
        low, high = (int(re.search(rf"{k}=(\d+)", line)[1]) for k in ("dirty_low", "dirty_high"))
        if low >= high:
            problems.append(f"dirty_low {low}, dirty_high {high} are in force")
    elif not any("must be below" in line for line in LOG.lines()):
        problems.append(f"no reason in the log: {said}")
    dmsetup("remove", "c")
    RESULTS.add("table's dirty_low against saved dirty_high", problems)
    write_image(good)


def main():
    """All of it."""
    order(f"add name=fast model=ram size_mb={CACHE_MB}")
    order(f"add name=slow model=ram size_mb={ORIGIN_MB}")
    order(f"add name=other model=ram size_mb={ORIGIN_MB}")
    order(f"add name=zeroed model=ram size_mb={CACHE_MB}")
    with open(SLOW, "r+b") as dev:
        dev.write(os.urandom(ORIGIN_MB << 20))
        os.fsync(dev.fileno())
    need("create", "c", "--table", table("1 format"))
    need("message", "c", "0", "set", "writeback_delay", "3600")
    with open("/dev/mapper/c", "r+b") as dev:
        dev.write(os.urandom(1 << 20))
        os.fsync(dev.fileno())
    need("remove", "c")
    good = read_image()
    table_cases()
    write_image(good)
    live_cases()
    for cases in (super_cases, page_cases, mixed_sectors, saved_options):
        write_image(good)
        cases(good)
    write_image(good)
    status, said = dmsetup("create", "c", "--table", table())
    RESULTS.add("after all this the good image starts", [said] if status else [])
    dmsetup("remove", "c")
    for name in ("fast4k", "slow4k", "fast", "slow", "other", "zeroed"):
        order(f"del {name}")
    print("# all cases were run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
