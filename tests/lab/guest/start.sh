# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# The common half of both init scripts: prepares the guest, runs the job, tells
# the host how it ended. The lines that begin with "lab: job" are what the host
# looks for on the console.

mkdir -p /dev/shm
mount -t tmpfs tmp /tmp
mount -t tmpfs mnt /mnt
mount -t tmpfs shm /dev/shm
mount -t debugfs debug /sys/kernel/debug 2>/dev/null
mount -t tracefs trace /sys/kernel/tracing 2>/dev/null
mount -t configfs config /sys/kernel/config 2>/dev/null

# There is no udev in the guest: libdevmapper makes its nodes itself.
export DM_DISABLE_UDEV=1
export HOME=/tmp
export LAB_FILES=/run/lab/job/files
export LAB_RESULTS=/run/lab/results
export PATH="$LAB_FILES:$PATH"
cd /tmp || exit

# From here on the console shows all that the kernel says.
echo 8 >/proc/sys/kernel/printk

echo "lab: job starts on $(uname -r)"
(
	set -eu
	# shellcheck source=/dev/null
	. /run/lab/job/env.sh
	# shellcheck source=tests/lab/guest/lib.sh
	. /run/lab/job/lib.sh
	lab_settle_disks
	# shellcheck source=/dev/null
	. /run/lab/job/job.sh
)
status=$?
dmesg >"$LAB_RESULTS/dmesg.log"
echo "lab: job ends with status $status after $(cut -d' ' -f1 /proc/uptime) s"
lab_power_off
