# SPDX-License-Identifier: GPL-2.0-only
"""Create and attach on loop devices (root), with the simulated device-mapper."""
import ctypes
import fcntl
import os
import re
import shutil
import stat
import struct
import subprocess

import image
from harness import expect_error

DATA, UNAVAILABLE, OS_, REFUSED, TEMP, PERM = 65, 69, 71, 73, 75, 77
MIB = 1 << 20
CHANGED = ("the origin was changed while this cache was not active, and 2147483647 dirty blocks are "
           "newer than what it held: attach with --keep-dirty (table word keep_dirty) to let them "
           "win, or give them up with create --force")


class Loops:
    """Loop devices that this test made, and only those."""

    def __init__(self):
        self.mine = []

    def add(self, path, *flags):
        p = subprocess.run(["losetup", *flags, "-f", "--show", path], capture_output=True, text=True)
        if p.returncode:
            return None
        self.mine.append(p.stdout.strip())
        return self.mine[-1]

    def drop(self, dev):
        subprocess.run(["losetup", "-d", dev], check=False)
        self.mine.remove(dev)

    def drop_all(self):
        for dev in list(self.mine):
            self.drop(dev)


def digest(dev):
    with open(dev, "rb") as f:
        return hash(f.read())


def creates(tap, box, cache, disk):
    def refused(name, argv, code, what, then, **control):
        box.control(**control)
        before = digest(cache), digest(disk)
        expect_error(tap, box, name, argv, code, what, then)
        if (digest(cache), digest(disk)) != before:
            tap.ok(False, f"{name}: devices unchanged")
        box.control()

    refused("create without the module", ["create", cache, disk], UNAVAILABLE,
            "optcache target", "modprobe", target="absent")
    refused("create without device-mapper", ["create", cache, disk], UNAVAILABLE, "no device-mapper",
            "modprobe", dm="absent")
    box.device("taken", target="linear")
    refused("create with a name that is taken", ["create", "--name", "taken", cache, disk], REFUSED,
            "'taken' is taken", "--name")
    box.clear()
    image.ext4(cache)
    refused("create over a file system", ["create", cache, disk], REFUSED, "ext4", "--force")
    with open(cache, "r+b") as f:
        f.write(bytes(8192))

    before = digest(disk)
    r = box.run("create", "--json", "--name", "fast", "--set", "dirty_low=5", "--mode",
                "writethrough", cache, disk)
    with open(os.path.join(box.dm, "fast")) as f:
        fields = dict(line.rstrip("\n").split("=", 1) for line in f)
    number = [f"{os.major(os.stat(d).st_rdev)}:{os.minor(os.stat(d).st_rdev)}" for d in (cache, disk)]
    uuid = r.json()["superblock"]["uuid"]
    tap.ok(r.code == 0 and fields["table"] == f"{number[0]} {number[1]} 4 mode writethrough dirty_low 5"
           and fields["uuid"] == f"OPTCACHE-{uuid}" and int(fields["sectors"]) * 512 == 40 * MIB,
           "create: table line, uuid, size", f"{r}\n{fields}")
    tap.ok(digest(disk) == before, "create leaves the disk as it is")
    tap.ok(box.run("list", "--json").json()["caches"][0]["cache"] == cache, "list shows device names")

    refused("create over an active cache's device", ["create", cache, disk], REFUSED,
            "already holds", "attach")
    r = box.run("attach", cache, disk)
    tap.ok(r.code == 0 and "already active" in r.out, "attach of an active pair", r)
    r = box.run("status", disk)
    tap.ok(r.code == 0 and r.out.startswith("fast"), "status by the path of the disk", r)
    r = box.run("detach", "--json", cache)
    tap.ok(r.code == 0 and not box.run("list").out, "detach by the path of the cache device", r)
    box.clear()


def attaches(tap, box, cache, disk, other):
    r = box.run("attach", cache, disk)
    tap.ok(r.code == 0 and "/dev/mapper/fast-loop" in r.out, "attach, default name", r)
    r = box.run("attach", cache, other)
    tap.ok(r.code == TEMP and "already belongs" in r.err, "attach of an active cache to another disk", r)
    box.clear()
    expect_error(tap, box, "attach to a disk of another size", ["attach", cache, other], REFUSED,
                 "is not the disk", "made for")
    for options, words in ((["--keep-dirty"], "1 keep_dirty"),
                           (["-K", "--mode", "passthrough"], "3 keep_dirty mode passthrough")):
        r = box.run("attach", "--name", "fast", *options, cache, disk)
        with open(os.path.join(box.dm, "fast")) as f:
            fields = dict(line.rstrip("\n").split("=", 1) for line in f)
        tap.ok(r.code == 0 and fields["table"].split(" ", 2)[2] == words,
               f"attach {' '.join(options)}: table line", f"{r}\n{fields}")
        box.clear()
    box.control(create=117, words="253:1: " + CHANGED)
    expect_error(tap, box, "attach that the kernel refuses: its own words", ["attach", cache, disk],
                 OS_, re.escape(CHANGED), "kernel log")
    box.control(create=16)
    expect_error(tap, box, "attach of a busy pair", ["attach", cache, disk], TEMP, "busy", "lsblk")
    box.clear()
    with image.Image(cache) as im:
        im.set_super(flags=image.FAILED)
    expect_error(tap, box, "attach of a failed cache", ["attach", cache, disk], DATA, "failed while", "format it anew")
    with image.Image(cache) as im:
        im.set_super(flags=0)
        im.flip(100)
        im.flip(4196)
    expect_error(tap, box, "attach of a damaged cache", ["attach", cache, disk], DATA,
                 "no usable superblock", "check")
    with open(cache, "r+b") as f:
        f.write(bytes(8192))
    expect_error(tap, box, "attach of an empty device", ["attach", cache, disk], DATA, "no superblock",
                 "format")


def add_partition(disk, start, length):
    """BLKPG_ADD_PARTITION: works without a partition table, and without its parser."""
    part = ctypes.create_string_buffer(struct.pack("<qqi64s64s4x", start, length, 1, b"", b""))
    arg = struct.pack("@iiiP", 1, 0, len(part), ctypes.addressof(part))
    with open(disk, "rb") as f:
        fcntl.ioctl(f, 0x1269, arg)


def partition_node(box, disk):
    """A node for the first partition, where no udev makes one."""
    try:
        add_partition(disk, MIB, 16 * MIB)
        with open(f"/sys/class/block/{os.path.basename(disk)}p1/dev") as f:
            number = os.makedev(*map(int, f.read().split(":")))
    except (OSError, TypeError):
        return None
    node = box.path("part1")
    os.mknod(node, 0o600 | stat.S_IFBLK, number)
    return node


def users(tap, box, loops, cache, disk):
    ro = loops.add(box.file("ro.img", 8 * MIB), "-r")
    if ro:
        expect_error(tap, box, "create on a read-only disk", ["create", cache, ro], PERM,
                     "read-only", "writable")
    box.file("parts.img", 64 * MIB)
    parts = loops.add(box.path("parts.img"), "-P")
    node = partition_node(box, parts)
    if node:
        expect_error(tap, box, "create with the cache on a partition of the disk",
                     ["create", node, parts], REFUSED, f"{node} lies on {parts}", "do not share")
        expect_error(tap, box, "create with the disk on a partition of the cache",
                     ["create", parts, node], REFUSED, f"{node} lies on {parts}", "do not share")
    else:
        tap.skip("create with overlapping devices", "no partitions on loop devices here")

    mkfs = shutil.which("mkfs.ext4", path="/sbin:/usr/sbin:/bin:/usr/bin")
    where = box.path("mnt")
    os.mkdir(where)
    if not mkfs or subprocess.run([mkfs, "-q", "-F", disk], capture_output=True).returncode or \
            subprocess.run(["mount", "-o", "ro", disk, where], capture_output=True).returncode:
        tap.skip("create on a mounted disk", "cannot mount here")
        return
    # read-only: or else ext4 writes when it likes, and the disk is not as it was
    try:
        expect_error(tap, box, "create on a mounted disk", ["create", cache, disk], TEMP,
                     f"mounted on {where}", "Unmount")
        expect_error(tap, box, "create with a mounted cache device", ["create", disk, cache], TEMP,
                     "mounted on", "Unmount")
        expect_error(tap, box, "format of a mounted device", ["format", "--force", "--yes", disk, cache],
                     TEMP, "mounted on", "Unmount")
        expect_error(tap, box, "check of a mounted device", ["check", disk], TEMP, "mounted on", "Unmount")
    finally:
        subprocess.run(["umount", where], check=True)
    before = digest(disk)
    r = box.run("create", cache, disk)
    tap.ok(r.code == 0 and digest(disk) == before, "create in front of a filled ext4 leaves it alone", r)
    box.clear()


def run(tap, box):
    if os.geteuid():
        tap.skip("create and attach", "needs root for loop devices")
        return
    loops = Loops()
    try:
        cache = loops.add(box.file("cache.img", 8 * MIB))
        disk = loops.add(box.file("disk.img", 40 * MIB))
        other = loops.add(box.file("other.img", 41 * MIB))
        if not cache or not disk or not other:
            tap.skip("create and attach", "no loop devices")
            return
        creates(tap, box, cache, disk)
        attaches(tap, box, cache, disk, other)
        users(tap, box, loops, cache, disk)
    finally:
        loops.drop_all()
