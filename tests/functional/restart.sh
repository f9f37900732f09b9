# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034,SC2119 # device names hold no spaces; lib.sh uses the rest
# Stops, starts and power cuts (G1, G2, G3).
# shellcheck source=tests/functional/lib.sh
. "$LAB_FILES/lib.sh"

# write_blocks COUNT SEED: as many different blocks of 4 KiB, all over the device.
write_blocks()
{
	fio --output=/tmp/fio.log --thread --direct=1 --name=w --filename=$C --rw=randwrite --bs=4k \
		--ioengine=libaio --iodepth=8 --number_ios="$1" --randseed="$2" --randrepeat=0 \
		--refill_buffers --end_fsync=1 >/dev/null 2>&1 || fail "fio"
}

read_blocks()
{
	fio --output=/tmp/fio.log --thread --direct=1 --name=r --filename=$C --rw=randread --bs=4k \
		--ioengine=libaio --iodepth=8 --number_ios="$1" --randseed="$2" --randrepeat=0 \
		>/dev/null 2>&1 || fail "fio"
}

# Dirty, clean and warm as before, to the block.
clean_stop()
{
	pair 16 64
	noise "$SLOW" 64
	new_cache
	keep_dirty
	write_blocks 777 1
	read_blocks 1200 2
	sync $C
	sleep 0.5
	dirty=$(st dirty)
	mapped=$(st mapped)
	is "$dirty" 777 "dirty"
	# not every fill finds room when the disk is as fast as here
	for pass in 1 2 3 4 5 6; do
		message reset-stats
		read_blocks 1200 2
		sync $C
		[ "$(st read_misses)" -gt 0 ] || break
		sleep 0.5
	done
	is "$(st read_misses)" 0 "misses on what was read $pass times"
	is "$(st dirty)" 777 "dirty"
	mapped=$(st mapped)
	for round in 1 2 3; do
		stop
		cache
		is "$(st dirty)" "$dirty" "dirty after start $round"
		is "$(st mapped)" "$mapped" "mapped after start $round"
		message reset-stats
		read_blocks 1200 2
		is "$(st read_misses)" 0 "misses on what was warm, start $round"
	done
	same_without_cache
}

# stop --flush: a start then knows that it is clean (row 47).
clean_means_clean()
{
	pair 8 32
	new_cache
	write_blocks 300 3
	flush
	stop
	mark
	cache
	is "$(st dirty)" 0
	klog | grep -q " 0 dirty; 0 journal records replayed" || fail "the log: $(klog)"
	is "$(st mapped)" 300
	sectors_of_stop=$(stat_of "$FAST" sectors_written 2>/dev/null || echo 0)
	stop
	cache
	[ ! -d $labdev ] || [ $(($(stat_of "$FAST" sectors_written) - sectors_of_stop)) -lt 64 ] ||
		fail "a stop with nothing to do wrote a lot"
}

# A start and a stop without a write change nothing (hazard 19: nothing before the first
# user write).
start_writes_nothing()
{
	models "model=ram size_mb=8" "model=ram size_mb=32"
	new_cache
	keep_dirty
	write_blocks 50 1
	stop
	cache
	reset_stats $FAST $SLOW
	read_blocks 50 1
	is "$(stat_of $FAST writes)" 0 "writes to the cache device before the first user write"
	is "$(stat_of $SLOW writes)" 0 "writes to the origin"
}

# ---- power cuts ---------------------------------------------------------

cut_pair()
{
	need_labdev
	order add name=fast model=optane size_mb=4 jitter_ns=30000 "$@"
	# shellcheck disable=SC2086
	order add name=slow model=disk size_mb=16 $SLOW_TIMES
	FAST=/dev/fast
	SLOW=/dev/slow
}

churn()
{
	python3 "$LAB_FILES/churn.py" --device $C --state /tmp/state "$@" || fail "see above"
}

# run_until_cut SEED MIN MAX: load until the power fails after so many writes.
run_until_cut()
{
	ruc_after=$(($2 + $1 * 7919 % ($3 - $2)))
	order cut fast slow seed="$1" after_ios=$ruc_after
	churn --crash --threads 3 --steps 100000 --seed "$1"
	power_on
}

start_after_cut()
{
	cache || fail "cannot start after power cut $1: $(klog | tail -3)"
	[ "$(st dirty)" -le "$(st mapped)" ] || fail "insane"
	churn --check
}

# cuts ARGUMENT OF THE CACHE DEVICE [MODE]: again and again on the same devices.
cuts()
{
	rm -f /tmp/state
	timed
	cut_pair "$1"
	new_cache "${2:-writeback}" writeback_delay 1
	for cut in $(seq "$(more 3 60)"); do
		run_until_cut $((cut + ${SEED:-0})) 20 "$(more 300 1500)"
		start_after_cut "$cut"
		if [ $((cut % 3)) = 0 ]; then
			message drop-clean
			flush
			churn --check
		fi
	done
	churn --check --shadow /tmp/shadow
	is "$(sum $C)" "$(sha256sum </tmp/shadow | cut -c1-64)" "the cached device"
	flush
	stop
	is "$(sum $SLOW)" "$(sha256sum </tmp/shadow | cut -c1-64)" "the origin alone"
}

# Power fails while it starts, any number of times.
cut_in_recovery()
{
	rm -f /tmp/state
	timed
	cut_pair "$1"
	new_cache writeback_delay 0
	for cut in $(seq "$(more 1 20)"); do
		run_until_cut $((100 + cut)) 100 400
		for again in 1 2 3; do
			order cut fast slow seed=$((cut * 10 + again)) after_ios=$again
			if cache 2>/dev/null; then
				dd if=/dev/zero of=$C bs=4096 count=0 2>/dev/null
				message flush 2>/dev/null || :
				sleep 0.5
			fi
			order disarm
			order cut fast slow seed=$cut
			power_on anyway
		done
		start_after_cut "$cut"
	done
	same_without_cache
}

# No more is dirty than was, no less is warm (G3).
exact_after_cut()
{
	models "model=ram size_mb=16" "model=ram size_mb=64 volatile=1"
	noise $SLOW 64
	new_cache
	keep_dirty
	write_blocks 500 1
	read_blocks 1000 2
	# fills are durable after a flush of the disk
	dd if=/dev/zero of=$C bs=4096 count=1 seek=16000 oflag=direct,sync conv=notrunc 2>/dev/null
	sync $C
	dirty=$(st dirty)
	mapped=$(st mapped)
	order cut fast slow seed=1
	power_on
	cache
	is "$(st dirty)" "$dirty" "dirty after the cut"
	[ "$(st mapped)" -ge $((mapped * 8 / 10)) ] ||
		fail "$(st mapped) mapped after the cut, $mapped before"
	message reset-stats
	read_blocks 1000 2
	[ "$(st read_hits)" -ge 800 ] || fail "only $(st read_hits) of 1000 still hit"
}

# Write-through is never dirty, also after a cut (row 74).
through_after_cut()
{
	models "model=ram size_mb=16" "model=ram size_mb=64 volatile=1"
	new_cache writethrough
	write_blocks 2000 1
	with=$(sum $C)
	order cut fast slow seed=1
	power_on
	cache writethrough
	is "$(st dirty)" 0
	is "$(sum $C)" "$with"
	is "$(sum $SLOW)" "$with"
	# past the cache, over blocks that are in it: nothing of them comes back (row 20)
	message set seq_cutoff 64
	dd if=/dev/urandom of=/tmp/stream bs=1M count=8 2>/dev/null
	dd if=/tmp/stream of=$C bs=1M oflag=direct conv=notrunc 2>/dev/null
	is "$(st dirty)" 0
	same_without_cache
	cmp -n $((8 << 20)) $SLOW /tmp/stream
}

# After a cut with dirty blocks a table asks for a mode that has none (row 21): they are read
# from the cache, and written back after the first write.
leave_after_cut()
{
	cut_pair volatile=0
	new_cache
	keep_dirty
	dd if=/dev/urandom of=/tmp/w bs=4096 count=200 2>/dev/null
	dd if=/tmp/w of=$C bs=4096 seek=50 oflag=direct conv=notrunc,fsync 2>/dev/null
	order cut fast slow seed=1
	power_on
	cache "$1"
	read_back 400 1600 | cmp - /tmp/w
	dd if=/dev/urandom of=/tmp/w bs=4096 count=100 conv=notrunc 2>/dev/null
	dd if=/tmp/w of=$C bs=4096 seek=50 count=100 oflag=direct conv=notrunc 2>/dev/null
	wait_for 30 st_is dirty 0
	message drop-clean
	same_without_cache
	dd if=$SLOW bs=4096 skip=50 count=200 2>/dev/null | cmp - /tmp/w
}

t "a clean stop keeps data, dirty set and warmth" clean_stop
t "flushed and stopped is known to be clean" clean_means_clean
t "a start writes nothing" start_writes_nothing
t "dirty set and warmth after a power cut" exact_after_cut
t "write-through is clean after a power cut" through_after_cut
for mode in writethrough writearound passthrough; do
	t "from writeback to $mode over a power cut" leave_after_cut $mode
done
if in_uml; then	# there is Python
	t "power cuts, cache device without volatile cache" cuts volatile=0
	t "power cuts, cache device with volatile cache" cuts volatile=1
	t "power cuts in write-through" cuts volatile=0 writethrough
	t "power cuts while it starts" cut_in_recovery volatile=0
	t "power cuts while it starts, volatile cache" cut_in_recovery volatile=1
fi
finish
