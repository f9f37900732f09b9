# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages of any release, without touching the machine's own apt.

Each release gets a private apt state directory in the cache. The mirrors are
the ones the machine itself is configured with; apt checks signatures and
hashes as usual. Packages are unpacked, never installed.
"""

import functools
import os
import pathlib
import re
import subprocess
import time

from . import LabError, cache, proc

KEYRING = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")

# Package lists older than this are fetched again before a version is looked up.
LISTS_FRESH_S = 6 * 3600


@functools.lru_cache(maxsize=None)
def mirrors():
    """The machine's mirrors: (main archive, security archive)."""
    codename = ""
    for line in pathlib.Path("/etc/os-release").read_text(encoding="utf-8").splitlines():
        if line.startswith("VERSION_CODENAME="):
            codename = line.partition("=")[2].strip('"')
    found = {}
    listing = proc.output(["apt-get", "indextargets", "--format",
                           "$(REPO_URI) $(RELEASE) $(CODENAME)", "Created-By: Packages"],
                          "reading the apt configuration")
    for line in listing.splitlines():
        uri, *names = line.split()
        for name in names:
            found.setdefault(name, uri)
    if codename not in found:
        raise LabError("no Debian mirror in the apt configuration of this machine; "
                       "the lab takes its kernels from Debian")
    return found[codename], found.get(f"{codename}-security")


class Release:
    """One Debian release (with its companions) as a private apt sees it."""

    def __init__(self, name, suites=(), security=True):
        self.name = name
        self.suites = (name, *suites)
        self.security = security
        self.dir = cache.root() / "apt" / name

    def _options(self):
        opts = {
            "Dir::State": self.dir / "state",
            "Dir::State::status": self.dir / "status",
            "Dir::Cache": self.dir / "cache",
            "Dir::Etc::sourcelist": self.dir / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "Acquire::Languages": "none",
            "APT::Install-Recommends": "false",
            "APT::Architecture": "amd64",
        }
        if os.geteuid() == 0:
            opts["APT::Sandbox::User"] = "root"  # the cache may be under /root
        return [arg for key, value in opts.items() for arg in ("-o", f"{key}={value}")]

    def _sources(self):
        main, security = mirrors()
        signed = f"[signed-by={KEYRING}] " if KEYRING.exists() else ""
        lines = [f"deb {signed}{main} {suite} main" for suite in self.suites]
        if self.security and security:
            lines.append(f"deb {signed}{security} {self.name}-security main")
        return "\n".join(lines) + "\n"

    def _update(self):
        """Fetch the package lists if they are missing or old."""
        for sub in ("state/lists/partial", "cache/archives/partial"):
            (self.dir / sub).mkdir(parents=True, exist_ok=True)
        (self.dir / "status").touch()
        sources, stamp = self.dir / "sources.list", self.dir / "updated"
        text = self._sources()
        if (stamp.exists() and time.time() - stamp.stat().st_mtime < LISTS_FRESH_S
                and sources.read_text(encoding="utf-8") == text):
            return
        sources.write_text(text, encoding="utf-8")
        cache.note(f"fetching the package lists of Debian {self.name}")
        proc.run(["apt-get", *self._options(), "-q", "update"],
                 f"apt-get update for Debian {self.name}")
        stamp.touch()

    def newest(self, package):
        """(version, [names it depends on]) of the newest PACKAGE, or None."""
        with cache.lock(f"apt.{self.name}"):
            self._update()
            shown = subprocess.run(["apt-cache", *self._options(), "show", package],
                                   capture_output=True, text=True, check=False).stdout
        best = None
        for stanza in shown.split("\n\n"):
            fields = dict(re.findall(r"^(Version|Depends): (.*)$", stanza, re.M))
            version = fields.get("Version")
            if version and (best is None or version_gt(version, best[0])):
                names = [d.split()[0] for d in fields.get("Depends", "").split(",") if d.strip()]
                best = (version, names)
        return best

    def download(self, packages, dest, with_depends=False):
        """Put the .deb files of PACKAGES (name or name=version) into DEST.

        With with_depends, everything they need to run comes along: apt
        resolves them against a system on which nothing is installed.
        """
        dest.mkdir(parents=True, exist_ok=True)
        with cache.lock(f"apt.{self.name}"):
            self._update()
            if with_depends:
                argv = ["apt-get", *self._options(), "-o", f"Dir::Cache::archives={dest}",
                        "-qy", "--download-only", "install", *packages]
                (dest / "partial").mkdir(exist_ok=True)
            else:
                argv = ["apt-get", *self._options(), "-q", "download", *packages]
            proc.run(argv, f"downloading {packages[0]}", cwd=dest)
        return sorted(dest.glob("*.deb"))


def version_gt(a, b):
    """True if Debian version A is newer than B."""
    return subprocess.run(["dpkg", "--compare-versions", a, "gt", b], check=False).returncode == 0


def unpack(deb, dest, exclude=()):
    """Unpack the files of DEB into DEST, through symlinked directories."""
    dest.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)],
                          stdout=subprocess.PIPE) as source:
        done = subprocess.run(["tar", "-x", "--keep-directory-symlink", "--no-same-owner",
                               "-C", str(dest), *[f"--exclude={e}" for e in exclude]],
                              stdin=source.stdout, check=False)
    if done.returncode or source.returncode:
        raise LabError(f"unpacking {deb.name} failed; is the disk full?")


# "7" is whatever is newest of these; "experimental" has release candidates only.
BOOKWORM = Release("bookworm")
TRIXIE = Release("trixie", suites=("trixie-backports",))
SID = Release("sid", security=False)
