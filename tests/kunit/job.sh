# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Job: the suites inside a kernel.
#
#   make -C tests/kunit module
#   lab build uml-6.12 build/kunit/module build/kunit/uml
#   lab run uml-6.12 tests/kunit/job.sh --module build/kunit/uml/optcache-kunit.ko
#
# insmod succeeds even when a case fails: `lab ktap` reads the console.

need_module kunit
load_module optcache-kunit
