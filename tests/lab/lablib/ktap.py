# SPDX-License-Identifier: GPL-2.0-only
"""Reading KUnit's results out of a kernel log.

insmod of a test module succeeds even when a case fails: the log decides. Only
leaves count, a suite is the sum of its cases; but a suite that failed although
all of its cases passed (its setup did), or that announced more cases than it
reported (the kernel died), is a failure of its own.
"""

import re
from dataclasses import dataclass, field

STAMP = re.compile(r"^(?:<\d+>)?\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ")
RESULT = re.compile(r"^( *)(not )?ok (\d+)(?: -)? ?(.*?)(?: # (SKIP|TODO)\b.*)?$", re.I)
SUBTEST = re.compile(r"^( *)# Subtest: (.+)$")
PLAN = re.compile(r"^( *)1\.\.(\d+)$")


@dataclass
class Results:
    """Names of the leaves, by how they ended."""

    passed: list = field(default_factory=list)
    failed: list = field(default_factory=list)
    skipped: list = field(default_factory=list)

    def summary(self):
        """The closing line."""
        return (f"{len(self.passed)} passed, {len(self.failed)} failed, "
                f"{len(self.skipped)} skipped")

    def good(self):
        """True if tests ran and none failed."""
        return not self.failed and bool(self.passed)


@dataclass
class Group:
    """A suite, or a parameterised case, whose results are coming in."""

    indent: int
    name: str
    planned: int = 0
    seen: int = 0
    failed: bool = False


class Parser:
    """Takes lines, keeps the groups that are open."""

    def __init__(self):
        self.results = Results()
        self.open = []

    def _path(self, name):
        return ".".join([*(g.name for g in self.open), name])

    def _close(self):
        """The innermost group is over: did it report all it promised?"""
        group = self.open.pop()
        if group.seen < group.planned:
            missing = group.planned - group.seen
            self.results.failed.append(self._path(f"{group.name} ({missing} did not report)"))
            group.failed = True
        if group.failed and self.open:
            self.open[-1].failed = True
        return group

    def take(self, line):
        """One line of the log, its time stamp taken off."""
        if match := SUBTEST.match(line):
            indent = len(match[1])
            while self.open and self.open[-1].indent >= indent:
                self._close()
            self.open.append(Group(indent, match[2]))
        elif match := PLAN.match(line):
            if self.open and self.open[-1].indent == len(match[1]):
                self.open[-1].planned = int(match[2])
        elif match := RESULT.match(line):
            self._result(len(match[1]), bool(match[2]), match[4], match[5])

    def _result(self, indent, bad, name, directive):
        closed = None
        while self.open and self.open[-1].indent > indent:
            closed = self._close()
        if self.open and self.open[-1].indent == indent:
            self.open[-1].seen += 1
        skipped = (directive or "").upper() == "SKIP"
        if closed and closed.name == name:
            if bad and not closed.failed:
                self.results.failed.append(self._path(name))
        elif skipped:
            self.results.skipped.append(self._path(name))
        else:
            (self.results.failed if bad else self.results.passed).append(self._path(name))
        if bad and not skipped and self.open:
            self.open[-1].failed = True

    def finish(self):
        """The log is over."""
        while self.open:
            self._close()
        return self.results


def parse(text):
    """The results in TEXT, a console log or the output of dmesg."""
    parser = Parser()
    for line in text.splitlines():
        stamp = STAMP.match(line)
        if stamp:
            parser.take(line[stamp.end():])
    return parser.finish()
