# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Job: play seeds. TARGET, FIRST, COUNT and OPTIONS come from tests/crash/run.

# What wakes up by itself would make a seed depend on those before it.
quiet()
{
	echo 0 >/proc/sys/vm/dirty_writeback_centisecs
	echo 0 >/proc/sys/kernel/hung_task_timeout_secs
}

quiet
# Devices that fail fill the console; what must not be missed ends in a panic.
echo 1 >/proc/sys/kernel/panic_on_warn
echo 3 >/proc/sys/kernel/printk
load_module labdev
load_module labcut
[ "$TARGET" != optcache ] || load_module dm-optcache
# shellcheck disable=SC2086
rig "$TARGET" "$FIRST" "$COUNT" $OPTIONS
