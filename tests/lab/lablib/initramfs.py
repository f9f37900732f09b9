# SPDX-License-Identifier: GPL-2.0-only
"""The QEMU guests' file system: a cpio archive with tools from this machine
and modules from the kernel's package.

The kernel unpacks several archives laid end to end, so the part that depends
on the kernel only is cached, and each run appends a small one with its job.
"""

import functools
import lzma
import pathlib
import re
import shutil
import stat
import subprocess
import time

from . import LabError, cache

GUEST = pathlib.Path(__file__).resolve().parent.parent / "guest"

# Programs every job may count on, besides busybox.
TOOLS = ("dmsetup", "fio", "mkfs.ext4", "e2fsck", "mkfs.xfs", "xfs_repair", "blkdiscard",
         "blockdev", "lsblk", "sha256sum", "make-bcache", "dash")

# Modules every job may load, with whatever they need themselves.
MODULES = ("crc32c_generic", "crc32c_intel", "dm-mod", "dm-bufio", "dm-flakey", "dm-delay",
           "dm-log-writes", "dm-cache", "dm-cache-smq", "dm-writecache", "bcache", "null_blk",
           "scsi_debug", "loop", "nvme", "virtio_pci", "virtio_scsi", "sd_mod", "ext4", "xfs",
           "9p", "9pnet_virtio", "configfs")

# A base archive that was not used for so long (its tools were upgraded) goes.
UNUSED_S = 24 * 3600


class Archive:
    """A cpio archive ("newc") in the making."""

    def __init__(self):
        self._out = []
        self._names = set()

    def _member(self, name, mode, data):
        self._names.add(name)
        fields = (len(self._names), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % f for f in fields) + name.encode() + b"\0"
        self._out += [head, b"\0" * (-len(head) % 4), data, b"\0" * (-len(data) % 4)]

    def directory(self, name):
        """Add directory NAME and its parents, once."""
        name = name.strip("/")
        if name and name not in self._names:
            self.directory(str(pathlib.PurePath(name).parent).strip("."))
            self._member(name, stat.S_IFDIR | 0o755, b"")

    def file(self, name, data, mode=0o644):
        """Add file NAME holding DATA; the first of a name wins."""
        name = name.strip("/")
        if name in self._names:
            return
        self.directory(str(pathlib.PurePath(name).parent).strip("."))
        self._member(name, stat.S_IFREG | mode, data)

    def symlink(self, name, target):
        """Add symlink NAME -> TARGET."""
        name = name.strip("/")
        if name in self._names:
            return
        self.directory(str(pathlib.PurePath(name).parent).strip("."))
        self._member(name, stat.S_IFLNK | 0o777, target.encode())

    def program(self, path, name):
        """Add the program at PATH as NAME with the libraries it needs."""
        self.file(name, pathlib.Path(path).read_bytes(), 0o755)
        for library in libraries(path):
            self.file(str(library), library.read_bytes(), 0o755)

    def write(self, path):
        """Close the archive and write it to PATH; returns PATH."""
        self._member("TRAILER!!!", 0, b"")
        path.write_bytes(b"".join(self._out))
        return path


def libraries(path):
    """The shared libraries of the ELF program at PATH, as the loader finds them."""
    with open(path, "rb") as handle:
        if handle.read(4) != b"\x7fELF":
            return []
    shown = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False)
    return [pathlib.Path(p) for p in re.findall(r"(/\S+) \(0x", shown.stdout)]


def find_tool(name):
    """The path of a program of this machine."""
    found = shutil.which(name)
    if not found:
        raise LabError(f"'{name}' is not installed; run 'tests/lab/lab prepare'")
    return pathlib.Path(found)


@functools.lru_cache(maxsize=None)
def module_deps(moddir):
    """modules.dep as a dict: path -> paths it needs."""
    deps = {}
    for line in (moddir / "modules.dep").read_text(encoding="ascii").splitlines():
        path, _, rest = line.partition(":")
        deps[path] = rest.split()
    return deps


def module_name(path):
    """The name a module is known by: no directory, no suffix, underscores."""
    return pathlib.PurePath(path).name.partition(".ko")[0].replace("-", "_")


def add_modules(archive, moddir, release):
    """Add MODULES and what they need, uncompressed, with their index."""
    deps = module_deps(moddir)
    by_name = {module_name(p): p for p in deps}
    chosen = set()
    for name in MODULES:
        path = by_name.get(name.replace("-", "_"))  # absent: built in, or gone in newer kernels
        if path:
            chosen |= {path, *deps[path]}
    base = f"lib/modules/{release}"
    plain = {p: re.sub(r"\.xz$", "", p) for p in chosen}
    for path in sorted(chosen):
        data = (moddir / path).read_bytes()
        if path.endswith(".xz"):
            data = lzma.decompress(data)
        elif not path.endswith(".ko"):
            raise LabError(f"module {path} is compressed in a way the lab does not know")
        archive.file(f"{base}/{plain[path]}", data)
    index = "".join(f"{plain[p]}: {' '.join(plain[d] for d in deps[p])}\n" for p in sorted(chosen))
    archive.file(f"{base}/modules.dep", index.encode())
    names = {module_name(p) for p in chosen}
    aliases = [line for line in (moddir / "modules.alias").read_text(encoding="ascii").splitlines()
               if line.split()[-1].replace("-", "_") in names]
    archive.file(f"{base}/modules.alias", ("\n".join(aliases) + "\n").encode())


def base(path, moddir, release):
    """The cached archive for one kernel: PATH is its cache entry."""
    tools = {name: find_tool(name) for name in (*TOOLS, "busybox")}
    key = cache.digest(pathlib.Path(__file__).read_bytes(), release,
                       *[f"{t} {t.stat().st_size} {t.stat().st_mtime_ns}" for t in tools.values()])
    target = path / f"initramfs-{key}.cpio"
    with cache.lock(f"initramfs.{path.name}"):
        if target.exists():
            target.touch()
            return target
        for old in path.glob("initramfs-*.cpio"):
            if time.time() - old.stat().st_mtime > UNUSED_S:
                old.unlink()
        archive = Archive()
        for name in ("dev", "proc", "sys", "run", "tmp", "mnt", "root", "etc"):
            archive.directory(name)
        for name, tool in tools.items():
            archive.program(tool, f"bin/{name}")
        for applet in subprocess.run([tools["busybox"], "--list"], capture_output=True, text=True,
                                     check=True).stdout.split():
            # Its shell prefers its own applets to the tools above; dash is also
            # what jobs get in UML.
            archive.symlink(f"bin/{applet}", "dash" if applet == "sh" else "busybox")
        archive.symlink("sbin", "bin")  # the kernel calls /sbin/modprobe
        add_modules(archive, moddir, release)
        draft = target.with_suffix(".new")
        archive.write(draft)
        draft.replace(target)
    return target
