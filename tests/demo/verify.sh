# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# The second machine of the demo: has the disk, and no cache device. Files: sums,
# written.sha256. Leaves behind what fsck and sha256sum have to say.

slow=$(disk 0)
dmesg -n 5
need_module ext4
mkdir /mnt/disk

fsck=0
e2fsck -fn "$slow" >"$LAB_RESULTS/fsck" 2>&1 || fsck=$?
echo "exit status $fsck" >>"$LAB_RESULTS/fsck"

mount -t ext4 -o ro "$slow" /mnt/disk
cat "$LAB_FILES/sums" "$LAB_FILES/written.sha256" >/tmp/sums
# the host reads which of them are the same
(cd /mnt/disk && sha256sum -c /tmp/sums) >"$LAB_RESULTS/sums" 2>&1 || true
umount /mnt/disk
