# SPDX-License-Identifier: GPL-2.0-only
"""Running host commands: output to a log file, failures as one clear line."""

import subprocess

from . import LabError


def not_installed(what, program):
    """The error for a program that is not there."""
    return LabError(f"{what}: '{program}' is not installed; run 'tests/lab/lab prepare'")


def run(argv, what, log=None, **kwargs):
    """Run ARGV; on failure say WHAT failed and show the end of its output."""
    argv = [str(a) for a in argv]
    try:
        if log:
            with open(log, "ab") as out:
                done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=out,
                                      stderr=subprocess.STDOUT, check=False, **kwargs)
        else:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False, **kwargs)
    except FileNotFoundError:
        raise not_installed(what, argv[0]) from None
    if done.returncode:
        if log:
            raise LabError(f"{what} failed (status {done.returncode}); see {log}")
        tail = done.stdout.decode(errors="replace").strip().splitlines()[-3:]
        raise LabError(f"{what} failed (status {done.returncode}): {' / '.join(tail)}")


def output(argv, what):
    """The standard output of ARGV as text."""
    argv = [str(a) for a in argv]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
    except FileNotFoundError:
        raise not_installed(what, argv[0]) from None
    if done.returncode:
        tail = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise LabError(f"{what} failed (status {done.returncode}): {tail[0]}")
    return done.stdout
