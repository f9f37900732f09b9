# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034,SC2119 # device names hold no spaces; lib.sh uses the rest
# Sizes: the largest, the smallest, and what they cost in memory.
# shellcheck source=tests/functional/lib.sh
. "$LAB_FILES/lib.sh"

TIB=$((1 << 20)) # in MiB

image()
{
	python3 "$LAB_FILES/image.py" "$@"
}

# at SECTOR SEED: 96 KiB that look random, through the cached device.
put()
{
	dd if=/dev/urandom of="/tmp/put.$1" bs=4096 count=24 2>/dev/null
	dd if="/tmp/put.$1" of=$C bs=512 seek="$1" oflag=direct conv=notrunc 2>/dev/null
}

got()
{
	blockdev --flushbufs "$2"
	dd if="$2" bs=512 skip="$1" count=192 2>/dev/null | cmp - "/tmp/put.$1" ||
		fail "$2 at sector $1 is wrong"
}

memory_with()
{
	order add name=fast model=ram size_mb=64
	order add name=slow model=ram size_mb="$1"
	FAST=/dev/fast
	SLOW=/dev/slow
	new_cache
	st memory
	stop
	order del fast
	order del slow
}

# The status says as much with 1 GiB behind the cache as with 40 TiB, and so does the
# kernel: what is gone from its memory (vmalloc included) differs by less than 1 MiB.
memory_and_origin()
{
	need_labdev
	is "$(memory_with $((40 * TIB)))" "$(memory_with 1024)" "memory"
}

# At most 16 bytes a slot, all in.
memory_per_slot()
{
	models "model=ram size_mb=$1" "model=ram size_mb=32768"
	new_cache
	[ "$(st memory)" -le $((16 * $(st slots))) ] ||
		fail "$(st memory) bytes for $(st slots) slots"
}

# Sectors round 2^31 and 2^32, and the last of 40 TiB.
large_origin()
{
	models "model=ram size_mb=16" "model=ram size_mb=$((40 * TIB))"
	new_cache "$1"
	last=$((40 * TIB * 2048 - 192))
	places="0 2147483552 2147484000 4294967200 4294968000 6442450900 8589934500 $last"
	for at in $places; do
		put "$at"
	done
	for at in $places; do
		got "$at" $C
	done
	message drop-clean
	flush
	for at in $places; do
		got "$at" $C
	done
	stop
	for at in $places; do
		got "$at" $SLOW
	done
	cache
	for at in $places; do
		got "$at" $C
	done
}

# Slots that lie across sector 2^31 and 2^32 of the cache device: the superblock says
# where they begin, so few are enough.
large_cache()
{
	need_labdev
	order add name=fast model=ram size_mb=$((3 * TIB))
	order add name=slow model=ram size_mb=64
	trimmed part /dev/fast 32768
	FAST=/dev/mapper/part
	SLOW=/dev/slow
	new_cache
	stop
	dmsetup remove part
	FAST=/dev/fast
	# four MiB before the border, so that a cache of 16 MiB reaches across it
	image set $FAST data_start=$(($1 * 512 - (4 << 20))) cache_sectors=$(($1 + 32768))
	cache
	storm $((8 << 20))
	same_without_cache
}

smallest()
{
	need_labdev
	order add name=fast model=ram size_mb=2
	order add name=slow model=ram size_mb=4
	SLOW=/dev/slow
	size=$((512 * 2))
	trimmed small /dev/fast $size
	FAST=/dev/mapper/small
	new_cache
	[ "$(st slots)" -ge 64 ] || fail "only $(st slots) slots"
	storm $((2 << 20))
	same_without_cache
}

too_small()
{
	need_labdev
	order add name=fast model=ram size_mb=2
	order add name=slow model=ram size_mb=4
	SLOW=/dev/slow
	for size in 1 7 8 16 23 64 128 256 512; do
		trimmed small /dev/fast $size
		FAST=/dev/mapper/small
		before=$(sum $FAST)
		mark
		refused new_cache
		klog | grep -q "too small" || fail "$size sectors: the log does not say why"
		is "$(sum $FAST)" "$before" "the refused device"
		dmsetup remove small
	done
}

# Origins below a block, and of one.
small_origin()
{
	need_labdev
	order add name=fast model=ram size_mb=2
	order add name=slow model=ram size_mb=4
	trimmed small /dev/slow "$1"
	FAST=/dev/fast
	SLOW=/dev/mapper/small
	new_cache
	for round in 1 2 3; do
		dd if=/dev/urandom of=/tmp/all bs=512 count="$1" 2>/dev/null
		dd if=/tmp/all of=$C bs=512 oflag=direct conv=notrunc 2>/dev/null
		dd if=$C bs=512 iflag=direct 2>/dev/null | cmp - /tmp/all
		is "$round" "$round"
	done
	refused dd if=/tmp/all of=$C bs=512 seek="$1" count=1 oflag=direct
	same_without_cache
	cmp /tmp/all $SLOW
}

# Four caches on pieces of one device, at once.
four()
{
	need_labdev
	order add name=fast model=ram size_mb=16
	for i in 0 1 2 3; do
		order add name=slow$i model=ram size_mb=16
		dmsetup create fast$i --table "0 8192 linear /dev/fast $((i * 8192))"
		dmsetup create c$i --table \
			"0 32768 optcache /dev/mapper/fast$i /dev/slow$i 1 format"
		DEV=/dev/mapper/c$i storm $((2 << 20)) --output=/tmp/fio$i.log --randseed=$i &
		jobs="${jobs:-} $!"
	done
	for job in $jobs; do
		wait "$job"
	done
	for i in 0 1 2 3; do
		with=$(sum /dev/mapper/c$i)
		dmsetup message c$i 0 flush
		for second in $(seq 60); do
			dmsetup status c$i | grep -q "dirty=0 .*flush=idle" && break
			[ "$second" -lt 60 ] || fail "c$i is not clean"
			sleep 0.5
		done
		dmsetup remove c$i
		is "$(sum /dev/slow$i)" "$with" "origin $i"
	done
}

t "memory does not depend on the origin: 1 GiB, 40 TiB" memory_and_origin
for mib in 1024 4096 13700; do
	t "memory: at most 16 bytes a slot, $mib MiB" memory_per_slot $mib
done
for mode in writeback writethrough; do
	t "$mode: 40 TiB of origin, sectors past 2^31 and 2^32" large_origin $mode
done
t "slots across sector 2^31" large_cache $((1 << 31))
t "slots across sector 2^32" large_cache $((1 << 32))
t "slots across byte 2^32" large_cache $((1 << 23))
t "slots across byte 2^31" large_cache $((1 << 22))
t "a cache of half a MiB" smallest
t "caches that are too small are refused" too_small
for small in 1 7 8 9; do
	t "an origin of $small sectors" small_origin $small
done
t "four caches at once" four
finish
