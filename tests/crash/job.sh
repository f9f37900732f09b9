# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Job: play seeds. TARGET, FIRST, COUNT and OPTIONS come from tests/crash/run.

# What wakes up by itself would make a seed depend on those before it.
quiet()
{
	echo 0 >/proc/sys/vm/dirty_writeback_centisecs
	echo 0 >/proc/sys/kernel/hung_task_timeout_secs
	# random numbers are seeded anew every second at first, after two minutes every minute
	sleep 130
}

quiet
# Devices that fail fill the console; what must not be missed ends in a panic.
echo 1 >/proc/sys/kernel/panic_on_warn
echo 3 >/proc/sys/kernel/printk
load_module labdev
load_module labcut
[ "$TARGET" != optcache ] || load_module dm-optcache
# Not on the console: whoever reads that interrupts the guest, at a time that is not simulated.
# shellcheck disable=SC2086
rig "$TARGET" "$FIRST" "$COUNT" $OPTIONS >"$LAB_RESULTS/rig.log"
