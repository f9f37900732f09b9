# shellcheck shell=sh
# shellcheck disable=SC2015,SC2017,SC2013,SC2143,SC2254,SC2120
# SPDX-License-Identifier: GPL-2.0-only
# What the suites share. A suite is a job of the lab that begins with
#
#	. "$LAB_FILES/lib.sh"
#
# and is then a list of functions, each of them run by "t": one test, one TAP line.
# A test starts with no device, and whatever it leaves is taken down after it.
#
#   TIER   fast or full; "more FAST FULL" picks one of two numbers
#   C      the cached device, once "cache" has made it
#   FAST   the cache device, SLOW the origin: "fast" and "slow" make them
#
# In UML both are model devices (labdev); in QEMU they are pieces of the emulated
# NVMe namespace and of the SCSI disk.

TIER=${TIER:-fast}
ONLY=${ONLY:-}
C=/dev/mapper/c
FAST=
SLOW=
labdev=/sys/kernel/debug/labdev

t_count=0
t_failed=0

# ---- results ------------------------------------------------------------

# On the console, where the kernel may write into the line; and in a file, which counts.
tap()
{
	echo "$*"
	echo "$*" >>"$LAB_RESULTS/tap"
}

fail()
{
	tap "# FAIL: $*"
	exit 1
}

more()
{
	if [ "$TIER" = full ]; then
		echo "$2"
	else
		echo "$1"
	fi
}

# t WHAT FUNCTION [ARGUMENT...]: run a test in a shell of its own.
t()
{
	t_what=$1
	shift
	case ",$ONLY," in
	,, | *",$1,"*) ;;
	*) return 0 ;;
	esac
	t_count=$((t_count + 1))
	mark
	set +e
	(
		set -ex
		"$@"
	) 2>/tmp/t.trace
	t_status=$?
	set -e
	[ $t_status = 0 ] || tap "$(tail -n 6 /tmp/t.trace | cut -c1-200 | sed 's/^/#   /')"
	clean_up || t_status=1
	if [ $t_status = 0 ]; then
		tap "ok $t_count - $t_what"
	else
		t_failed=$((t_failed + 1))
		tap "not ok $t_count - $t_what"
	fi
}

# The last two tests of every suite: the module goes, and leaves nothing.
finish()
{
	t "the module can be unloaded" unload
	t "no memory is lost" no_leaks
	tap "1..$t_count"
	[ $t_failed -eq 0 ] || fail "$t_failed of $t_count"
}

unload()
{
	rmmod dm-optcache
}

# need_fs TYPE: the kernel can mount it.
need_fs()
{
	grep -qw "$1" /proc/filesystems || modprobe "$1" || fail "this kernel has no $1"
}

is()
{
	[ "$1" = "$2" ] || fail "is '$1', should be '$2'${3:+: $3}"
}

# The command must fail.
refused()
{
	if "$@" >/tmp/refused 2>&1; then
		fail "this should have been refused: $*"
	fi
}

# ---- the kernel's log ---------------------------------------------------

mark()
{
	echo "functional: mark" >/dev/kmsg
}

# Lines since the last mark.
klog()
{
	dmesg | sed -e 's/^\[[^]]*\] //' | awk '/^functional: mark/ { n = 0; next } { line[n++] = $0 }
		END { for (i = 0; i < n; i++) print line[i] }'
}

# ---- devices ------------------------------------------------------------

in_uml()
{
	grep -q "User Mode Linux" /proc/cpuinfo
}

need_labdev()
{
	[ -d $labdev ] || load_module labdev
}

order()
{
	echo "$*" >$labdev/control
}

# stat_of DEVICE KEY: a counter of a model device.
stat_of()
{
	while IFS='=' read -r so_key so_value; do
		[ "$so_key" != "$2" ] || echo "$so_value"
	done <"$labdev/${1##*/}"
}

reset_stats()
{
	for rs_dev in "$@"; do
		echo 0 >"$labdev/${rs_dev##*/}"
	done
}

# A piece of an emulated disk, zeroed: piece NAME DISK SECTORS.
piece()
{
	blkdiscard -f -z -l $(($3 * 512)) "$2" 2>/dev/null || blkdiscard -z -l $(($3 * 512)) "$2" ||
		dd if=/dev/zero of="$2" bs=512 count="$3" conv=fsync 2>/dev/null
	dmsetup create "$1" --table "0 $3 linear $2 0"
}

# fast MB [labdev parameter...]: the cache device.
fast()
{
	fast_mb=$1
	shift
	if in_uml; then
		need_labdev
		order add name=fast model="${MODEL_FAST:-ram}" size_mb="$fast_mb" "$@"
		FAST=/dev/fast
	else
		piece fast "$(disk 0)" $((fast_mb * 2048))
		FAST=/dev/mapper/fast
	fi
}

slow()
{
	slow_mb=$1
	shift
	if in_uml; then
		need_labdev
		order add name=slow model="${MODEL_SLOW:-ram}" size_mb="$slow_mb" "$@"
		SLOW=/dev/slow
	else
		piece slow "$(disk 1)" $((slow_mb * 2048))
		SLOW=/dev/mapper/slow
	fi
}

# Device models that take some time, so that things can happen meanwhile: a tenth of a
# real disk's, because tests are many.
timed()
{
	MODEL_FAST=optane
	MODEL_SLOW=disk
	SLOW_TIMES="settle_us=100 stroke_us=1000 rpm=60000"
}
SLOW_TIMES=

# models FAST SLOW: model devices with these parameters, even where there are disks.
models()
{
	need_labdev
	order add name=fast "$1"
	order add name=slow "$2"
	FAST=/dev/fast
	SLOW=/dev/slow
}

# trimmed NAME DEVICE SECTORS: a device of just so many sectors.
trimmed()
{
	dmsetup create "$1" --table "0 $3 linear $2 0"
}

# pair FAST_MB SLOW_MB
pair()
{
	fast "$1"
	# shellcheck disable=SC2086
	slow "$2" $SLOW_TIMES
}

# ---- the cache ----------------------------------------------------------

table()
{
	echo "0 $(sectors "$SLOW") optcache $FAST $SLOW $# $*"
}

# cache [ARGUMENT...]: make the cached device c of FAST and SLOW.
cache()
{
	dmsetup create c --table "$(table "$@")"
}

new_cache()
{
	cache format "$@"
}

message()
{
	dmsetup message c 0 "$@"
}

# field LINE KEY: its value. Without a process: UML takes its time to make one.
field()
{
	case " $1 " in
	*" $2="*) ;;
	*) return 0 ;;
	esac
	field_is=" $1 "
	field_is=${field_is#*" $2="}
	echo "${field_is%% *}"
}

st()
{
	field "$(dmsetup status c)" "$1"
}

st_is()
{
	[ "$(st "$1")" = "$2" ]
}

# What is written stays in the cache, and dirty.
keep_dirty()
{
	message set writeback_delay 3600
	message set dirty_high 95
	message set seq_cutoff 0
}

flush()
{
	message flush
	wait_for 60 st_is flush idle
	is "$(st dirty)" 0 "dirty after a flush"
}

drop()
{
	message drop-clean
	sleep 0.3
}

stop()
{
	dmsetup remove c
}

# read_back SECTOR COUNT: what a reader of the cached device gets.
read_back()
{
	timeout 30 dd if=$C bs=32k skip=$(($1 * 512)) count=$(($2 * 512)) \
		iflag=direct,skip_bytes,count_bytes 2>/dev/null
}

# The kernel's own cached pages of a device go, then its checksum.
sum()
{
	sync
	blockdev --flushbufs "$1"
	sha256sum <"$1" | cut -c1-64
}

# What the cached device says must be what the origin alone says afterwards.
same_without_cache()
{
	with=$(sum $C)
	flush
	stop
	is "$(sum "$SLOW")" "$with" "the origin alone, after flush and remove"
}

sane_status()
{
	ss_line=$(dmsetup status c)
	ss_dirty=$(field "$ss_line" dirty)
	ss_mapped=$(field "$ss_line" mapped)
	ss_slots=$(field "$ss_line" slots)
	[ "$ss_dirty" -ge 0 ] && [ "$ss_dirty" -le "$ss_mapped" ] &&
		[ "$ss_mapped" -le "$ss_slots" ] && [ "$(field "$ss_line" free)" -le "$ss_slots" ] ||
		fail "insane status: $ss_line"
}

# inject KNOB KEY=VALUE...: the kernel's fault injection, off with probability=0.
inject()
{
	inject_dir=/sys/kernel/debug/$1
	shift
	for inject_pair in verbose=0 times=-1 "$@"; do
		echo "${inject_pair#*=}" >"$inject_dir/${inject_pair%%=*}"
	done
}

# power_on [anyway]: after a cut; anyway: there may be no cached device.
power_on()
{
	timeout 60 dmsetup remove c 2>/dev/null || [ -n "${1:-}" ] || fail "cannot be removed after the cut"
	# what the module remembers of a device that was gone does not outlive a power cut either
	rmmod dm-optcache
	load_module dm-optcache
	order restore fast slow
}

# ---- load ---------------------------------------------------------------

# verify ARGUMENT...: fio with checksums; quiet when it passes.
verify()
{
	timeout 600 fio --output=/tmp/fio.log --thread --direct=1 --verify=crc32c --verify_fatal=1 \
		--verify_dump=0 --serialize_overlap=1 --group_reporting --ioengine=libaio \
		--iodepth=16 --name=verify --filename="$C" "$@" >/tmp/fio.err 2>&1 || {
		grep -v '^ ' /tmp/fio.err /tmp/fio.log | tail -15
		fail "fio: $*"
	}
}

# storm IO [ARGUMENT...]: checksums in three thirds of the device that do not begin on
# block boundaries, each in another way, and a reader all over. About IO bytes each.
storm()
{
	storm_io=$1
	shift
	storm_third=$((($(sectors "${DEV:-$C}") - 3) / 3 * 512))
	[ $((storm_third / 512 % 8)) -ne 0 ] || storm_third=$((storm_third - 512))
	storm_engine=libaio
	if grep -q io_uring_setup /proc/kallsyms 2>/dev/null; then
		storm_engine=io_uring
	fi
	timeout 900 fio --output=/tmp/fio.log --name=global --thread --direct=1 --verify=crc32c \
		--verify_fatal=1 --verify_dump=0 --serialize_overlap=1 --group_reporting \
		--filename="${DEV:-$C}" --size=$storm_third --blockalign=512 "$@" \
		--name=any --ioengine=libaio --iodepth=32 --rw=randrw --bsrange=512-1M \
		--io_size="$storm_io" \
		--name=small --ioengine=$storm_engine --iodepth=8 --rw=randrw --bsrange=512-16k \
		--offset=$storm_third --io_size=$((storm_io / 4)) --iomem_align=512 \
		--name=synced --ioengine=psync --rw=randwrite --bs=4k --blockalign=4k \
		--offset=$((2 * storm_third + 512)) --io_size=$((storm_io / 16)) --fsync=16 \
		--name=readers --ioengine=libaio --iodepth=4 --rw=randread --bsrange=512-256k \
		--verify=0 --size=$((3 * storm_third)) --io_size="$storm_io" >/tmp/fio.err 2>&1 || {
		grep -hv '^ ' /tmp/fio.err /tmp/fio.log | tail -15
		fail "fio: storm $storm_io $*"
	}
}

# load ARGUMENT...: fio without checksums.
load()
{
	timeout 600 fio --output=/tmp/load.log --thread --direct=1 --group_reporting \
		--ioengine=libaio --iodepth=16 --name=load --filename="$C" "$@" \
		>/tmp/load.err 2>&1 || {
		tail -5 /tmp/load.err /tmp/load.log
		fail "fio: $*"
	}
}

# noise DEVICE MIB [SECTOR]: random bytes.
noise()
{
	dd if=/dev/urandom of="$1" bs=4096 seek=$((${3:-0} / 8)) count=$(($2 * 256)) conv=notrunc,fsync \
		2>/dev/null || fail "noise $*"
}

# ---- taking down --------------------------------------------------------
# All of it by the shell itself: after every test, and a process takes UML 50 ms.

mounted()
{
	while read -r _ mo_at _; do
		[ "$mo_at" != "$1" ] || return 0
	done </proc/mounts
	return 1
}

# each_dm COMMAND...: with the name of each device of device-mapper.
each_dm()
{
	for ed_block in /sys/block/dm-*; do
		[ -e "$ed_block/dm/name" ] || continue
		read -r ed_name <"$ed_block/dm/name"
		"$@" "$ed_name"
	done
}

# each_model COMMAND...: with the name of each model device.
each_model()
{
	[ -d $labdev ] || return 0
	# read before they change
	em_all=
	while read -r em_word _; do
		case $em_word in name=*) em_all="$em_all ${em_word#name=}" ;; esac
	done <$labdev/control
	for em_dev in $em_all; do
		"$@" "$em_dev" || return 1
	done
}

power_up()
{
	order heal "$1"
	case $(stat_of "$1" state) in
	vanished) order return "$1" ;;
	cut) order restore "$1" ;;
	esac
}

take_down()
{
	dmsetup resume "$1" >/dev/null 2>&1 || :
	dmsetup remove "$1" >/dev/null 2>&1
}

take_down_by_force()
{
	take_down "$1" || dmsetup remove --force "$1" >/dev/null 2>&1 || :
}

clean_up()
{
	jobs -p >/tmp/jobs
	while read -r cu_job; do
		kill "$cu_job" 2>/dev/null || :
	done </tmp/jobs
	! mounted /mnt/t || umount /mnt/t 2>/dev/null || :
	if [ -d $labdev ]; then
		order disarm
		each_model power_up
	fi
	# some hold others
	for cu_how in take_down take_down take_down_by_force take_down_by_force; do
		each_dm $cu_how
	done
	for cu_loop in /sys/block/loop*/loop/backing_file; do
		cu_loop=${cu_loop#/sys/block/}
		[ ! -e "/sys/block/$cu_loop" ] || losetup -d "/dev/${cu_loop%%/*}" 2>/dev/null || :
	done
	[ -z "$(each_dm echo)" ] || {
		echo "# cannot take down:"
		dmsetup ls
		return 1
	}
	each_model order del
}

mkdir -p /mnt/t
# what the module needs of the kernel, and insmod does not fetch
for lib_needs in crc32c libcrc32c; do
	modprobe $lib_needs 2>/dev/null || :
done
load_module dm-optcache
