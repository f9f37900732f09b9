# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Ends with the status it is told.
say "BUG: a job may say this"
exit "$STATUS"
