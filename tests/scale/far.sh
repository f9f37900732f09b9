# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Blocks, slots, table and journal on both sides of where 32 bits end: an origin of 40 TiB,
# and a cache device of 5 TiB whose regions lie across the border.

# shellcheck source=tests/scale/scale.sh
. "$LAB_FILES/scale.sh"

labgen=/sys/kernel/debug/labgen
MIB=1048576
BORDER=$((1 << 41))	# bytes: sector 2^32
# sectors 2^31, 2^32, block 2^32 and its double; where a lost bit would lead to, comes first
PLACES="$MIB $((1 << 40)) $BORDER $((1 << 44)) $((1 << 45)) $(((40 << 40) - MIB))"
SPAN=$((2 * MIB))
MODEL_FAST=ram
MODEL_SLOW=ram

load_module labgen

# gen DEVICE OP GENERATION [ARGUMENT...]: all places; $ios is how many I/Os that took.
gen()
{
	ios=0
	gen_dev=$1 gen_op=$2 gen_generation=$3
	shift 3
	for gen_place in $PLACES; do
		echo 0 >$labgen/result
		echo "dev=$gen_dev op=$gen_op verify=1 gen=$gen_generation rw=perm qd=8" \
			"start=$((gen_place - MIB)) span=$SPAN ${*:-bs=4k n=$((SPAN / 4096))}" >$labgen/run
		for gen_key in errors mismatches; do
			gen_is=$(sed -n "s/.* $gen_key=\([0-9]*\).*/\1/p" $labgen/result)
			is "${gen_is:-0}" 0 "$gen_key of $gen_op at byte $((gen_place - MIB))"
		done
		ios=$((ios + $(sed -n 's/.* ios=\([0-9]*\).*/\1/p' $labgen/result)))
	done
}

# All reads were hits, or none was.
hits_are()
{
	is "$(st read_hits)" "$1" "read hits"
	is "$(st read_misses)" "$2" "read misses"
}

# As a power cut would leave a cache device that loses nothing it has acknowledged. Flushed
# before: what nobody flushes may wait in memory for its record.
crash()
{
	sync $C
	order save fast
	stop
	order reset fast
}

# The cached device, without write-back but for a flush. By the table: a message would let
# write-back begin with what it finds dirty.
calm()
{
	cache "$@" seq_cutoff 0 writeback_delay 3600 dirty_high 95
}

# Every way a block can go, at all places, on a device that calm has made.
life()
{
	message reset-stats
	gen $C write 1
	is "$(st write_bypass)" 0 "writes past the cache"
	dirty=$(st dirty)
	message reset-stats
	gen $C read 1
	hits_are $ios 0

	crash
	calm
	is "$(st dirty)" "$dirty" "dirty after a crash"
	message reset-stats
	gen $C read 1
	hits_are $ios 0

	stop
	calm
	is "$(st dirty)" "$dirty" "dirty after a stop"
	gen $C read 1
	flush
	gen "$SLOW" read 1
	drop
	is "$(st mapped)" 0 "mapped after drop-clean"
	message reset-stats
	gen $C read 1
	is "$(st read_hits)" 0 "hits in an empty cache"
	gen $C read 1
	[ "$(st read_hits)" -gt 0 ] || fail "nothing was filled"

	# not in whole blocks, over the border inside a block of the load's, not of the cache's
	gen $C write 2 bs=3584 n=200
	gen $C read 2 bs=3584 n=200
	crash
	calm
	gen $C read 2 bs=3584 n=200
	flush
	stop
	gen "$SLOW" read 2 bs=3584 n=200
}

big_origin()
{
	fast 256
	slow $((40 << 20))
	calm format
	life
}

through_linear()
{
	fast $((5 << 20))
	slow $((40 << 20))
	dmsetup create high --table "0 524288 linear $FAST $(((1 << 32) - 262144))"
	FAST=/dev/mapper/high
	calm format
	life
}

# REGION OPTION...: the generator's own blocks, and then those of life.
across()
{
	region=$1
	shift
	fast $((5 << 20))
	slow $((40 << 20))
	image --slots 65536 --full --dirty 50 --events 1000 --samples 256 "$@"
	calm
	is "$(st mapped) $(st dirty)" "$(of mapped) $(of dirty)" "with the $region at the border"
	samples
	flush
	drop
	is "$(st mapped)" 0 "mapped after drop-clean"
	life
}

t "an origin of 40 TiB" big_origin
t "cache device behind a linear table, across sector 2^32" through_linear
t "journal across sector 2^32" across journal \
	--journal-start $((BORDER - (64 * MIB - 65536 + 8192)))
t "table across sector 2^32" across table --table-start $((BORDER - MIB / 2))
t "slots across sector 2^32" across data --data-start $((BORDER - 128 * MIB))
finish
