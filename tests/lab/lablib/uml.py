# SPDX-License-Identifier: GPL-2.0-only
"""User Mode Linux kernels: built here, booted in half a second, and able to
run in simulated time, in which code takes no time and the clock jumps to the
next timer."""

import os
import pathlib
import re

from . import LabError, cache, debian, proc
from .target import Target, newest_of

CONFIGS = pathlib.Path(__file__).resolve().parent.parent / "configs"

# The simulated clock starts here in every run, so that runs can be compared.
SIM_EPOCH_NS = 1_700_000_000_000_000_000


class Uml(Target):
    """A UML kernel made from a linux-source package and config fragments."""

    kind = "uml"

    def __init__(self, name, releases, source, fragments, summary):
        super().__init__(name)
        self.releases = releases
        self.source = source
        self.fragments = fragments
        self.summary = summary

    # -- finding and building ----------------------------------------------

    def config(self):
        """The text of the configuration: our fragments, one after the other."""
        return "".join((CONFIGS / f).read_text(encoding="ascii") for f in self.fragments)

    def newest(self):
        if self.source != "linux-source":
            for release in self.releases:
                found = release.newest(self.source)
                if found:
                    return release, self.source, found[0]
        return newest_of(self.releases, "linux-source", "linux-source-")

    def entry_name(self, package, version):
        return f"{version}-{cache.digest(self.config())}"

    def fill(self, path, release, package, version):
        source = cache.entry("source", f"{package}_{version}",
                             lambda p: unpack_source(p, release, package, version))
        config = path / "wanted.config"
        config.write_text(self.config(), encoding="ascii")
        log = path / "build.log"
        make = ["make", "-C", source, "ARCH=um", f"O={path}"]
        proc.run([*make, f"KCONFIG_ALLCONFIG={config}", "allnoconfig"],
                 f"configuring {self.name}", log=log)
        check_config(config, path / ".config")
        # One kernel build at a time: it takes all the processors there are.
        with cache.lock("kernel-build"):
            cache.note(f"building {self.name} {version}; this takes minutes, see {log}")
            proc.run([*make, f"-j{jobs()}", "linux", "modules"], f"building {self.name}", log=log)

    # -- using it -----------------------------------------------------------

    def paths(self, path):
        """What `lab kernel` prints."""
        return {"kernel": path / "linux", "objects": path, "config": path / ".config"}

    def build(self, path, tree, args):
        """Build the module directory TREE against this kernel."""
        return ["make", "-C", path, "ARCH=um", f"M={tree}", f"-j{jobs()}", *args, "modules"]

    def boot(self, path, machine, stage, out):
        """The command line of a guest that runs the job staged in STAGE."""
        if machine.disks:
            raise LabError("UML has no --disk; make null_blk or model disks in the job, "
                           "or use QEMU")
        if machine.pidfile:
            raise LabError("UML has no --pidfile; use QEMU")
        if machine.smp > 1:
            raise LabError("UML runs on one processor here; use QEMU for --smp")
        argv = ["setarch", "-R", path / "linux", f"mem={machine.mem}", f"uml_dir={stage}/",
                "umid=guest", "root=none", "rootfstype=hostfs", "rootflags=/", "ro", "norandmaps",
                f"init={stage}/uml-init.sh", "con=null", "con0=null,fd:1", "ssl=null",
                "loglevel=5", "oops=panic", "panic=-1", "kunit.enable=1",
                "null_blk.nr_devices=0",
                f"LAB_STAGE={stage}", f"LAB_RESULTS={out}"]
        if machine.time == "sim":
            argv += ["time-travel=inf-cpu", f"time-travel-start={SIM_EPOCH_NS}"]
        return [str(a) for a in argv]


def jobs():
    """Parallel compiler processes: one a processor."""
    return os.cpu_count() or 1


def unpack_source(path, release, package, version):
    """Download and unpack a linux-source package into PATH."""
    cache.note(f"downloading {package} {version}")
    with cache.scratch("source") as tmp:
        debs = release.download([f"{package}={version}"], tmp)
        debian.unpack(debs[0], tmp / "deb")
        tarball = next((tmp / "deb/usr/src").glob("linux-source-*.tar.*"))
        proc.run(["tar", "-xf", tarball, "--strip-components=1", "-C", path],
                 f"unpacking {tarball.name}")


def check_config(wanted, got):
    """Fail if Kconfig dropped an option we asked for: tests rely on them."""
    have = set(got.read_text(encoding="ascii").splitlines())
    lost = [line for line in wanted.read_text(encoding="ascii").splitlines()
            if re.match(r"CONFIG_\w+=", line) and line not in have]
    if lost:
        raise LabError(f"this kernel does not take {', '.join(lost)}; correct {CONFIGS}")
