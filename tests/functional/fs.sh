# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034,SC2119 # device names hold no spaces; lib.sh uses the rest
# File systems: made before the cache came, used through it, sound without it (G4).
# shellcheck source=tests/functional/lib.sh
. "$LAB_FILES/lib.sh"

M=/mnt/t

# make KIND DEVICE
make_fs()
{
	case $1 in
	ext4) mkfs.ext4 -q -F "$2" ;;
	xfs) mkfs.xfs -q -f "$2" ;;
	xfs512) mkfs.xfs -q -f -l sectsize=512 -s size=512 "$2" ;;
	esac >/tmp/mkfs 2>&1 || {
		cat /tmp/mkfs
		fail "mkfs $1"
	}
}

fstype()
{
	echo "${1%512}"
}

check_fs()
{
	case $1 in
	ext4) e2fsck -fn "$2" ;;
	*) xfs_repair -n "$2" ;;
	esac >/tmp/fsck 2>&1 || {
		tail -20 /tmp/fsck
		fail "$1 on $2 is damaged"
	}
}

mount_fs()
{
	mount -t "$(fstype "$1")" ${3:+-o "$3"} "$2" $M
}

# files PREFIX COUNT: of many sizes, with their checksums beside them.
files()
{
	f_i=0
	mkdir -p "$M/$1"
	while [ $f_i -lt "$2" ]; do
		dd if=/dev/urandom of="$M/$1/$f_i" bs=$((1000 + f_i * 997 % 30000)) count=$((1 + f_i % 5)) \
			2>/dev/null
		[ $((f_i % 8)) != 0 ] || sync "$M/$1/$f_i" 2>/dev/null || sync
		f_i=$((f_i + 1))
	done
	(cd "$M/$1" && sha256sum [0-9]* >"/tmp/sums.$1")
}

check_files()
{
	for cf in "$@"; do
		(cd "$M/$cf" && sha256sum -c "/tmp/sums.$cf" >/tmp/sums.out 2>&1) || {
			grep -v ': OK' /tmp/sums.out | head -5
			fail "files of $cf are damaged"
		}
	done
}

life()
{
	need_fs "$(fstype "$1")"
	pair "$(more 24 128)" 320
	make_fs "$1" "$SLOW"
	mount_fs "$1" "$SLOW"
	files before "$(more 30 300)"
	umount $M

	new_cache "$2" writeback_delay 1
	check_fs "$1" $C
	mount_fs "$1" $C
	check_files before
	files first "$(more 40 400)"
	rm -rf $M/first/1*
	(cd $M/first && sha256sum [0-9]* >/tmp/sums.first)
	umount $M
	check_fs "$1" $C

	mount_fs "$1" $C
	check_files before first
	fstrim $M 2>/dev/null || say "no fstrim"
	check_files before first
	fio --output=/tmp/fio.log --thread --name=f --directory=$M --rw=randrw --bsrange=4k-64k --size=6M \
		--numjobs=2 --fsync=16 --verify=crc32c --verify_fatal=1 --end_fsync=1 >/dev/null 2>&1 ||
		fail "fio on $1"
	files second "$(more 20 200)"
	umount $M
	stop

	# a restart in between, and the same pair in another mode
	cache "$3"
	check_fs "$1" $C
	mount_fs "$1" $C
	check_files before first second
	umount $M
	same_without_cache
	check_fs "$1" "$SLOW"
	mount_fs "$1" "$SLOW" ro
	check_files before first second
	umount $M
}

# The file system is frozen and thawed by suspend while it is written.
frozen()
{
	need_fs "$1"
	pair 16 320
	make_fs "$1" "$SLOW"
	new_cache writeback_delay 1
	mount_fs "$1" $C
	files here 100 &
	writer=$!
	while kill -0 $writer 2>/dev/null; do
		dmsetup suspend c
		sleep 0.1
		dmsetup resume c
		sleep 0.2
	done
	wait $writer
	check_files here
	umount $M
	same_without_cache
	check_fs "$1" "$SLOW"
}

# Mounted with discard: every deletion discards (row 60), on an origin that takes them or
# not; and what mkfs has made outlives a restart (row 23).
with_discard()
{
	need_fs "$1"
	fast 16
	slow 320 discard="$2"
	new_cache writeback_delay 0
	make_fs "$1" $C
	stop
	cache
	mount_fs "$1" $C discard
	for round in 1 2 3; do
		files round$round "$(more 15 100)"
		dd if=/dev/urandom of=$M/big bs=1M count="$(more 20 200)" 2>/dev/null
		sync $M/big 2>/dev/null || sync
		rm $M/big
		rm -rf $M/round$((round - 1))
		sync
	done
	check_files round3
	umount $M
	check_fs "$1" $C
	same_without_cache
	check_fs "$1" "$SLOW"
}

t "ext4 in writeback" life ext4 writeback writethrough
t "xfs in writeback" life xfs writeback passthrough
t "xfs with 512-byte sectors in writeback" life xfs512 writeback writeback
t "xfs with 512-byte sectors in writethrough" life xfs512 writethrough writeback
t "ext4 in writearound" life ext4 writearound writeback
t "ext4 frozen and thawed" frozen ext4
t "xfs frozen and thawed" frozen xfs
t "ext4 with discard" with_discard ext4 1
t "xfs with discard" with_discard xfs 0
finish
