# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034,SC2119 # device names hold no spaces; lib.sh uses the rest
# Reading and writing: whatever is written comes back, in every mode, at every size and
# alignment; and when the cache is flushed and gone the origin alone holds it (G4).
# shellcheck source=tests/functional/lib.sh
. "$LAB_FILES/lib.sh"

MODES="writeback writethrough writearound passthrough"

tiny()
{
	timed
	pair 4 "$(more 16 96)"
	new_cache "$1"
	for seed in $(more 1 "1 2 3 4"); do
		storm "$(more $((4 << 20)) $((96 << 20)))" --randseed="$seed"
		sane_status
	done
	is "$(st mode)" "$1"
	same_without_cache
}

large()
{
	pair "$(more 32 256)" "$(more 24 192)"
	new_cache "$1" seq_cutoff "$(more 0 1024)"
	storm $(($(more 6 192) << 20)) --randseed=9
	[ "$(st mapped)" -gt 0 ] || [ "$1" = passthrough ] || fail "nothing was cached"
	same_without_cache
}

# The disks themselves and not pieces of them; in UML they always are.
whole_disks()
{
	FAST=$(disk 0)
	SLOW=$(disk 1)
	dd if=/dev/zero of="$FAST" bs=1M count=2 conv=fsync 2>/dev/null
	new_cache
	verify --rw=randrw --bsrange=512-1M --blockalign=512 --size=32M --io_size=32M --iodepth=32
	verify --rw=randwrite --bs=4k --size=32M --io_size=16M --fdatasync=4
	same_without_cache
}

# Whole sectors of other blocks than 4 KiB at the end, and GPT's backup in the last 33.
tail_of()
{
	fast 8
	slow 16
	tail_sectors=$((16 * 2048 - 8 + $1))
	trimmed odd "$SLOW" $tail_sectors
	SLOW=/dev/mapper/odd
	noise "$SLOW" 1 $((tail_sectors - 2048))
	new_cache
	before=$(sum $C)
	is "$(sum "$SLOW")" "$before" "a new cache changes nothing"
	verify --rw=randrw --bsrange=512-64k --blockalign=512 --offset=$(((tail_sectors - 33) * 512)) \
		--size=$((33 * 512)) --io_size=$((2 * 33 * 512)) --iodepth=4 --serialize_overlap=0
	# the last sectors, in one write and one by one
	dd if=/dev/urandom of=/tmp/gpt bs=512 count=33 2>/dev/null
	dd if=/tmp/gpt of=$C bs=16896 seek=$(((tail_sectors - 33) * 512)) oflag=direct,seek_bytes \
		2>/dev/null || dd if=/tmp/gpt of=$C bs=512 seek=$((tail_sectors - 33)) conv=fsync 2>/dev/null
	message drop-clean
	same_without_cache
	dd if="$SLOW" bs=512 skip=$((tail_sectors - 33)) 2>/dev/null | cmp - /tmp/gpt
}

# Existing data is seen through a new cache, and is not touched.
existing()
{
	pair 8 16
	noise "$SLOW" 16
	before=$(sum "$SLOW")
	new_cache "$1"
	is "$(sum $C)" "$before" "first reading"
	is "$(sum $C)" "$before" "second reading"
	stop
	is "$(sum "$SLOW")" "$before" "after remove"
}

# Not the first target of its table.
second_target()
{
	pair 8 32
	n=$(sectors "$SLOW")
	dmsetup create zeroes --table "0 10000 zero"
	dmsetup create c <<-END
		0 1111 linear /dev/mapper/zeroes 0
		1111 $n optcache $FAST $SLOW 1 format
		$((1111 + n)) 2222 linear /dev/mapper/zeroes 0
	END
	verify --rw=randrw --bsrange=512-256k --blockalign=512 --offset=$((1111 * 512)) \
		--size=$((n * 512)) --io_size=8M
	dd if=$C bs=512 skip=1111 count="$n" 2>/dev/null | sha256sum >/tmp/with
	dmsetup message c 1111 flush
	wait_for 60 st_is flush idle
	stop
	is "$(sum "$SLOW")" "$(cut -c1-64 /tmp/with)" "the origin alone"
}

# logical FAST SLOW VERDICT: logical sector sizes of the devices.
logical()
{
	need_labdev
	in_uml || load_module labdev 2>/dev/null || :
	order add name=fast model=ram size_mb=8 lbs="$1"
	order add name=slow model=ram size_mb=32 lbs="$2"
	FAST=/dev/fast
	SLOW=/dev/slow
	noise $SLOW 32
	before=$(sum $SLOW)$(sum $FAST)
	if [ "$3" = refused ]; then
		refused new_cache
		is "$(sum $SLOW)$(sum $FAST)" "$before" "devices of a refused table"
		return
	fi
	new_cache
	is "$(blockdev --getss $C)" "$2" "sector size"
	# buffers that begin inside of a sector of 4096 bytes (row 31)
	verify --rw=randrw --bsrange="$2"-64k --blockalign="$2" --size=32M --io_size=8M \
		--iomem_align=512
	same_without_cache
}

# A limit that is not merged makes bios that a device cannot take.
small_limits()
{
	models "model=ram size_mb=8 max_kb=4 tags=2" "model=ram size_mb=32 max_kb=8 tags=2"
	new_cache
	verify --rw=randrw --bsrange=512-1M --blockalign=512 --io_size=8M --iodepth=32
	same_without_cache
}

# Single bios of 4 MiB that begin within a block, hits and misses (rows 58, 59).
oversized()
{
	[ -d /sys/kernel/debug/labgen ] || load_module labgen
	pair 24 64
	new_cache seq_cutoff 0
	for what in "op=write gen=1" "op=write gen=2 span=16M" "op=read gen=2 span=16M" drop \
		"op=read gen=2 span=16M"; do
		if [ "$what" = drop ]; then
			flush
			drop
			continue
		fi
		echo "id=big dev=$(readlink -f $C) bs=4M qd=4 n=4 start=512 verify=1 $what" \
			>/sys/kernel/debug/labgen/run
		grep -q "^id=big .* errors=0 .*mismatches=0" /sys/kernel/debug/labgen/result ||
			fail "$what: $(cat /sys/kernel/debug/labgen/result)"
	done
	same_without_cache
}

# Bios that were cloned and cut by targets above, and are cut again below (row 37).
stacked()
{
	need_labdev
	order add name=fast model=ram size_mb=8
	order add name=half0 model=ram size_mb=16
	order add name=half1 model=ram size_mb=16
	order add name=meta model=ram size_mb=4
	dmsetup create slow --table "0 65536 striped 2 32 /dev/half0 0 /dev/half1 0"
	FAST=/dev/fast
	SLOW=/dev/mapper/slow
	new_cache
	dmsetup create pool --table "0 65536 thin-pool /dev/meta $C 128 0"
	dmsetup message pool 0 "create_thin 0"
	dmsetup create thin --table "0 40000 thin /dev/mapper/pool 0"
	DEV=/dev/mapper/thin storm $((2 << 20))
	volume=$(sum /dev/mapper/thin)
	dmsetup remove thin
	dmsetup remove pool
	same_without_cache
	# the same thin volume without the cache
	dmsetup create pool --table "0 65536 thin-pool /dev/meta $SLOW 128 0"
	dmsetup create thin --table "0 40000 thin /dev/mapper/pool 0"
	is "$(sum /dev/mapper/thin)" "$volume" "the thin volume without the cache"
}

# limits of the queue: sane, and those of the origin where it matters.
queue_limits()
{
	pair 8 32
	new_cache
	q=/sys/block/$(basename "$(readlink -f $C)")/queue
	case $(readlink -f $C) in
	/dev/mapper/*) q=/sys/block/dm-$(dmsetup info -c --noheadings -o minor c)/queue ;;
	esac
	is "$(blockdev --getss $C)" "$(blockdev --getss "$SLOW")" "logical"
	is "$(blockdev --getpbsz $C)" "$(blockdev --getpbsz "$SLOW")" "physical"
	is "$(blockdev --getalignoff $C)" 0 "alignment offset"
	is "$(cat "$q/dax" 2>/dev/null || echo 0)" 0 "dax"
	is "$(cat "$q/zoned" 2>/dev/null || echo none)" none "zoned"
	[ "$(cat "$q/max_sectors_kb")" -ge 4 ] || fail "max_sectors_kb"
	is "$(cat "$q/write_zeroes_max_bytes")" 0 "write zeroes"
	is "$(($(cat "$q/discard_granularity") % 4096))" 0 "discard granularity"
}

# A model in memory beside the device: single sectors of the same blocks from several
# threads, discards, syncs, flushes, evictions and changes of mode between them.
churn()
{
	timed
	pair 4 16
	new_cache
	python3 "$LAB_FILES/churn.py" --device $C --name c --threads 4 --seed "${SEED:-1}" \
		--steps "$(more 300 8000)" --shadow /tmp/shadow
	with=$(sha256sum </tmp/shadow | cut -c1-64)
	flush
	stop
	is "$(sum "$SLOW")" "$with" "origin and shadow"
}

for mode in $MODES; do
	t "$mode, cache much smaller than the load" tiny "$mode"
done
for mode in $MODES; do
	t "$mode, cache larger than the origin" large "$mode"
done
for mode in $MODES; do
	t "$mode: what was there before is there" existing "$mode"
done
in_uml || t "whole disks" whole_disks
for odd in 1 3 7; do
	t "an origin that ends $odd sectors into a block" tail_of $odd
done
t "second target of its table" second_target
t "sectors: 512 before 4096" logical 512 4096 works
t "sectors: 4096 before 4096" logical 4096 4096 works
t "sectors: 4096 before 512 is refused" logical 4096 512 refused
t "devices that take 4 and 8 KiB at a time" small_limits
t "bios of 4 MiB that begin within a block" oversized
! in_uml || t "a thin pool above, stripes below" stacked
t "queue limits" queue_limits
! in_uml || t "threads in the same blocks, against a model" churn	# in Python
finish
