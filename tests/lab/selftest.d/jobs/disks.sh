# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# The disks that QEMU emulates are what was asked for, and the tools for them
# work: a file system on each, through device mapper.
fast=$(disk 0)
slow=$(disk 1)
[ "$(blockdev --getss "$fast")" = 4096 ] || fail "the NVMe disk's blocks are not 4096 bytes"
[ "$(cat "/sys/block/${fast##*/}/queue/write_cache")" = "write through" ] ||
	fail "the NVMe disk claims a volatile cache"
[ "$(cat "/sys/block/${slow##*/}/queue/rotational")" = 1 ] || fail "the SCSI disk does not rotate"
[ "$(cat "/sys/block/${slow##*/}/queue/write_cache")" = "write back" ] ||
	fail "the SCSI disk has no volatile cache"

need_module ext4
need_module xfs
mkdir /mnt/fs
dmsetup create fast --table "0 $(sectors "$fast") linear $fast 0"
mkfs.ext4 -q /dev/mapper/fast
mount /dev/mapper/fast /mnt/fs
echo kept >/mnt/fs/file
umount /mnt/fs
e2fsck -fn /dev/mapper/fast
mkfs.xfs -q "$slow"
mount "$slow" /mnt/fs
umount /mnt/fs
xfs_repair -n "$slow"
