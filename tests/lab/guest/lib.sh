# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# What jobs may use. A job is sourced after this file, with "set -eu": any
# command that fails ends it, and its status is the status of the whole run.
#
#   LAB_FILES    the files and modules given on the command line (in PATH too)
#   LAB_RESULTS  a directory of the host: what is left there outlives the guest
#   /tmp, /mnt   memory; nothing else is writable

# say TEXT: a line on the console.
say()
{
	echo "# $*"
}

# fail TEXT: end the job.
fail()
{
	echo "FAIL: $*" >&2
	exit 1
}

# load_module NAME [param=value...]: load NAME.ko, given with --module.
load_module()
{
	lab_name=$1
	shift
	# what it depends on, as modprobe would; built in or not
	for lab_dep in $(tr "\000" "\n" <"$LAB_FILES/$lab_name.ko" |
			sed -n "s/^depends=//p" | tr , " "); do
		modprobe "$lab_dep" 2>/dev/null || :
	done
	insmod "$LAB_FILES/$lab_name.ko" "$@" || fail "cannot load $lab_name.ko"
}

# need_module NAME: have a module of the kernel itself, built in or loaded.
need_module()
{
	[ -d "/sys/module/$(echo "$1" | tr - _)" ] || modprobe "$1" ||
		fail "this kernel has no $1"
}

# sectors DEVICE: its size in 512-byte sectors.
sectors()
{
	blockdev --getsz "$1"
}

# null_disk NAME MEGABYTES [attribute=value...]: a memory-backed disk
# /dev/NAME; the attributes are those of null_blk in configfs.
null_disk()
{
	lab_dir=/sys/kernel/config/nullb/$1
	need_module null_blk
	mkdir "$lab_dir"
	echo "$2" >"$lab_dir/size"
	shift 2
	for lab_pair in memory_backed=1 blocksize=4096 "$@"; do
		echo "${lab_pair#*=}" >"$lab_dir/${lab_pair%%=*}"
	done
	echo 1 >"$lab_dir/power"
}

# disk N: the device of the Nth --disk option (from 0), whatever it is called.
disk()
{
	lab_find_disk "$1" || fail "there is no disk $1"
}

lab_find_disk()
{
	for lab_dir in /sys/block/nvme* /sys/block/sd*; do
		case $lab_dir in
		*/nvme*) lab_serial=$lab_dir/device/serial ;;
		*) lab_serial=$lab_dir/device/vpd_pg80 ;; # after a header of 4 bytes
		esac
		[ -e "$lab_serial" ] || continue
		if [ "$(tr -cd a-z0-9 <"$lab_serial")" = "lab$1" ]; then
			echo "/dev/${lab_dir##*/}"
			return
		fi
	done
	return 1
}

# Called before the job: disks are probed in the background; and QEMU's NVMe
# controller claims a volatile cache even when it was told to have none (wc=off).
lab_settle_disks()
{
	for lab_n in ${LAB_DISKS:-}; do
		wait_for 20 lab_find_disk "$lab_n" >/dev/null
	done
	for lab_n in ${LAB_DISKS_WC_OFF:-}; do
		lab_dev=$(lab_find_disk "$lab_n")
		echo "write through" >"/sys/block/${lab_dev##*/}/queue/write_cache"
	done
}

# wait_for SECONDS COMMAND...: until COMMAND succeeds, or fail.
wait_for()
{
	lab_left=$(($1 * 10))
	shift
	until "$@"; do
		[ "$lab_left" -gt 0 ] || fail "waited in vain for: $*"
		lab_left=$((lab_left - 1))
		sleep 0.1
	done
}

# no_leaks: fail if kmemleak finds memory that nobody points to any more. Two
# scans with a pause: an object is reported when it is a few seconds old.
no_leaks()
{
	lab_leaks=/sys/kernel/debug/kmemleak
	[ -e "$lab_leaks" ] || return 0
	echo scan >"$lab_leaks"
	sleep 6
	echo scan >"$lab_leaks"
	cat "$lab_leaks"
	[ -z "$(cat "$lab_leaks")" ] || fail "kmemleak found leaks"
}
