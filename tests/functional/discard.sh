# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034,SC2119 # device names hold no spaces; lib.sh uses the rest
# Discards, zeroes, flushes and FUA.
# shellcheck source=tests/functional/lib.sh
. "$LAB_FILES/lib.sh"

# With -f, blkdiscard does not look for a file system, which would read blocks in.

# disc_pair DISCARD: 8 + 32 MiB, an origin that takes discards or not (model devices); what
# an emulated disk does, it does.
disc_pair()
{
	if in_uml; then
		need_labdev
		order add name=fast model=ram size_mb=8 discard=1
		order add name=slow model=ram size_mb=32 discard="$1" volatile=1
		FAST=/dev/fast
		SLOW=/dev/slow
	else
		pair 8 32
	fi
	noise "$SLOW" 32
	dd if="$SLOW" of=/tmp/old bs=1M 2>/dev/null
	cp /tmp/old /tmp/was
	cp /tmp/old /tmp/middle
	new_cache seq_cutoff 0
	keep_dirty
}

# same SECTOR COUNT FILE: the device has what FILE has there.
same()
{
	blockdev --flushbufs $C
	cmp -n $(($2 * 512)) -i $(($1 * 512)) $C "$3" || fail "sectors $1 + $2 differ from $3"
}

# same_as_first SECTOR COUNT WHEN: what the device holds is still what is in /tmp/first.
same_as_first()
{
	read_back "$1" "$2" | cmp - /tmp/first || fail "not stable over $3"
}

# first_is FILE SECTOR COUNT [AT]: /tmp/first, from its sector AT on, is what FILE has there.
first_is()
{
	cmp -s -n $(($3 * 512)) -i $((${4:-0} * 512)):$(($2 * 512)) /tmp/first "$1"
}

# zero_or_old SECTOR COUNT STEP: zeroes or any earlier value (every STEP-th sector is looked
# at), and the same at every reading, dropped from the cache, and after a restart.
zero_or_old()
{
	blockdev --flushbufs $C
	dd if=$C bs=64K skip=$(($1 * 512)) count=$(($2 * 512)) iflag=skip_bytes,count_bytes \
		2>/dev/null >/tmp/first
	s=0
	! first_is /dev/zero 0 "$2" && ! first_is /tmp/old "$1" "$2" || s=$2
	while [ "$s" -lt "$2" ]; do
		first_is /dev/zero 0 1 "$s" || first_is /tmp/old $(($1 + s)) 1 "$s" ||
			first_is /tmp/middle $(($1 + s)) 1 "$s" || first_is /tmp/was $(($1 + s)) 1 "$s" ||
			fail "sector $(($1 + s)) is neither old nor zero"
		s=$((s + $3))
	done
	for time in 1 2 3; do
		blockdev --flushbufs $C
		cmp -n $(($2 * 512)) -i $(($1 * 512)):0 $C /tmp/first || fail "reading $time differs"
	done
	message drop-clean
	sleep 0.2
	same_as_first "$1" "$2" "an eviction"
	stop
	cache
	same_as_first "$1" "$2" "a restart"
	flush
	same_as_first "$1" "$2" "a flush"
}

# write_at SECTOR COUNT: few sectors one by one, many 64 KiB at a time.
write_at()
{
	size=64K
	[ "$2" -gt 64 ] || size=512
	dd if=/dev/urandom of=/tmp/old bs=64K seek=$(($1 * 512)) count=$(($2 * 512)) \
		iflag=count_bytes oflag=seek_bytes conv=notrunc 2>/dev/null
	dd if=/tmp/old of=$C bs=$size skip=$(($1 * 512)) seek=$(($1 * 512)) count=$(($2 * 512)) \
		iflag=skip_bytes,count_bytes oflag=direct,seek_bytes conv=notrunc 2>/dev/null
}

# Ranges that begin and end a sector beside a block, and beside 1 MiB, where dm cuts.
edges()
{
	disc_pair "$1"
	for at in $(more 2048 "2048 8192 16384"); do
		for off in -1 0 1; do
			for len in 8 2048 2049; do
				begin=$((at + off))
				write_at $((begin - 16)) 16
				write_at $((begin + len)) 16
				blkdiscard -f -o $((begin * 512)) -l $((len * 512)) $C
				same $((begin - 16)) 16 /tmp/old
				same $((begin + len)) 16 /tmp/old
				write_at $begin $len
				same $((begin - 16)) $((len + 32)) /tmp/old
			done
		done
	done
	same 0 65536 /tmp/old
	same_without_cache
	cmp "$SLOW" /tmp/old
}

# Dirty, clean and absent blocks; half of it written again.
stable()
{
	disc_pair "$1"
	write_at 1024 256
	flush
	cp /tmp/old /tmp/middle
	write_at 1024 64
	dd if=$C of=/dev/null bs=512 skip=1400 count=64 iflag=direct 2>/dev/null
	blkdiscard -f -o $((1024 * 512)) -l $((512 * 512)) $C
	zero_or_old 1024 512 8
	blkdiscard -f -o $((1024 * 512)) -l $((512 * 512)) $C
	write_at 1024 256
	same 1024 256 /tmp/old
	zero_or_old 1280 256 8
	same 1024 256 /tmp/old
	same 1536 4096 /tmp/old
	same 0 1024 /tmp/old
	same_without_cache
}

# A discarded dirty block is not dirty any more, and never comes back over new data.
dirty_goes()
{
	disc_pair "$1"
	write_at 0 800
	is "$(st dirty)" 100
	blkdiscard -f -o 0 -l 409600 $C
	is "$(st dirty)" 0
	is "$(st mapped)" 0
	write_at 0 8
	message set mode writearound
	write_at 8 792
	stop
	cache
	same 0 800 /tmp/old
	same_without_cache
}

# To the origin, and only there (row 90).
where_discards_go()
{
	need_labdev
	disc_pair 1
	reset_stats $FAST $SLOW
	blkdiscard -f -o 0 -l $((4 << 20)) $C
	is "$(stat_of $FAST discards)" 0 "discards of the cache device"
	is "$(stat_of $SLOW sectors_discarded)" 8192
	stop
	order del fast
	order del slow
	disc_pair 0
	reset_stats $FAST $SLOW
	blkdiscard -f -o 0 -l $((4 << 20)) $C
	is "$(stat_of $SLOW discards)" 0
}

# Zeroes are written, not hinted: they survive like any write.
zeroes()
{
	disc_pair "$1"
	write_at 0 4096
	for range in "0 8" "8 1" "17 30" "100 300" "1023 1026"; do
		first=${range% *}
		count=${range#* }
		dd if=/dev/zero of=/tmp/old bs=512 seek="$first" count="$count" conv=notrunc 2>/dev/null
		blkdiscard -f -z -o $((first * 512)) -l $((count * 512)) $C
		same 0 4096 /tmp/old
	done
	dd if=/dev/zero of=/tmp/old bs=4096 seek=300 count=64 conv=notrunc 2>/dev/null
	if command -v fallocate >/dev/null; then
		fallocate -z -o $((300 * 4096)) -l $((64 * 4096)) $C
		# a hole is refused by devices without write-zeroes; if it is made, it is one
		if fallocate -p -o $((400 * 4096)) -l $((64 * 4096)) $C; then
			dd if=/dev/zero of=/tmp/old bs=4096 seek=400 count=64 conv=notrunc 2>/dev/null
		fi
	else
		blkdiscard -f -z -o $((300 * 4096)) -l $((64 * 4096)) $C
	fi
	same 0 65536 /tmp/old
	stop
	cache
	same 0 65536 /tmp/old
	same_without_cache
	cmp "$SLOW" /tmp/old
}

whole_device()
{
	disc_pair "$1"
	write_at 500 3000
	blkdiscard -f $C
	is "$(st dirty)" 0
	is "$(st mapped)" 0
	zero_or_old 500 3000 40
	zero_or_old 60000 5000 40
	dd if=/dev/zero of=/tmp/old bs=1M count=32 2>/dev/null
	blkdiscard -f -z $C
	same 0 65536 /tmp/old
	same_without_cache
}

# One discard of terabytes.
huge()
{
	models "model=ram size_mb=8" "model=ram size_mb=$((2 << 20)) discard=1"
	new_cache
	keep_dirty
	dd if=/dev/urandom of=/tmp/w bs=4096 count=64 2>/dev/null
	end=$(more 16777216 268435456)	# 64 GiB, 1 TiB: a debug kernel looks up 256 blocks a MiB slowly
	for at in 0 262144 $((end / 2 + 1024)) "$end"; do
		dd if=/tmp/w of=$C bs=4096 seek=$at oflag=direct conv=notrunc 2>/dev/null
	done
	timeout 300 blkdiscard -f -o $((262144 * 4096 + 512)) -l $(((end - 262144) * 4096)) $C
	dd if=$C bs=4096 count=64 iflag=direct 2>/dev/null | cmp - /tmp/w
	dd if=$C bs=512 skip=$((262144 * 8)) count=8 iflag=direct 2>/dev/null | cmp -n 4096 - /tmp/w
	dd if=$C bs=4096 skip=$((end + 1)) count=63 iflag=direct 2>/dev/null >/tmp/part
	dd if=/tmp/w bs=4096 skip=1 2>/dev/null | cmp - /tmp/part
	is "$(st dirty)" $((64 + 1 + 64))
}

# ---- flush and FUA ------------------------------------------------------

fua_writes()
{
	dd if=/dev/urandom of=$C bs="${1:-4096}" seek="${3:-0}" count="$2" oflag=direct,dsync conv=notrunc \
		2>/dev/null
}

flush_pair()
{
	models "model=ram size_mb=16 volatile=$1" "model=ram size_mb=32 volatile=1"
	new_cache seq_cutoff 0
	keep_dirty
	fua_writes 4096 10
	sync $C
	sleep 0.2
	reset_stats $FAST $SLOW
}

# All is in the cache: an fsync, or a durable write, sends the disk no command at all.
fsync_of_cached()
{
	flush_pair "$1"
	fua_writes 4096 50
	fua_writes 512 50 16001
	for _ in $(seq 20); do
		dd if=/dev/urandom of=$C bs=4096 seek=$_ count=2 oflag=direct conv=notrunc,fsync 2>/dev/null
	done
	dd if=$C of=/dev/null bs=4096 count=50 iflag=direct 2>/dev/null
	sync $C
	is "$(stat_of $SLOW ios)" 0 "commands to the disk"
	[ "$1" = 0 ] || [ "$(($(stat_of $FAST flushes) + $(stat_of $FAST fua)))" -ge 120 ] ||
		fail "a volatile cache device got $(stat_of $FAST flushes) flushes and $(stat_of $FAST fua) FUA"
	[ "$1" = 1 ] || is "$(stat_of $FAST flushes)" 0 "flushes of a device without volatile cache"
}

# A write that reached the disk: the next fsync flushes it, once.
fsync_of_written()
{
	flush_pair 0
	message set mode writethrough
	wait_for 20 st_is dirty 0
	sync $C
	reset_stats $SLOW
	dd if=/dev/urandom of=$C bs=4096 count=1 seek=3000 oflag=direct conv=notrunc,fsync 2>/dev/null
	[ "$(stat_of $SLOW flushes)" -ge 1 ] || fail "the disk was not flushed"
	sync $C
	sleep 0.3
	reset_stats $SLOW
	sync $C
	sync $C
	is "$(stat_of $SLOW flushes)" 0 "flushes with nothing written"
	fua_writes 4096 3 4000
	[ "$(($(stat_of $SLOW flushes) + $(stat_of $SLOW fua)))" -ge 3 ] || fail "FUA was lost on the way"
}

# Hits alone let the disk sleep; so does an idle clean cache (row 101).
disk_sleeps()
{
	flush_pair 0
	flush
	sleep 1
	reset_stats $FAST $SLOW
	dd if=$C of=/dev/null bs=4096 count=10 iflag=direct 2>/dev/null
	sleep "$(more 5 60)"
	is "$(stat_of $SLOW ios)" 0 "commands to the disk"
	is "$(stat_of $FAST writes)" 0 "writes to the cache device"
}

# Not before its delay, and the delay counts from the last write (row 102).
writeback_delay()
{
	models "model=ram size_mb=16" "model=ram size_mb=32 volatile=1"
	new_cache writeback_delay 4
	reset_stats $SLOW
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
		dd if=/dev/urandom of=$C bs=4096 count=1 oflag=direct conv=notrunc 2>/dev/null
		sleep 0.5
	done
	is "$(stat_of $SLOW writes)" 0 "writes to the disk while the block is hot"
	wait_for 20 st_is dirty 0
	is "$(stat_of $SLOW writes)" 1
}

for has in 1 0; do
	t "origin discard=$has: edges of blocks and regions" edges $has
	t "origin discard=$has: stable afterwards" stable $has
	t "origin discard=$has: dirty blocks" dirty_goes $has
	t "origin discard=$has: zeroes" zeroes $has
	t "origin discard=$has: the whole device" whole_device $has
done
t "discards go to the origin alone" where_discards_go
t "a discard of many gigabytes" huge
t "fsync of cached data asks nothing of the disk" fsync_of_cached 0
t "the same with a volatile cache device" fsync_of_cached 1
t "fsync of written data flushes the disk, once" fsync_of_written
t "the disk can sleep" disk_sleeps
t "writeback_delay counts from the last write" writeback_delay
finish
