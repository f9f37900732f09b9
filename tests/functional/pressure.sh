# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034,SC2119 # device names hold no spaces; lib.sh uses the rest
# Little memory (G6): what frees memory goes through the cache, and does not need any.
# The guest is small.
# shellcheck source=tests/functional/lib.sh
. "$LAB_FILES/lib.sh"

# The model devices keep their content in the same memory: all of it is there beforehand, so
# that they need none for a write.
full_pair()
{
	need_labdev
	[ -d /sys/kernel/debug/labgen ] || load_module labgen
	order add name=fast model=ram size_mb="$1"
	order add name=slow model=ram size_mb="$2"
	FAST=/dev/fast
	SLOW=/dev/slow
	echo "dev=$FAST op=write bs=1M n=$1 verify=1 gen=1" >/sys/kernel/debug/labgen/run
	echo "dev=$SLOW op=write bs=1M n=$2 verify=1 gen=1" >/sys/kernel/debug/labgen/run
	# where a format looks
	dd if=/dev/zero of=$FAST bs=256k count=1 oflag=direct conv=notrunc 2>/dev/null
}

left_of()
{
	cat "/sys/kernel/debug/$1/times"
}

# Allocations that may not wait fail, as the first try of every pool is one: nine of ten in
# slabs, half of those of pages.
no_atomic_memory()
{
	full_pair 4 16
	new_cache "$1" seq_cutoff 0 writeback_delay 0
	inject failslab task-filter=N ignore-gfp-wait=Y probability=90 times=1000000
	inject fail_page_alloc task-filter=N ignore-gfp-wait=Y min-order=0 probability=50 times=1000000
	# not by io_uring, which asks for errors instead of waiting and gets some
	verify --rw=randrw --bsrange=512-256k --blockalign=512 --size=8M --io_size=2M --fsync=16
	verify --rw=randwrite --bs=4k --offset=8M --size=8M --io_size=1M
	message flush
	wait_for 60 st_is flush idle
	inject failslab probability=0 times="$(left_of failslab)"
	inject fail_page_alloc probability=0 times="$(left_of fail_page_alloc)"
	say "$((1000000 - $(left_of failslab))) in slabs and" \
		"$((1000000 - $(left_of fail_page_alloc))) of pages have failed"
	[ "$(left_of failslab)" -lt 999000 ] || fail "no allocation has failed"
	is "$(st health)" ok
	sane_status
	same_without_cache
}

swap_off()
{
	swapoff /dev/mapper/swap 2>/dev/null || :
}

available()
{
	sed -n 's/^MemAvailable: *\([0-9]*\)... kB/\1/p' /proc/meminfo
}

# More memory is used than there is, with swap and a dirty file system on the cached device.
swap()
{
	full_pair 8 80
	new_cache "$1" writeback_delay 0
	trimmed swap $C $((48 * 2048))
	dmsetup create files --table "0 $((32 * 2048)) linear $C $((48 * 2048))"
	mkfs.ext4 -q -F /dev/mapper/files
	mount -t ext4 /dev/mapper/files /mnt/t
	mkswap /dev/mapper/swap >/dev/null
	swapon /dev/mapper/swap
	trap swap_off EXIT
	# what cannot be swapped out, so that little has to be
	ballast=$(($(available) - 30))
	order add name=ballast model=ram size_mb=$ballast
	echo "dev=/dev/ballast op=write bs=1M n=$ballast verify=1 gen=1" >/sys/kernel/debug/labgen/run
	dd if=/dev/urandom of=/mnt/t/file bs=64k count=128 2>/dev/null &
	writer=$!
	timeout 120 python3 -c '
import hashlib, os
piece, was = [], []
for _ in range(40):
    piece.append(os.urandom(1 << 20))
    was.append(hashlib.sha1(piece[-1]).digest())
assert [hashlib.sha1(p).digest() for p in piece] == was, "wrong data was swapped in"
' || fail "the program that needs memory ended with status $?"
	wait $writer
	swapped=$(sed -n 's/^pswpout //p' /proc/vmstat)
	say "$swapped pages were swapped out"
	[ "$swapped" -gt 2048 ] || fail "only $swapped pages were swapped out"
	swapoff /dev/mapper/swap
	sync
	umount /mnt/t
	e2fsck -fn /dev/mapper/files >/tmp/fsck 2>&1 || fail "$(cat /tmp/fsck)"
	dmsetup remove files
	dmsetup remove swap
	same_without_cache
}

for mode in writeback writethrough; do
	t "$mode: allocations that may not wait fail" no_atomic_memory $mode
done
for mode in $(more writeback "writeback writethrough"); do
	t "$mode: swap and a file system when memory is short" swap $mode
done
finish
