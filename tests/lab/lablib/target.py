# SPDX-License-Identifier: GPL-2.0-only
"""What every kernel of the lab has in common: a name that leads to a version.

A name such as "6.12" means "the newest such kernel Debian serves", which only
the network can tell. What was found is remembered in the cache, so that the
lab works offline afterwards and does not change kernels under a developer's
feet: it looks again only with --update, or when nothing usable is cached.
"""

import os

from . import LabError, cache
from .debian import version_gt


class Target:
    """A kernel by name. Subclasses download, build, boot."""

    #: Kind of cache entry, and one line for `lab kernels`.
    kind = ""
    summary = ""

    def __init__(self, name):
        self.name = name

    def newest(self):
        """Ask Debian: (release, package, version) of the newest kernel."""
        raise NotImplementedError

    def entry_name(self, package, version):
        """The name of the cache entry for that kernel."""
        raise NotImplementedError

    def fill(self, path, release, package, version):
        """Download and build it into PATH."""
        raise NotImplementedError

    def _pointer(self):
        return cache.root() / "targets" / self.name

    def cached(self):
        """The entry that is ready for use, or None."""
        try:
            package, version = self._pointer().read_text(encoding="utf-8").split()
        except (OSError, ValueError):
            return None
        path = cache.root() / self.kind / self.entry_name(package, version)
        return path if cache.is_ready(path) else None

    def ensure(self, update=False):
        """The directory of this kernel, made if needed."""
        path = None if update else self.cached()
        if path:
            return path
        release, package, version = self.newest()
        path = cache.entry(self.kind, self.entry_name(package, version),
                           lambda p: self.fill(p, release, package, version),
                           keep_partial=True)
        pointer = self._pointer()
        pointer.parent.mkdir(exist_ok=True)
        draft = pointer.with_suffix(f".{os.getpid()}")
        draft.write_text(f"{package} {version}\n", encoding="utf-8")
        draft.replace(pointer)
        return path


def newest_of(releases, meta, prefix):
    """The newest kernel among RELEASES: (release, package, version).

    META is the package that follows the newest kernel by depending on
    PREFIX<version>. Releases that lack it are passed over.
    """
    best = None
    for release in releases:
        found = release.newest(meta)
        if not found:
            continue
        version, depends = found
        package = next((d for d in depends if d.startswith(prefix)), None)
        if package and (best is None or version_gt(version, best[2])):
            best = (release, package, version)
    if not best:
        names = ", ".join(r.name for r in releases)
        raise LabError(f"no package {meta} in Debian {names}; is the network there?")
    return best
