#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The first process of a UML guest. Its root is the host's file system, read
# only; LAB_STAGE and LAB_RESULTS come from the kernel command line.

export PATH=/usr/sbin:/usr/bin:/sbin:/bin

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mkdir -p /run/lab/job /run/lab/results
mount -r -t hostfs -o "$LAB_STAGE" job /run/lab/job
mount -t hostfs -o "$LAB_RESULTS" results /run/lab/results

lab_power_off()
{
	busybox poweroff -f
}

# shellcheck source=tests/lab/guest/start.sh
. /run/lab/job/start.sh
