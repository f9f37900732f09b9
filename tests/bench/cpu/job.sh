# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# The guest's half of bench-cpu: makes the devices, brings their caches into a known state
# and has iocost measure. Prints, for ./run to read:
#
#	kernel RELEASE
#	cost WORKLOAD.SIZE DEVICE COST...	instructions an I/O, a figure a round
#	before|after WORKLOAD.SIZE STATUS...	optcache's counters around it
#
#	QUICK=1		only what has a bound
#	PEERS="..."	of dmcache, writecache, bcache
#
# Every device has memory-backed disks of its own that complete in the caller's context,
# so nothing is ever waited for, and all that runs is work for the I/O. Places, in MiB:
#
#	0	HIT	in the cache, dirty
#	32	CLEAN	in the cache, clean: three rounds of 8
#	56	NEW	never seen before: three rounds of 8
#	80	SYNCED	the same for durable writes: three rounds of 4
#	92	MISS	on the origin, to be filled: three rounds of 8
#	116	BYPASS	on the origin, read in a stream: 16

QUICK=${QUICK:-}
PEERS=${PEERS:-}
MIB=192
SECTORS=$((MIB * 2048))

# path DEVICE
path()
{
	case $1 in
	raw) echo /dev/raw ;;
	bcache) echo /dev/bcache0 ;;
	*) echo "/dev/mapper/$1" ;;
	esac
}

# ram NAME MIB: a disk of memory that completes at once. All of the memory is there from
# the start: to get or to miss a page costs other instructions than to copy one.
ram()
{
	null_disk "$1" "$2" irqmode=0 queue_mode=2 submit_queues=1
	for r_knob in scheduler=none add_random=0; do
		echo "${r_knob#*=}" >"/sys/block/$1/queue/${r_knob%%=*}"
	done
	dd if=/dev/zero of="/dev/$1" bs=1M count="$2" oflag=direct 2>/dev/null
}

# fill DEVICE MIB FROM: write it once, in large pieces.
fill()
{
	iocost -o write -s 1048576 -n "$2" -r 1 -a "$3" -q "$1" >/dev/null || fail "fill $*"
}

# ---- devices ------------------------------------------------------------

make_linear()
{
	ram raw $MIB
	dmsetup create linear --table "0 $SECTORS linear /dev/raw 0"
}

make_null()
{
	load_module dm-flushnull
	dmsetup create null --table "0 $SECTORS flushnull /dev/raw"
}

st()
{
	dmsetup status optcache | tr ' ' '\n' | sed -n "s/^$1=//p"
}

st_is()
{
	[ "$(st "$1")" = "$2" ]
}

# Large enough that nothing has to leave it, and with write-back asleep.
make_optcache()
{
	ram oc_fast $MIB
	ram oc_slow $MIB
	need_module libcrc32c
	load_module dm-optcache
	dmsetup create optcache --table "0 $SECTORS optcache /dev/oc_fast /dev/oc_slow 9 format \
		seq_cutoff 0 writeback_delay 3600 dirty_high 95 dirty_low 94"
	if [ -z "$QUICK" ]; then
		fill "$(path optcache)" 24 32
		dmsetup message optcache 0 flush
		wait_for 60 st_is flush idle
		st_is dirty 0 || fail "dirty after a flush: $(st dirty)"
	fi
	fill "$(path optcache)" 32 0
	st_is dirty 8192 || fail "$(st dirty) of 8192 blocks are dirty"
}

# A write that covers one of its blocks brings it into the cache.
make_dmcache()
{
	ram dc_meta 16
	ram dc_fast $MIB
	ram dc_slow $MIB
	need_module dm-cache-smq
	dmsetup create dmcache --table "0 $SECTORS cache /dev/dc_meta /dev/dc_fast /dev/dc_slow 64 \
		2 metadata2 writeback smq 0"
	iocost -o write -s 32768 -n 1024 -r 1 -q /dev/mapper/dmcache >/dev/null
	dmsetup status dmcache
}

make_writecache()
{
	ram wc_fast $MIB
	ram wc_slow $MIB
	need_module dm-writecache
	dmsetup create writecache --table "0 $SECTORS writecache s /dev/wc_slow /dev/wc_fast 4096 0"
	fill /dev/mapper/writecache 32 0
	dmsetup status writecache
}

# It writes in place nowhere, so it gets room for all that is written here.
make_bcache()
{
	ram bc_fast 768
	ram bc_slow $((MIB + 8))
	need_module bcache
	make-bcache -w 4k -b 128k -C /dev/bc_fast >/tmp/bcache.log
	make-bcache -w 4k -B /dev/bc_slow >/dev/null
	echo /dev/bc_fast >/sys/fs/bcache/register
	echo /dev/bc_slow >/sys/fs/bcache/register
	wait_for 10 [ -e /sys/block/bcache0/bcache/attach ]
	sed -n 's/^Set UUID:[ \t]*//p' /tmp/bcache.log >/sys/block/bcache0/bcache/attach
	for b_knob in cache_mode=writeback sequential_cutoff=0 writeback_percent=40 \
		writeback_running=0; do
		echo "${b_knob#*=}" >"/sys/block/bcache0/bcache/${b_knob%%=*}"
	done
	for b_set in /sys/fs/bcache/*-*-*; do
		echo 0 >"$b_set/congested_read_threshold_us"
		echo 0 >"$b_set/congested_write_threshold_us"
	done
	fill /dev/bcache0 32 0
	echo "bcache: $(cat /sys/block/bcache0/bcache/state)"
}

# ---- measuring ----------------------------------------------------------

# measure NAME "DEVICES" IOCOST-ARGUMENT...
measure()
{
	m_name=$1
	m_paths=
	for m_device in $2; do
		m_paths="$m_paths $(path "$m_device")"
	done
	shift 2
	# the last records of what was done before
	sleep 1
	echo "before $m_name $(dmsetup status optcache)"
	# shellcheck disable=SC2086
	iocost "$@" $m_paths >/tmp/costs || fail "$m_name"
	echo "after $m_name $(dmsetup status optcache)"
	sed -n "s|^/dev/\(mapper/\)\?\([a-z]*\)0\? |cost $m_name \2 |p" /tmp/costs
}

[ "$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)" = tsc ] ||
	fail "the clock does not count instructions"
echo "kernel $(uname -r)"

make_linear
make_null
make_optcache
for peer in $PEERS; do
	"make_$peer"
done

OURS="raw linear optcache"
ALL="$OURS $PEERS"
# fdatasync makes the block layer ask whoever takes flushes, so it has a floor of its own
DURABLE="raw linear null optcache $PEERS"

measure read_hit.4k "$ALL" -o read
measure write_hit_dirty.4k "$ALL" -o write
measure write_fdatasync_dirty.4k "$DURABLE" -o sync -n 2048
measure write_fdatasync_new.4k "$DURABLE" -o sync -n 1024 -f -a 80
if [ -z "$QUICK" ]; then
	# in a row again, where overwriting has moved it
	for peer in $PEERS; do
		fill "$(path "$peer")" 32 0
	done
	measure read_hit.128k "$ALL" -o read -s 131072 -n 256
	measure read_hit.1m "$ALL" -o read -s 1048576 -n 32
	measure write_hit_dirty.128k "$ALL" -o write -s 131072 -n 256
	measure write_hit_dirty.1m "$ALL" -o write -s 1048576 -n 32
	measure write_hit_clean.4k "$OURS" -o write -n 2048 -f -a 32
	measure write_new.4k "$ALL" -o write -n 2048 -f -a 56
	measure read_miss.4k "$OURS" -o read -n 2048 -f -a 92 -y
	dmsetup message optcache 0 set seq_cutoff 4
	measure read_bypass.4k "$OURS" -o read -n 4096 -q -a 116
fi
