# SPDX-License-Identifier: GPL-2.0-only
"""What the suites that measure have in common: TAP, builds, result files."""

import json
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
LAB = TOP / "tests" / "lab" / "lab"
RESULTS = TOP / "build" / "results"


class Failure(Exception):
    """It could not be measured; says why."""


def call(*argv):
    """Run a program; return what it printed."""
    done = subprocess.run([str(a) for a in argv], cwd=TOP, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise Failure(f"{pathlib.Path(argv[0]).name} {argv[1]}: exit status {done.returncode}\n"
                      + "\n".join(done.stdout.splitlines()[-20:]))
    return done.stdout


def numbers(line):
    """The numbers of a line of key=value."""
    return {key: int(n) for key, n in re.findall(r"(\w+)=(\d+)\b", line)}


def commit(source):
    """What was measured."""
    done = subprocess.run(["git", "-C", str(source), "describe", "--always", "--dirty",
                           "--abbrev=12"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def write(suite, source, kernel, metrics):
    """The result file; returns its path."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{suite}.json"
    result = {"suite": suite, "commit": commit(source), "kernel": kernel, "metrics": metrics}
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return path.relative_to(TOP)


class Tap:
    """Test results."""

    def __init__(self):
        self.passed = self.failed = 0
        print("TAP version 13")

    def test(self, good, what):
        """One of them."""
        self.passed += bool(good)
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.passed + self.failed} - {what}", flush=True)

    def end(self):
        """The last lines; the exit status."""
        print(f"1..{self.passed + self.failed}")
        print(f"{self.passed} passed, {self.failed} failed, 0 skipped")
        return 1 if self.failed else 0


def note(text):
    """Lines that are no tests."""
    print("# " + str(text).replace("\n", "\n# "), flush=True)
