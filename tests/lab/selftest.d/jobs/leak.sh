# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# no_leaks finds what the module left behind.
load_module lab_hello fault=leak
rmmod lab_hello
no_leaks
