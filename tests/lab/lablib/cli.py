# SPDX-License-Identifier: GPL-2.0-only
"""The command line of the lab."""

import argparse
import os
import pathlib
import re
import signal
import sys

from . import LabError, build, hostpkgs, job, ktap, qemu, run, targets

STATUS_LAB = 126


def parser():
    """All commands and options."""
    top = argparse.ArgumentParser(
        prog="lab", description="Boot kernels and run test jobs in them. See tests/lab/README.md.")
    sub = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    cmd = sub.add_parser("prepare", help="install the Debian packages the lab needs")
    cmd.set_defaults(func=cmd_prepare)

    cmd = sub.add_parser("kernels", help="list the kernels, and which are in the cache")
    cmd.set_defaults(func=cmd_kernels)

    cmd = sub.add_parser("kernel", help="download or build a kernel, print its paths")
    cmd.add_argument("name", metavar="NAME", help="one that 'lab kernels' lists")
    cmd.add_argument("--update", action="store_true",
                     help="ask Debian for a newer version even if one is cached")
    cmd.set_defaults(func=cmd_kernel)

    cmd = sub.add_parser("build", help="build an out-of-tree module directory")
    cmd.add_argument("name", metavar="NAME", help="the kernel to build for")
    cmd.add_argument("src", metavar="SRC_DIR", help="has a Kbuild; is not written to")
    cmd.add_argument("out", metavar="OUT_DIR", help="gets a copy of the sources, and the modules")
    cmd.add_argument("words", nargs="*", metavar="MAKE_ARG", help="e.g. W=1 CONFIG_FOO=m")
    cmd.set_defaults(func=cmd_build)

    cmd = sub.add_parser("run", help="boot a kernel, run a job, return its status",
                         description="Exit status: the job's own (0 to 123); 124: out of time; "
                         "125: the kernel complained or died; 126: the lab could not do it.")
    cmd.add_argument("name", metavar="NAME", help="the kernel to boot")
    cmd.add_argument("job", metavar="JOB.sh", help="a shell script for the guest, see README.md")
    cmd.add_argument("words", nargs="*", metavar="VAR=VALUE", help="variables for the job")
    cmd.add_argument("--time", choices=("real", "sim"), default="real",
                     help="sim: UML jumps from timer to timer; QEMU counts instructions")
    cmd.add_argument("--timeout", type=positive, default=300, metavar="S", help="default 300")
    cmd.add_argument("--mem", default="2G", type=size, metavar="SIZE", help="default 2G")
    cmd.add_argument("--smp", type=positive, default=1, metavar="N", help="processors (QEMU)")
    cmd.add_argument("--module", action="append", default=[], metavar="A.ko",
                     help="a module for the job to load (repeatable)")
    cmd.add_argument("--file", action="append", default=[], metavar="F",
                     help="a file or program for the job (repeatable)")
    cmd.add_argument("--disk", action="append", default=[], metavar="SPEC",
                     help=f"QEMU: {qemu.DISK_FORMS} (repeatable)")
    cmd.add_argument("--pidfile", metavar="FILE",
                     help="QEMU: gets the process id of the guest, for who wants to kill it")
    cmd.add_argument("--out", metavar="DIR",
                     help="for logs and results; default build/lab/NAME.JOB, emptied first")
    cmd.add_argument("-v", "--verbose", action="store_true", help="show the console live")
    cmd.set_defaults(func=cmd_run)

    cmd = sub.add_parser("ktap", help="count the KUnit results in a console log")
    cmd.add_argument("log", metavar="LOG")
    cmd.set_defaults(func=cmd_ktap)
    return top


def parse(argv):
    """The arguments; words may stand among the options, which argparse does
    not allow for sub-commands by itself."""
    top = parser()
    args, rest = top.parse_known_args(argv)
    if any(word.startswith("-") for word in rest) or (rest and "words" not in args):
        top.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        args.words = args.words + rest
    return args


def positive(text):
    """A number above zero, for argparse."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def size(text):
    """A memory size as both UML and QEMU take it, for argparse."""
    if not re.fullmatch(r"[1-9]\d*[MG]", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 512M or 2G")
    return text


def cmd_prepare(_args):
    """lab prepare"""
    installed = hostpkgs.prepare()
    print(f"installed {' '.join(installed)}" if installed else "nothing is missing")
    return 0


def cmd_kernels(_args):
    """lab kernels"""
    for target in targets.TARGETS.values():
        path = target.cached()
        state = path.name if path else "not cached"
        print(f"{target.name:16}{state:44}{target.summary}")
    return 0


def cmd_kernel(args):
    """lab kernel"""
    target = targets.find(args.name)
    for key, path in target.paths(target.ensure(args.update)).items():
        print(f"{key}={path}")
    return 0


def cmd_build(args):
    """lab build"""
    modules, warnings = build.build(targets.find(args.name), args.src, args.out, args.words)
    for line in warnings:
        print(line, file=sys.stderr)
    for module in modules:
        print(module)
    return 0


def cmd_run(args):
    """lab run"""
    target = targets.find(args.name)
    work = job.Job(args.job, args.words, args.module + args.file)
    disks = [qemu.Disk(spec) for spec in args.disk]
    machine = run.Machine(args.time, args.mem, args.smp, disks, args.pidfile)
    status, summary = run.run(target, work, machine, args.timeout, args.out, args.verbose)
    print(f"lab: {args.name}: {summary}", file=sys.stderr)
    return status


def cmd_ktap(args):
    """lab ktap"""
    results = ktap.parse(pathlib.Path(args.log).read_text(encoding="utf-8", errors="replace"))
    for name in results.failed:
        print(f"not ok {name}")
    print(results.summary())
    return 0 if results.good() else 1


def main():
    """Run a command; errors are one line, an interrupt takes guests down too."""
    # Users who are not root often lack these, where half of our tools are.
    os.environ["PATH"] = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    args = parse(sys.argv[1:])
    try:
        return args.func(args)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
    except OSError as error:
        print(f"lab: {error.strerror}: {error.filename}", file=sys.stderr)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return STATUS_LAB
