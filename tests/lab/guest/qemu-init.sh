#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The first process of a QEMU guest. Its root is the initramfs; results go to
# the host over 9p.

export PATH=/bin

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /run/lab/results

# busybox modprobe ignores soft dependencies: checksums first, by hand.
for module in crc32c_generic crc32c_intel virtio_pci nvme virtio_scsi sd_mod \
	9pnet_virtio 9p dm-mod configfs; do
	modprobe "$module" 2>/dev/null
done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 results /run/lab/results ||
	echo "lab: cannot mount the results directory"

# Writing N to isa-debug-exit ends QEMU at once, with status 2N+1.
lab_power_off()
{
	sync
	printf '\0' | dd of=/dev/port bs=1 seek=1281 2>/dev/null
	poweroff -f
}

# shellcheck source=tests/lab/guest/start.sh
. /run/lab/job/start.sh
