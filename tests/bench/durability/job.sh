# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# The guest's half of the suite: puts each target in front of a model disk and measures durable
# writes, one at a time and from 16 writers, in simulated time. Prints, for ./run to read:
#
#	kernel RELEASE
#	measured TARGET WAY KIND disk=COMMANDS ios=N ... ns=N ...	(labgen's result)
#	before|after WAY KIND STATUS...		optcache's counters around it
#
#	MODEL=... VOLATILE=0|1	the cache device
#	TARGETS="..."		of raw optcache dmcache writecache bcache
#	N=... SEED=...		writes a measurement, and which ones
#
# WAY: fua, flush (each write has a flush of its own after it), or writers (16 of the latter).
# Every target does the same writes in the same order on fresh devices. Places, in MiB:
#
#	0	FUA	for each way, all of it within 512:
#	512	FLUSH		0	dirty	written before
#	1024	WRITERS		32	clean	written before, and written back
#				64	new	never seen before
#				128	new_512	the same for single sectors, in 256 MiB

FAST_MIB=2048
SLOW_MIB=4096

control=/sys/kernel/debug/labdev/control
slow=/sys/kernel/debug/labdev/slow
gen=/sys/kernel/debug/labgen

# ---- targets: start_X sets $dev, clean_X writes back what is dirty -------

# until_true COMMAND...: the disk takes its time, so ask seldom.
until_true()
{
	u_left=720
	until "$@"; do
		[ $u_left -gt 0 ] || fail "$target: waited an hour in vain for: $*"
		u_left=$((u_left - 1))
		sleep 5
	done
}

start_raw() { dev=/dev/fast; }
clean_raw() { :; }
stop_raw() { :; }

st()
{
	dmsetup status c | tr ' ' '\n' | sed -n "s/^$1=//p"
}

start_optcache()
{
	dmsetup create c --table "0 $(sectors /dev/slow) optcache /dev/fast /dev/slow 3 \
		format writeback_delay 3600"
	dev=/dev/mapper/c
}

oc_is_clean()
{
	[ "$(st flush) $(st dirty)" = "idle 0" ]
}

clean_optcache()
{
	dmsetup message c 0 flush
	until_true oc_is_clean
}

stop_optcache() { dmsetup remove c; }

# Its metadata are on the cache device, too.
start_dmcache()
{
	dm_meta=32768
	dmsetup create meta --table "0 $dm_meta linear /dev/fast 0"
	dmsetup create data --table "0 $(($(sectors /dev/fast) - dm_meta)) linear /dev/fast $dm_meta"
	dmsetup create c --table "0 $(sectors /dev/slow) cache /dev/mapper/meta /dev/mapper/data \
		/dev/slow 64 2 metadata2 writeback smq 0"
	dev=/dev/mapper/c
}

dc_is_clean()
{
	[ "$(dmsetup status c | cut -d ' ' -f 14)" = 0 ]
}

# It writes back by itself when nothing else is going on.
clean_dmcache() { until_true dc_is_clean; }
stop_dmcache() { dmsetup remove c; dmsetup remove data; dmsetup remove meta; }

start_writecache()
{
	dmsetup create c --table "0 $(sectors /dev/slow) writecache s /dev/slow /dev/fast 4096 0"
	dev=/dev/mapper/c
}

# It forgets what it has written back.
clean_writecache() { dmsetup message c 0 flush; }
stop_writecache() { dmsetup remove c; }

start_bcache()
{
	make-bcache -b 128k -C /dev/fast >/tmp/bcache.log
	make-bcache -B /dev/slow >/dev/null
	echo /dev/fast >/sys/fs/bcache/register
	echo /dev/slow >/sys/fs/bcache/register
	wait_for 10 [ -e /sys/block/bcache0/bcache/attach ]
	bc=/sys/block/bcache0/bcache
	bc_set=$(sed -n 's/^Set UUID:[ \t]*//p' /tmp/bcache.log)
	echo "$bc_set" >"$bc/attach"
	for b_knob in cache_mode=writeback sequential_cutoff=0 writeback_percent=0 \
		writeback_delay=0 writeback_running=0; do
		echo "${b_knob#*=}" >"$bc/${b_knob%%=*}"
	done
	for b_knob in congested_read_threshold_us congested_write_threshold_us; do
		echo 0 >"/sys/fs/bcache/$bc_set/$b_knob"
	done
	dev=/dev/bcache0
}

bc_is_clean()
{
	[ "$(cat "$bc/state")" = clean ]
}

clean_bcache()
{
	echo 1 >"$bc/writeback_running"
	until_true bc_is_clean
	echo 0 >"$bc/writeback_running"
}

stop_bcache()
{
	echo 1 >"$bc/stop"
	echo 1 >"/sys/fs/bcache/$bc_set/stop"
	wait_for 60 [ ! -e "/sys/fs/bcache/$bc_set" ]
}

# ---- measuring ----------------------------------------------------------

load()
{
	echo "id=m dev=$dev op=write rw=perm seed=$SEED $*" >$gen/run
}

status()
{
	[ "$target" != optcache ] || echo "$1 $2 $3 $(dmsetup status c)"
}

# measure WAY KIND OPTION...
measure()
{
	m_way=$1
	m_kind=$2
	shift 2
	# what was left to do from before
	sleep 2
	status before "$m_way" "$m_kind"
	echo 0 >$slow
	load n="$N" "$@"
	m_disk=$(sed -n 's/^ios=//p' $slow)
	echo "measured $target $m_way $m_kind disk=$m_disk $(cat $gen/result)"
	sleep 2
	status after "$m_way" "$m_kind"
}

# fill MIB: 16 MiB from there on, in pieces as large as a block of dm-cache, in random order
fill()
{
	load bs=32k qd=4 n=512 span=16M start="$1M"
}

# all_kinds WAY MIB OPTION...
all_kinds()
{
	a_way=$1
	a_at=$2
	shift 2
	fill $((a_at + 32))
	"clean_$target"
	fill "$a_at"
	measure "$a_way" clean bs=4k span=16M start=$((a_at + 32))M "$@"
	measure "$a_way" dirty bs=4k span=16M start="$a_at"M "$@"
	measure "$a_way" new bs=4k span=64M start=$((a_at + 64))M "$@"
	# writecache with blocks of 4 KiB takes nothing smaller
	[ "$a_way" != writers ] && [ "$(blockdev --getss "$dev")" = 512 ] || return 0
	measure "$a_way" dirty_512 bs=512 span=16M start="$a_at"M "$@"
	measure "$a_way" new_512 bs=512 span=256M start=$((a_at + 128))M "$@"
}

load_module labdev
load_module labgen
load_module dm-optcache
echo "kernel $(uname -r)"
for target in $TARGETS; do
	echo "add name=fast model=$MODEL size_mb=$FAST_MIB volatile=$VOLATILE seed=$SEED" >$control
	echo "add name=slow model=disk-7200 size_mb=$SLOW_MIB seed=$SEED" >$control
	"start_$target"
	all_kinds fua 0 qd=1 fua=1
	all_kinds flush 512 qd=1 flush_every=1
	all_kinds writers 1024 qd=16 flush_every=1
	"stop_$target"
	echo "del fast" >$control
	echo "del slow" >$control
done
