# SPDX-License-Identifier: GPL-2.0-only
"""Debian's own kernels: the image boots in QEMU, the headers come with the
compiler they were made with in a small root of their own.

That root is unpacked, not installed: headers of any release build on any
machine, whatever compiler and C library it has, and without debootstrap.
"""

import os
import pathlib
import re
import shlex
import subprocess

from . import LabError, cache, debian, proc, qemu
from .target import Target, newest_of
from .uml import jobs

# With the headers' own dependencies (compiler, kbuild) this is a build root.
BUILD_TOOLS = ("base-files", "binutils", "coreutils", "dash", "diffutils", "findutils", "grep",
               "make", "mawk", "sed")

# Not needed to compile a module, and most of the size.
NOT_UNPACKED = ("./usr/share/doc", "./usr/share/man", "./usr/share/locale", "./usr/share/info",
                "./usr/share/lintian", "./usr/share/bug")

# How to look at the payload of a bzImage: magic, decompressor.
PAYLOADS = ((b"\x02\x21\x4c\x18", "lz4"), (b"\x28\xb5\x2f\xfd", "zstd"),
            (b"\xfd7zXZ", "xz"), (b"\x1f\x8b", "gzip"))


class Stock(Target):
    """A Debian kernel image with its headers."""

    kind = "stock"

    def __init__(self, name, releases, meta, checker, summary):
        super().__init__(name)
        self.releases = releases
        self.meta = meta
        self.checker = checker  # the release whose sparse understands these headers
        self.summary = summary

    # -- finding and unpacking ----------------------------------------------

    def newest(self):
        return newest_of(self.releases, self.meta, "linux-image-")

    def entry_name(self, package, version):
        return f"{kernel_release(package)}_{version}"

    def fill(self, path, release, package, version):
        kver = kernel_release(package)
        cache.note(f"downloading {package} {version}")
        # Newer kernels come in pieces: linux-binary-*, linux-modules-*.
        _, depends = release.newest(package)
        pieces = [package, *(d for d in depends if re.match(r"linux-(binary|modules)-", d))]
        with cache.scratch("image") as tmp:
            for deb in release.download([f"{p}={version}" for p in pieces], tmp):
                debian.unpack(deb, path / "image", NOT_UNPACKED)
        extract_vmlinux(next((path / "image").rglob("vmlinuz*")), path / "vmlinux")
        proc.run(["depmod", "-b", module_base(path), kver], f"depmod for {kver}")
        (path / "release").write_text(f"{release.name} {kver} {version}\n", encoding="ascii")

    def build_root(self, path):
        """The directory to chroot into for building modules."""
        name, kver, version = (path / "release").read_text(encoding="ascii").split()
        release = next(r for r in self.releases if r.name == name)

        def fill(root):
            cache.note(f"downloading the headers and the compiler of {kver}")
            # Releases differ in which directories are links by package and
            # which by installer; links first suits both.
            for link in ("bin", "sbin", "lib", "lib64"):
                (root / "usr" / link).mkdir(parents=True)
                (root / link).symlink_to(f"usr/{link}")
            with cache.scratch("headers") as tmp:
                debs = release.download([f"linux-headers-{kver}={version}", *BUILD_TOOLS], tmp,
                                        with_depends=True)
                # its other programs are what has all the dependencies
                debs += self.checker.download(["sparse"], tmp / "sparse")
                for deb in debs:
                    debian.unpack(deb, root, NOT_UNPACKED)
            for name, target in (("sh", "dash"), ("awk", "mawk")):
                if not (root / "usr/bin" / name).exists():
                    (root / "usr/bin" / name).symlink_to(target)
            for mountpoint in ("dev", "proc", "tmp", "src"):
                (root / mountpoint).mkdir(exist_ok=True)

        recipe = cache.digest(*BUILD_TOOLS, *NOT_UNPACKED, "sparse", self.checker.name)
        return cache.entry("buildroot", f"{path.name}-{recipe}", fill)

    # -- using it -----------------------------------------------------------

    def paths(self, path):
        """What `lab kernel` prints."""
        root = self.build_root(path)
        return {"kernel": path / "vmlinux", "modules": module_base(path) / "lib/modules",
                "headers": root / "usr/src"}

    def build(self, path, tree, args):
        """Build the module directory TREE: the build root sees it as /src."""
        root = self.build_root(path)
        kver = self.kver(path)
        make = ["make", "-C", f"/usr/src/linux-headers-{kver}", "M=/src", f"-j{jobs()}", *args,
                "modules"]
        inner = " && ".join((
            f"mount --bind {shlex.quote(str(tree))} {shlex.quote(str(root / 'src'))}",
            f"mount --rbind /dev {shlex.quote(str(root / 'dev'))}",
            f"mount --rbind /proc {shlex.quote(str(root / 'proc'))}",
            f"exec env -i PATH=/usr/bin:/usr/sbin HOME=/tmp LC_ALL=C chroot"
            f" {shlex.quote(str(root))} {shlex.join(make)}"))
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        return ["unshare", "--mount", *user, "sh", "-c", inner]

    def boot(self, path, machine, stage, out):
        """The command line of a guest that runs the job staged in STAGE."""
        return qemu.command(path / "vmlinux", self.kver(path), module_base(path), machine,
                            stage, out)

    def kver(self, path):
        """What `uname -r` says in the guest."""
        return (path / "release").read_text(encoding="ascii").split()[1]


def kernel_release(package):
    """linux-image-6.1.0-9-amd64 -> 6.1.0-9-amd64"""
    return package.removeprefix("linux-image-")


def module_base(path):
    """The directory that holds lib/modules: packages moved it to /usr."""
    usr = path / "image/usr"
    return usr if (usr / "lib/modules").is_dir() else path / "image"


def extract_vmlinux(bzimage, target):
    """The ELF kernel inside BZIMAGE: under emulation it boots seconds sooner,
    because the guest does not have to decompress it."""
    data = bzimage.read_bytes()
    setup = (data[0x1f1] or 4) + 1
    offset = setup * 512 + int.from_bytes(data[0x248:0x24c], "little")
    payload = data[offset:offset + int.from_bytes(data[0x24c:0x250], "little")]
    for magic, tool in PAYLOADS:
        if payload.startswith(magic):
            break
    else:
        raise LabError(f"{bzimage.name} is compressed in a way the lab does not know")
    # The last four bytes are the kernel's own length word, which lz4 and zstd
    # call trailing garbage: judge by what came out.
    done = subprocess.run([tool, "-dc"], input=payload[:-4] if tool in ("lz4", "zstd") else payload,
                          capture_output=True, check=False)
    if not done.stdout.startswith(b"\x7fELF"):
        raise LabError(f"cannot decompress {bzimage.name} with {tool}: "
                       f"{done.stderr.decode(errors='replace').strip()}")
    pathlib.Path(target).write_bytes(done.stdout)
