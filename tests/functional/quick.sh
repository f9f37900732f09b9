# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034,SC2119 # device names hold no spaces; lib.sh uses the rest
# A little of everything, for one short boot of each stock kernel.
# shellcheck source=tests/functional/lib.sh
. "$LAB_FILES/lib.sh"

M=/mnt/t

whole_disks()
{
	FAST=$(disk 0)
	SLOW=$(disk 1)
	dd if=/dev/zero of="$FAST" bs=1M count=2 conv=fsync 2>/dev/null
	new_cache
	storm $((3 << 20)) --randseed=1
	sane_status
	verify --rw=randwrite --bs=4k --size=16M --io_size=1M --fdatasync=4
	flush
	stop
	cache
	verify --rw=randrw --bsrange=512-64k --blockalign=512 --size=16M --io_size=2M
	flush
}

in_mode()
{
	pair 4 16
	new_cache "$1"
	storm $((1 << 20))
	sane_status
	same_without_cache
}

options()
{
	pair 4 16
	new_cache
	keep_dirty
	dd if=/dev/urandom of=$C bs=4096 count=100 oflag=direct conv=notrunc 2>/dev/null
	is "$(st dirty)" 100
	dmsetup table c >/tmp/table
	dmsetup reload c /tmp/table
	dmsetup resume c
	is "$(dmsetup table c)" "$(cat /tmp/table)"
	dmsetup suspend --noflush c
	dmsetup resume c
	stop
	cache
	is "$(st dirty)" 100
	is "$(st writeback_delay)" 3600
	message set mode writethrough
	wait_for 20 st_is dirty 0
	same_without_cache
}

discards()
{
	pair 4 16
	new_cache
	keep_dirty
	dd if=/dev/urandom of=/tmp/w bs=4096 count=64 2>/dev/null
	dd if=/tmp/w of=$C bs=4096 oflag=direct conv=notrunc 2>/dev/null
	blkdiscard -f -o 65536 -l 65536 $C
	is "$(st dirty)" 48
	dd if=$C bs=4096 count=16 iflag=direct 2>/dev/null | cmp -n 65536 - /tmp/w
	dd if=$C bs=65536 skip=1 count=1 iflag=direct 2>/dev/null >/tmp/first
	drop
	dd if=$C bs=65536 skip=1 count=1 iflag=direct 2>/dev/null | cmp - /tmp/first
	blkdiscard -f -z -o 131072 -l 4096 $C
	dd if=$C bs=4096 skip=32 count=1 iflag=direct 2>/dev/null | cmp -n 4096 - /dev/zero
	same_without_cache
}

file_system()
{
	need_fs ext4
	pair 8 64
	mkfs.ext4 -q -F "$SLOW"
	mount -t ext4 "$SLOW" $M
	dd if=/dev/urandom of=$M/before bs=64k count=8 2>/dev/null
	was=$(sha256sum <$M/before)
	umount $M
	new_cache writeback_delay 1
	mount -t ext4 $C $M
	is "$(sha256sum <$M/before)" "$was"
	dd if=/dev/urandom of=$M/during bs=100000 count=40 conv=fsync 2>/dev/null
	is_now=$(sha256sum <$M/during)
	umount $M
	same_without_cache
	e2fsck -fn "$SLOW" >/tmp/fsck 2>&1 || fail "$(cat /tmp/fsck)"
	mount -t ext4 -o ro "$SLOW" $M
	is "$(sha256sum <$M/during)" "$is_now"
	umount $M
}

t "whole disks" whole_disks
for mode in writeback writethrough writearound; do
	t "$mode" in_mode $mode
done
t "options, reload, suspend, restart" options
t "discard" discards
t "ext4" file_system
finish
