# SPDX-License-Identifier: GPL-2.0-only
"""Bad command lines and bad images: exact exit code, one line, nothing written."""
import os
import socket
import subprocess

import image
from harness import FAKE, REAL, expect_error

USAGE, DATA, NOINPUT, UNAVAILABLE, OS_, REFUSED, IO, TEMP, PERM = \
    64, 65, 66, 69, 71, 73, 74, 75, 77
MIB = 1 << 20

# name, arguments, exit code, what, next step.  No device-mapper is needed to refuse these.
OFFLINE = [
    # the verb
    ("no verb", [], USAGE, "no verb", "--help"),
    ("unknown verb", ["frobnicate"], USAGE, "'frobnicate' is unknown", "--help"),
    ("empty verb", [""], USAGE, "verb '' is unknown", "--help"),
    ("option in place of the verb", ["--force", "format"], USAGE, "--force is unknown", "--help"),
    ("verb in capitals", ["FORMAT", "empty", "origin"], USAGE, "'FORMAT'", "--help"),
    ("newline in the verb", ["for\nmat"], USAGE, r"'for\?mat'", "--help"),
    # options
    ("unknown long option", ["format", "--frob", "empty", "origin"], USAGE, "--frob", "format --help"),
    ("unknown short option", ["format", "-X", "empty", "origin"], USAGE, "-X", "format --help"),
    ("value for a flag", ["format", "--force=1", "empty", "origin"], USAGE, "--force=1", "--help"),
    ("option without its value", ["format", "empty", "origin", "--mode"], USAGE,
     "--mode needs a value", "format --help"),
    ("short option without its value", ["format", "empty", "origin", "-m"], USAGE,
     "-m needs a value", "format --help"),
    ("--json where there is none to print", ["check", "--jsonx", "cache"], USAGE, "--jsonx", "--help"),
    ("ambiguous abbreviation", ["format", "--", "empty"], USAGE, "too few arguments", "--help"),
    # number of arguments
    ("format without arguments", ["format"], USAGE, "too few.*CACHE_DEV ORIGIN_DEV", "--help"),
    ("format with one argument", ["format", "empty"], USAGE, "too few", "--help"),
    ("format with three arguments", ["format", "empty", "origin", "more"], USAGE, "too many.*'more'", "--help"),
    ("format with an empty name", ["format", "", "origin"], USAGE, "empty", "--help"),
    ("check without arguments", ["check"], USAGE, "too few.*CACHE_DEV", "--help"),
    ("check with two arguments", ["check", "cache", "cache"], USAGE, "too many", "--help"),
    ("dump without arguments", ["dump"], USAGE, "too few", "--help"),
    ("dump with two arguments", ["dump", "cache", "origin"], USAGE, "too many", "--help"),
    ("create without arguments", ["create"], USAGE, "too few", "--help"),
    ("create with one argument", ["create", "empty"], USAGE, "too few", "--help"),
    ("attach without arguments", ["attach"], USAGE, "too few", "--help"),
    ("detach without arguments", ["detach"], USAGE, "too few", "--help"),
    ("detach with two names", ["detach", "a", "b"], USAGE, "too many", "--help"),
    ("list with an argument", ["list", "fast"], USAGE, "too many.*expected none", "--help"),
    ("status with two names", ["status", "a", "b"], USAGE, "too many", "--help"),
    ("stats without a name", ["stats"], USAGE, "too few", "--help"),
    ("set without arguments", ["set"], USAGE, "too few", "--help"),
    ("set with a name only", ["set", "fast"], USAGE, "too few.*NAME KEY VALUE", "--help"),
    ("mode without a mode", ["mode", "fast"], USAGE, "too few", "--help"),
    ("flush without a name", ["flush"], USAGE, "too few", "--help"),
    # values
    ("unknown mode", ["format", "--mode", "writesideways", "empty", "origin"], USAGE,
     "'writesideways': must be one of writeback", r"optcachectl\(8\)"),
    ("setting without =", ["format", "--set", "dirty_low", "empty", "origin"], USAGE,
     "'dirty_low' is no setting", "key=value"),
    ("setting without value", ["format", "--set", "dirty_low=", "empty", "origin"], USAGE,
     "no setting", "key=value"),
    ("setting without key", ["format", "--set", "=5", "empty", "origin"], USAGE, "no setting", "key=value"),
    ("setting with an unknown key", ["format", "--set", "colour=red", "empty", "origin"], USAGE,
     "'colour', known are mode", r"\(8\)"),
    ("setting out of range", ["format", "--set", "dirty_high=96", "empty", "origin"], USAGE,
     "dirty_high 96: must be 1..95", r"\(8\)"),
    ("setting that is no number", ["format", "--set", "writeback_delay=soon", "empty", "origin"],
     USAGE, "writeback_delay 'soon'", r"\(8\)"),
    ("negative setting", ["format", "--set", "dirty_low=-1", "empty", "origin"], USAGE, "'-1'", r"\(8\)"),
    ("setting that overflows", ["format", "--set", "writeback_delay=99999999999999999999", "empty",
     "origin"], USAGE, "writeback_delay", r"\(8\)"),
    ("settings that contradict each other",
     ["format", "--set", "dirty_low=70", "--set", "dirty_high=50", "empty", "origin"], USAGE,
     "dirty_low.*below dirty_high", r"\(8\)"),
    ("very long setting", ["format", "--set", "k" * 5000 + "=1", "empty", "origin"], USAGE, "no setting", "key=value"),
    ("set: unknown key", ["set", "fast", "colour", "red"], USAGE, "colour", r"\(8\)"),
    ("set: out of range", ["set", "fast", "dirty_low", "95"], USAGE, "0..94", r"\(8\)"),
    ("set: two settings in the long form", ["set", "fast", "dirty_low", "1", "dirty_high"], USAGE,
     "no setting", "key=value"),
    ("set: --show with a setting", ["set", "--show", "fast", "dirty_low=1"], USAGE, "--show", "--show"),
    ("mode: unknown", ["mode", "fast", "turbo"], USAGE, "'turbo'", r"\(8\)"),
    ("name with a blank", ["create", "--name", "my cache", "empty", "origin"], USAGE, "'my cache'", "another"),
    ("name with a slash", ["create", "--name", "a/b", "empty", "origin"], USAGE, "'a/b'", "another"),
    ("name of dots", ["create", "--name", "..", "empty", "origin"], USAGE, r"'\.\.'", "another"),
    ("empty name", ["create", "--name", "", "empty", "origin"], USAGE, "''", "another"),
    ("very long name", ["create", "--name", "n" * 200, "empty", "origin"], USAGE, "nnn", "another"),
    ("attach: name with a blank", ["attach", "--name", "a b", "empty", "origin"], USAGE, "'a b'", "another"),
    ("status of a bad name", ["status", "my cache"], USAGE, "no name of a cache", "list"),
    ("flush: timeout of zero", ["flush", "--timeout", "0", "fast"], USAGE, "--timeout '0'", "range"),
    ("flush: timeout that is no number", ["flush", "--timeout", "1m", "fast"], USAGE, "'1m'", "range"),
    ("stats: interval of zero", ["stats", "--interval", "0", "fast"], USAGE, "--interval", "range"),
    ("stats: negative interval", ["stats", "--interval", "-1", "fast"], USAGE, "'-1'", "range"),
    ("stats: count without interval", ["stats", "--count", "3", "fast"], USAGE, "--count", "--interval"),
    ("detach: keep and wipe", ["detach", "--keep", "--wipe", "fast"], USAGE, "exclude", "one of"),
    # devices that are none
    ("format: missing cache device", ["format", "missing", "origin"], NOINPUT, "missing.*No such file", "lsblk"),
    ("format: missing origin", ["format", "empty", "missing"], NOINPUT, "missing.*No such file", "lsblk"),
    ("check: missing device", ["check", "missing"], NOINPUT, "missing", "lsblk"),
    ("dump: missing device", ["dump", "missing"], NOINPUT, "missing", "lsblk"),
    ("check: path through a file", ["check", "cache/x"], NOINPUT, "Not a directory", "lsblk"),
    ("check: loop of links", ["check", "looped"], NOINPUT, "symbolic links", "lsblk"),
    ("check: a folder", ["check", "folder"], NOINPUT, "a directory", "lsblk"),
    ("check: a pipe", ["check", "pipe"], NOINPUT, "a pipe", "lsblk"),
    ("check: a socket", ["check", "socket"], NOINPUT, "a socket", "lsblk"),
    ("check: a character device", ["check", "/dev/null"], NOINPUT, "a character device", "lsblk"),
    ("format: a folder", ["format", "folder", "origin"], NOINPUT, "a directory", "lsblk"),
    ("format: name with control characters", ["format", "a\x1b[2Jb", "origin"], NOINPUT, r"a\?\[2Jb", "lsblk"),
    ("create: an image", ["create", "empty", "origin"], NOINPUT, "plain file", "losetup"),
    ("create: /dev/null", ["create", "/dev/null", "origin"], NOINPUT, "character device", "lsblk"),
    ("create: twice the same name", ["create", "empty", "empty"], REFUSED, "of itself", "cache device first"),
    ("attach: an image", ["attach", "cache", "origin"], NOINPUT, "plain file", "losetup"),
    # what format must not overwrite
    ("format: cache and origin are one", ["format", "empty", "empty"], REFUSED, "of itself", "cache device first"),
    ("format: the same by another name", ["format", "empty", "link"], REFUSED, "of itself", "cache device first"),
    ("format: an ext4 file system", ["format", "ext4", "origin"], REFUSED, "ext4 file system", "--force"),
    ("format: a labelled file system", ["format", "labelled", "origin"], REFUSED, "labelled 'home'", "--force"),
    ("format: an xfs file system", ["format", "xfs", "origin"], REFUSED, "xfs", "--force"),
    ("format: a GPT", ["format", "gpt", "origin"], REFUSED, r"partition table \(gpt\)", "--force"),
    ("format: an MBR", ["format", "mbr", "origin"], REFUSED, r"partition table \(dos\)", "--force"),
    ("format: LUKS", ["format", "luks", "origin"], REFUSED, "crypto_LUKS", "--force"),
    ("format: swap space", ["format", "swap", "origin"], REFUSED, "swap", "--force"),
    ("format: a clean cache", ["format", "cache", "origin"], REFUSED, "its disk has all", "attach"),
    ("format: a dirty cache", ["format", "used", "origin"], REFUSED,
     r"data that its disk does not have", "writeback"),
    ("format: a damaged cache", ["format", "nosuper", "origin"], REFUSED, "damaged", "--force"),
    ("format: a cache of a newer version", ["format", "newer", "origin"], REFUSED, "damaged|optcache", "--force"),
    ("format --force without a terminal", ["format", "--force", "ext4", "origin"], REFUSED,
     "erases ext4.*no terminal", "--yes"),
    ("format --force on a dirty cache", ["format", "--force", "used", "origin"], REFUSED,
     "does not have.*no terminal", "--yes"),
    ("format: cache device too small", ["format", "small", "origin"], REFUSED, "too small", "another device"),
    ("format: empty cache file", ["format", "zero", "origin"], REFUSED, "too small", "another device"),
    ("format: empty origin", ["format", "empty", "zero"], REFUSED, "origin is empty", "another device"),
    ("format: origin too large", ["format", "empty", "huge"], REFUSED, "4 PiB", "another device"),
    # images that check and dump cannot read
    ("check: an empty image", ["check", "empty"], DATA, "no superblock", "format"),
    ("check: a file system", ["check", "ext4"], DATA, "no superblock", "format"),
    ("check: an image of 0 bytes", ["check", "zero"], DATA, "too small", "format"),
    ("check: an image of 4 KiB", ["check", "page"], DATA, "too small", "format"),
    ("check: a newer format", ["check", "newer"], DATA, "newer", "Update"),
    ("check: an unknown feature", ["check", "feature"], DATA, "newer", "Update"),
    ("dump: an empty image", ["dump", "empty"], DATA, "no superblock", "format"),
    ("dump: an image of 4 KiB", ["dump", "page"], DATA, "too small", "format"),
    ("dump: a newer format", ["dump", "newer"], DATA, "newer", "Update"),
    ("dump: both superblocks damaged", ["dump", "nosuper"], DATA, "wrong checksum", "check"),
    ("dump: senseless superblocks", ["dump", "senseless"], DATA, "overlaps", "check"),
    ("dump --json: both superblocks damaged", ["dump", "--json", "nosuper"], DATA, "wrong checksum", "check"),
]

# The same, with what the simulated device-mapper says.  control, device fields, arguments, ...
ACTIVE = [
    ("list without device-mapper", {"dm": "absent"}, ["list"], UNAVAILABLE, "no device-mapper", "modprobe"),
    ("status without device-mapper", {"dm": "absent"}, ["status"], UNAVAILABLE, "no device-mapper", "modprobe"),
    ("flush without device-mapper", {"dm": "absent"}, ["flush", "fast"], UNAVAILABLE, "no device-mapper", "modprobe"),
    ("set without device-mapper", {"dm": "absent"}, ["set", "fast", "dirty_low", "1"], UNAVAILABLE,
     "no device-mapper", "modprobe"),
    ("detach without device-mapper", {"dm": "absent"}, ["detach", "fast"], UNAVAILABLE, "no device-mapper", "modprobe"),
    ("list not as root", {"dm": "denied"}, ["list"], PERM, "not root", "root"),
    ("status of what is not there", {}, ["status", "slow"], NOINPUT, "no active cache 'slow'", "list"),
    ("status of another target", {}, ["status", "other"], NOINPUT, "another dm target", "list"),
    ("stats of what is not there", {}, ["stats", "slow"], NOINPUT, "'slow'", "list"),
    ("set on what is not there", {}, ["set", "slow", "dirty_low", "1"], NOINPUT, "'slow'", "list"),
    ("mode of what is not there", {}, ["mode", "slow", "writeback"], NOINPUT, "'slow'", "list"),
    ("flush of what is not there", {}, ["flush", "slow"], NOINPUT, "'slow'", "list"),
    ("detach of what is not there", {}, ["detach", "slow"], NOINPUT, "'slow'", "list"),
    ("detach of a path that is not there", {}, ["detach", "/dev/mapper/slow"], NOINPUT, "slow", "list"),
    ("detach of a device nobody caches", {}, ["detach", "/dev/null"], NOINPUT, "no active cache uses", "list"),
    ("set against what is in force", {}, ["set", "fast", "dirty_high", "20"], USAGE,
     "dirty_low 30 must be below", r"\(8\)"),
    ("detach while mounted", {}, ["detach", "mounted"], TEMP, "in use.*nothing was changed", "Unmount"),
]


def fixtures(box):
    size = 5 * MIB
    box.file("empty", size)
    box.file("origin", 4 * MIB)
    box.file("ext4", size, image.ext4)
    box.file("labelled", size, lambda p: image.ext4(p, b"home"))
    box.file("gpt", size, lambda p: image.gpt(p, size))
    box.file("mbr", size, lambda p: image.mbr(p, size))
    box.file("luks", size, image.luks)
    box.file("swap", size, image.swap)
    box.file("xfs", size, lambda p: xfs(p, size))
    box.file("small", 256 << 10)
    box.file("page", 4096)
    box.file("zero", 0)
    box.file("cache", size)
    r = box.run("format", "cache", "origin")
    assert r.code == 0, r
    box.copy("cache", "used")
    box.file("disk", 40 * MIB)
    r = box.run("format", "--force", "--yes", "used", "disk")
    assert r.code == 0, r
    box.used_mapping, box.used_offsets = image.used(box.path("used"))
    for name, change in {
            "nosuper": lambda im: (im.flip(300), im.flip(4096 + 300)),
            "newer": lambda im: im.set_super(version=2),
            "feature": lambda im: im.set_super(incompat=1 << 40),
            "senseless": lambda im: im.set_super(journal_size=1 << 22)}.items():
        box.copy("cache", name)
        with image.Image(box.path(name)) as im:
            change(im)
    os.mkdir(box.path("folder"))
    os.mkfifo(box.path("pipe"))
    os.symlink("empty", box.path("link"))
    os.symlink("looped", box.path("looped"))
    sock = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(box.dir)
    sock.bind("socket")
    os.chdir(here)
    sock.close()


def xfs(path, size):
    """Only what libblkid looks at."""
    raw = bytearray(512)
    raw[0:4] = b"XFSB"
    raw[4:8] = (4096).to_bytes(4, "big")
    raw[8:16] = (size // 4096).to_bytes(8, "big")
    raw[32:48] = b"0123456789abcdef"
    raw[80:84] = (1).to_bytes(4, "big")                 # rextsize
    raw[84:88] = (size // 4096).to_bytes(4, "big")      # agblocks
    raw[88:92] = (1).to_bytes(4, "big")                 # agcount
    raw[100:102] = (0xB4A4).to_bytes(2, "big")
    raw[102:104] = (512).to_bytes(2, "big")
    raw[104:106] = (512).to_bytes(2, "big")
    raw[106:108] = (8).to_bytes(2, "big")
    raw[120:128] = bytes([12, 9, 9, 3, (size // 4096 - 1).bit_length(), 0, 0, 25])
    with open(path, "r+b") as f:
        f.write(raw)


def huge_file(box):
    """A sparse file of more than 4 PiB; ext4 has none, tmpfs has."""
    for path in (box.path("huge"), f"/dev/shm/optcachectl-huge-{os.getpid()}"):
        try:
            with open(path, "wb") as f:
                f.truncate((4 << 50) + 4096)
        except OSError:
            if os.path.exists(path):
                os.unlink(path)
            continue
        if path != box.path("huge"):
            os.symlink(path, box.path("huge"))
        return path
    return None


def run(tap, box):
    huge = huge_file(box)
    for tool, label in ((FAKE, "sanitized"), (REAL, "plain")):
        for name, argv, code, what, then in OFFLINE:
            if "huge" in argv and not huge:
                tap.skip(f"{label}: {name}", "this file system holds no file of 4 PiB")
            else:
                expect_error(tap, box, f"{label}: {name}", argv, code, what, then, tool=tool)
    if huge:
        os.unlink(huge)

    from harness import status
    box.device("fast", status=status(dirty_low=30))
    box.device("mounted", open=1)
    box.device("other", target="linear")
    for name, control, argv, code, what, then in ACTIVE:
        box.control(**control)
        expect_error(tap, box, name, argv, code, what, then)
    box.clear()

    if os.geteuid() == 0:
        box.copy("cache", "private")
        os.chmod(box.path("private"), 0)
        for argv in (["check", "private"], ["dump", "private"], ["format", "private", "origin"]):
            expect_error(tap, box, f"{argv[0]}: no permission", argv, PERM, "Permission denied",
                         "root", uid=65534)
        os.unlink(box.path("private"))
    else:
        for verb in ("check", "dump", "format"):
            tap.skip(f"{verb}: no permission", "needs root to become somebody else")
    attached(tap, box)


def attached(tap, box):
    """An image that a loop device shows is in use."""
    name = "format: an image behind a loop device"
    box.file("looped.img", 8 * MIB)
    p = subprocess.run(["losetup", "-f", "--show", box.path("looped.img")], capture_output=True,
                       text=True)
    if p.returncode:
        tap.skip(name, "no loop device")
        return
    loop = p.stdout.strip()
    try:
        expect_error(tap, box, name, ["format", "looped.img", "origin"], TEMP, "attached to loop",
                     "losetup")
    finally:
        subprocess.run(["losetup", "-d", loop], check=True)
        os.unlink(box.path("looped.img"))
