# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# insmod succeeds although a case fails: the console log has to tell.
load_module lab_kunit
