#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""KUnit logs of every shape, and what the reader of results makes of them."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from lablib import ktap  # noqa: E402  pylint: disable=wrong-import-position


def log(text):
    """TEXT as the kernel would have logged it."""
    return "".join(f"[    1.250000] {line}\n" for line in text.strip("\n").splitlines())


class KtapTest(unittest.TestCase):
    """Each test is one log."""

    def expect(self, text, passed=(), failed=(), skipped=()):
        """TEXT parses to these names."""
        got = ktap.parse(text)
        self.assertEqual((got.passed, got.failed, got.skipped),
                         (list(passed), list(failed), list(skipped)))

    def test_two_suites(self):
        """Names carry their suite; noise in between does not matter."""
        self.expect(log("""
KTAP version 1
1..2
    KTAP version 1
    # Subtest: one
    # module: m
    1..2
    ok 1 a
device-mapper: something else
    # b: EXPECTATION FAILED at x.c:1
    not ok 2 b
# one: pass:1 fail:1 skip:0 total:2
not ok 1 one
    KTAP version 1
    # Subtest: two
    1..1
    ok 1 c # SKIP no such device
ok 2 two # SKIP
"""), passed=["one.a"], failed=["one.b"], skipped=["two.c"])

    def test_parameters(self):
        """A parameterised case is the sum of its parameters."""
        self.expect(log("""
    # Subtest: suite
    1..2
        KTAP version 1
        # Subtest: sizes
        ok 1 4k
        not ok 2 64k
    not ok 1 sizes
    ok 2 plain
not ok 1 suite
"""), passed=["suite.sizes.4k", "suite.plain"], failed=["suite.sizes.64k"])

    def test_died(self):
        """A suite that stops in the middle has failed."""
        self.expect(log("""
    # Subtest: suite
    1..3
    ok 1 a
BUG: kernel NULL pointer dereference
"""), passed=["suite.a"], failed=["suite (2 did not report)"])

    def test_setup_failed(self):
        """A suite may fail although none of its cases did."""
        self.expect(log("""
    # Subtest: suite
    1..1
    ok 1 a
not ok 1 suite
"""), passed=["suite.a"], failed=["suite"])

    def test_job_output(self):
        """What a job prints looks like a result but has no time stamp."""
        self.expect("ok 1 - a job's own TAP\nnot ok 2 - this too\n")

    def test_caller_id(self):
        """Some kernels add the task to the time stamp."""
        self.expect("[    1.2][  T101]     # Subtest: s\n[    1.2][  T101]     ok 1 a\n"
                    "[    1.2][  T101] ok 1 s\n", passed=["s.a"])


if __name__ == "__main__":
    unittest.main()
