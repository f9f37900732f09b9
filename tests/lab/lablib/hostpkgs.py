# SPDX-License-Identifier: GPL-2.0-only
"""What the lab needs installed on the machine it runs on."""

import os
import shutil
import subprocess

from . import LabError, cache, proc

# Package, and a file or program by which it is known to be there.
NEEDED = {
    "bc": "bc", "bison": "bison", "flex": "flex", "gcc": "gcc", "make": "make",
    "libc6-dev": "/usr/include/stdio.h", "xz-utils": "xz", "zstd": "zstd", "lz4": "lz4",
    "kmod": "depmod", "util-linux": "unshare", "dash": "dash",
    "qemu-system-x86": "qemu-system-x86_64", "busybox-static": "busybox", "dmsetup": "dmsetup",
    "fio": "fio", "e2fsprogs": "mkfs.ext4", "xfsprogs": "mkfs.xfs", "bcache-tools": "make-bcache",
}


def missing():
    """The packages that are not there."""
    return [package for package, sign in NEEDED.items()
            if not (os.path.exists(sign) if sign.startswith("/") else shutil.which(sign))]


def prepare():
    """Install what is missing; needs root only if something is."""
    packages = missing()
    if not packages:
        return []
    if os.geteuid() != 0:
        raise LabError(f"missing: {' '.join(packages)}; run this as root, or install them yourself")
    cache.note(f"installing {' '.join(packages)}")
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    if subprocess.run(["apt-cache", "show", packages[0]], capture_output=True,
                      check=False).returncode:
        proc.run(["apt-get", "-q", "update"], "apt-get update", env=env)
    proc.run(["apt-get", "-qy", "--no-install-recommends", "install", *packages],
             "installing packages", env=env)
    return packages
