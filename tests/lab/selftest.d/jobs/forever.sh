# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Does not end by itself.
sleep 100000
