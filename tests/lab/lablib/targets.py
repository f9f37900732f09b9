# SPDX-License-Identifier: GPL-2.0-only
"""The kernels of the lab, by the names that its commands take."""

from . import LabError
from .debian import BOOKWORM, SID, TRIXIE
from .stock import Stock
from .uml import Uml

TARGETS = {t.name: t for t in (
    Uml("uml-6.12", (BOOKWORM,), "linux-source-6.12", ("uml.config",),
        "UML 6.12: unit tests, simulated time"),
    Uml("uml-6.12-debug", (BOOKWORM,), "linux-source-6.12", ("uml.config", "uml-debug.config"),
        "UML 6.12 with KASAN, lockdep, kmemleak"),
    Uml("uml-7", (TRIXIE, SID), "linux-source", ("uml.config",),
        "UML of the newest 7.x"),
    Stock("6.1", (BOOKWORM,), "linux-image-amd64", BOOKWORM, "Debian's 6.1 in QEMU"),
    Stock("6.12", (BOOKWORM,), "linux-image-6.12-amd64", BOOKWORM, "Debian's 6.12 in QEMU"),
    Stock("7", (TRIXIE, SID), "linux-image-amd64", SID, "the newest 7.x of Debian in QEMU"),
)}


def find(name):
    """The target called NAME."""
    try:
        return TARGETS[name]
    except KeyError:
        raise LabError(f"there is no kernel '{name}'; the lab has {', '.join(TARGETS)}") from None
