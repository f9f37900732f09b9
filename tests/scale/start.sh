# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Activation and stop of caches of all sizes, full and empty, clean and not; and what is
# found is what was there.

# shellcheck source=tests/scale/scale.sh
. "$LAB_FILES/scale.sh"

EVENTS=3000		# about 3750 journal records
START_MS=2000		# bound for the largest; a smaller cache gets its share, and 100 ms
# the disk is compared with 32 clean blocks, or with the samples that are left by a stop, some
# of them larger, but in ascending order: a turn of the platters for each of 32
COMPARE_MS=$((32 * 60000 / 7200))
STOP_BUSY_MS=5000
LARGEST=112000		# MiB: the 118 GB device

# SIZE_NAME MIB STATE [EVENTS]
start_stop()
{
	devices "$2" 1
	case $3 in
	empty) image --clean-stop ;;
	clean) image --clean-stop --samples 512 --full ;;
	half) image --samples 512 --full --dirty 50 --events "${4:-$EVENTS}" ;;
	esac
	expect="mapped $(of mapped) dirty $(of dirty) free $(($(of slots) - $(of mapped)))"

	loaded
	reset_stats "$FAST" "$SLOW"
	took dmsetup resume c
	start=$took
	is "$(st slots)" "$(of slots)" slots
	is "$(counts)" "$expect" "after activation"
	klog | grep -q " $(of records) journal records replayed" || fail "not all records replayed"
	is "$(stat_of "$FAST" writes) $(stat_of "$SLOW" writes)" "0 0" "writes of the activation"
	[ "$3" = empty ] || samples
	if [ "$3" = half ] && [ "$(more "$1" "")" != 118g ]; then
		stop
		is "$(stat_of "$FAST" writes)" 0 "writes of a stop after reads only"
		# so the same journal is there again
		loaded
		dmsetup resume c
		is "$(counts)" "$expect" "after activation and stop"
	fi
	dd if=/dev/zero of=$C bs=4096 count=1 seek=$(($(sectors "$SLOW") / 8 - 1)) \
		oflag=direct 2>/dev/null
	sleep 2
	expect=$(counts)
	reset_stats "$FAST"
	took stop
	stop=$took
	pages=$(stat_of "$FAST" writes)

	loaded
	took dmsetup resume c
	is "$(counts)" "$expect" "after a stop in order"
	row "$1" "$3" "$(seconds $start)" "$(seconds $stop)" "$(seconds $took)" "$pages"
	metric "start.$1.$3.s" "$(seconds $start)"
	metric "stop.$1.$3.s" "$(seconds $stop)"
	metric "restart.$1.$3.s" "$(seconds $took)"
	below $((start / 1000000)) $((100 + COMPARE_MS + START_MS * $2 / LARGEST)) \
		"activation, milliseconds"
	below $((took / 1000000)) $((100 + COMPARE_MS + START_MS * $2 / LARGEST)) \
		"second activation"
}

# A stop in the middle of write-back, all dirty blocks far from each other.
stop_busy()
{
	devices "$2" 1
	image --full --dirty 50
	cache
	dd if=/dev/zero of=$C bs=4096 count=1 oflag=direct 2>/dev/null
	sleep 15
	[ "$(st writeback_blocks)" -gt 100 ] || fail "write-back has not begun"
	took stop
	metric "stop.$1.busy.s" "$(seconds $took)"
	below $((took / 1000000)) $STOP_BUSY_MS "stop, milliseconds"
}

for state in ${STATES:-empty clean half}; do
	t "1 GB, $state" start_stop 1g 1024 "$state"
	t "16 GB, $state" start_stop 16g 13700 "$state"
	t "118 GB, $state" start_stop 118g $LARGEST "$state"
done
if [ "$TIER" = full ]; then
	t "64 GB, half dirty" start_stop 64g 56000 half
	# 40 MiB of records: more than a checkpoint leaves
	t "118 GB, half dirty, a journal with 2 million records" \
		start_stop 118g_journal $LARGEST half 1600000
fi
t "16 GB, stop while it writes back" stop_busy 16g 13700
finish
