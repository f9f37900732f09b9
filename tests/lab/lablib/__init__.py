# SPDX-License-Identifier: GPL-2.0-only
"""The lab: boots kernels and runs test jobs in them. See ../README.md."""


class LabError(Exception):
    """Something the user can act on: one line saying what, why, what next."""
