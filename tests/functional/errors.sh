# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034,SC2119 # device names hold no spaces; lib.sh uses the rest
# Devices that fail (G5): told, contained, survived.
# shellcheck source=tests/functional/lib.sh
. "$LAB_FILES/lib.sh"

# super_field OFFSET: 64 bits of the first superblock.
super_field()
{
	od -An -t u8 -j "$1" -N 8 $FAST | tr -d ' '
}

# Sector of the cache device where slot N begins; slots are handed out from 0 on.
slot_sector()
{
	echo $(($(super_field 120) / 512 + 8 * $1))
}

# The usual pair, 16 + 16 MiB; the origin holds noise, /tmp/origin is a copy of it.
noisy_pair()
{
	models "model=ram size_mb=16 $*" "model=ram size_mb=16 volatile=1"
	[ -e /tmp/noise ] || noise /tmp/noise 16
	cp /tmp/noise /tmp/origin
	dd if=/tmp/noise of=$SLOW bs=1M oflag=direct conv=notrunc 2>/dev/null
}

as_origin()
{
	read_back "$1" "$2" >/tmp/part || fail "cannot read sectors $1 + $2"
	cmp -n $(($2 * 512)) -i $(($1 * 512)):0 /tmp/origin /tmp/part ||
		fail "sectors $1 + $2 are wrong"
}

write_4k()
{
	timeout 30 dd if="$1" of=$C bs=4096 seek="$2" count="$3" oflag=direct conv=notrunc 2>/dev/null
}

ends()
{
	timeout 60 dmsetup remove c || fail "cannot be removed"
}

clean_unreadable()
{
	noisy_pair
	new_cache
	keep_dirty
	as_origin 0 64
	as_origin 800 64
	flush
	message reset-stats
	as_origin 0 64
	[ "$(st read_hits)" -gt 0 ] || fail "the blocks are not cached"
	order fail fast op=read sector="$(slot_sector 0)"
	as_origin 0 64
	as_origin 800 64
	as_origin 0 16
	[ "$(st cache_errors)" -gt 0 ] || fail "the error was not counted"
	is "$(st lost)" 0 "lost"
	is "$(st health)" degraded
	klog | grep -q "reading the cache device failed" || fail "nothing in the log"
	ends
	cmp $SLOW /tmp/origin
}

# Eight dirty blocks in a row, one of them unreadable: it alone is lost, and once.
dirty_unreadable()
{
	noisy_pair
	new_cache
	keep_dirty
	dd if=/dev/urandom of=/tmp/eight bs=4096 count=8 2>/dev/null
	write_4k /tmp/eight 0 8
	is "$(st dirty)" 8
	order fail fast op=read sector=$(($(slot_sector 3) + 2)) len=1
	for block in 0 1 2 4 5 6 7; do
		read_back $((block * 8)) 8 >/tmp/part || fail "block $block gives an error"
		dd if=/tmp/eight bs=4096 skip=$block count=1 2>/dev/null | cmp - /tmp/part
	done
	refused read_back 24 8
	is "$(st lost)" 1 "lost"
	refused read_back 24 8
	is "$(st lost)" 1 "lost, after reading the same block again"
	# what of it can be read, can be read
	read_back 24 1 >/dev/null || fail "sector 24 is readable on the cache device"
	is "$(st health)" degraded
	# a new version heals it
	write_4k /tmp/eight 3 1 || fail "cannot overwrite the lost block"
	order heal fast
	read_back 24 8 | cmp - /tmp/eight -n 4096
	same_without_cache
}

# A read over several blocks of which one is lost: its neighbours are not refused for
# good; and lost counts blocks, not the bio.
dirty_unreadable_long()
{
	noisy_pair
	new_cache
	keep_dirty
	write_4k /tmp/origin 0 8
	order fail fast op=read sector="$(slot_sector 3)" len=1
	refused read_back 0 64
	is "$(st lost)" 1 "lost"
}

# Write-back does not stop at the lost block, and does not call it clean.
dirty_unreadable_flush()
{
	noisy_pair
	new_cache
	keep_dirty
	dd if=/dev/urandom of=/tmp/many bs=4096 count=600 2>/dev/null
	write_4k /tmp/many 0 600
	is "$(st dirty)" 600
	order fail fast op=read sector="$(slot_sector 70)" len=8
	message flush
	wait_for 60 st_is flush idle
	is "$(st dirty)" 1 "dirty after a flush round one lost block"
	dd if=$SLOW bs=4096 count=600 2>/dev/null >/tmp/now
	cmp -n $((70 * 4096)) /tmp/many /tmp/now
	order heal fast
	same_without_cache
	dd if=$SLOW bs=4096 count=600 2>/dev/null | cmp - /tmp/many
}

# A drain does not read the lost block again every second, and a flush does at once.
dirty_unreadable_drain()
{
	noisy_pair
	new_cache
	keep_dirty
	write_4k /tmp/noise 0 8
	order fail fast op=read sector="$(slot_sector 3)" len=1
	message set mode writethrough
	wait_for 20 st_is dirty 1
	reset_stats $FAST
	sleep 14
	again=$(stat_of $FAST errors)
	{ [ "$again" -gt 0 ] && [ "$again" -le 12 ]; } || fail "$again errors in 14 seconds"
	order heal fast
	same_without_cache
}

# A cache that takes no data: new writes go to the origin, no error is seen.
cache_writes_fail()
{
	noisy_pair
	new_cache "$1"
	first=$(slot_sector 0)
	order fail fast op=write sector="$first"
	dd if=/dev/urandom of=/tmp/origin bs=4096 count=512 conv=notrunc 2>/dev/null
	write_4k /tmp/origin 0 512 || fail "the write should have gone to the origin"
	as_origin 0 4096
	as_origin 8000 64
	[ "$(st cache_errors)" -gt 0 ] || fail "not counted"
	is "$(st dirty)" 0
	order heal fast
	ends
	cmp $SLOW /tmp/origin
}

# In place over a dirty block: told, and never an older version later.
dirty_write_fails()
{
	noisy_pair
	new_cache
	keep_dirty
	dd if=/dev/urandom of=/tmp/one bs=4096 count=1 2>/dev/null
	dd if=/dev/urandom of=/tmp/two bs=4096 count=1 2>/dev/null
	write_4k /tmp/one 5 1
	order fail fast op=write sector="$(slot_sector 0)" len=8
	if write_4k /tmp/two 5 1; then
		now=/tmp/two
	else
		now=/tmp/one
	fi
	read_back 40 8 | cmp - $now || fail "neither told nor done"
	order heal fast
	read_back 40 8 | cmp - $now
	same_without_cache
	dd if=$SLOW bs=4096 skip=5 count=1 2>/dev/null | cmp - $now
}

# What was acknowledged before the journal died is on the devices; afterwards nothing
# dirty can be told from newer data, so errors are told.
journal_fails()
{
	noisy_pair
	new_cache
	keep_dirty
	dd if=/dev/urandom of=/tmp/one bs=4096 count=4 2>/dev/null
	dd if=/tmp/one of=$C bs=4096 count=4 oflag=direct,sync conv=notrunc,fsync 2>/dev/null
	order fail fast op=write sector=$(($(super_field 96) / 512)) len=$(($(super_field 104) / 512))
	dd if=/dev/urandom of=/tmp/two bs=4096 count=4 2>/dev/null
	refused timeout 30 dd if=/tmp/two of=$C bs=4096 seek=100 count=4 oflag=direct,sync conv=notrunc
	is "$(st health)" failed
	klog | grep -q "cannot be written" || fail "the log does not tell"
	read_back 0 32 | cmp - /tmp/one || fail "acknowledged data is gone"
	as_origin 4000 64
	ends
	order heal fast
	# fails closed or recovers; what was acknowledged is not lost, nothing foreign is there
	if cache; then
		read_back 0 32 | cmp - /tmp/one || fail "acknowledged data is gone after a restart"
		as_origin 4000 64
	else
		klog | grep -q "has failed" || fail "the refusal is not explained"
		dd if=$SLOW bs=4096 count=4 2>/dev/null | cmp - /tmp/one ||
			fail "acknowledged data is neither in the cache nor on the origin"
	fi
}

# The disk may have dropped what it could not flush, and then flush the rest without a word.
fresh_after_failed_flush()
{
	models "model=ram size_mb=8" "model=ram size_mb=16 volatile=1"
	new_cache writethrough
	sync $C
	dd if=/dev/urandom of=$C bs=4096 seek=9 count=1 oflag=direct conv=notrunc 2>/dev/null
	is "$(st mapped)" 1
	order fail slow op=flush count=1
	refused dd if=/dev/zero of=$C bs=4096 count=0 conv=notrunc,fsync
	sync $C
	sleep 0.3
	is "$(st mapped)" 0
	dd if=/dev/urandom of=$C bs=4096 seek=19 count=1 oflag=direct conv=notrunc,fsync 2>/dev/null
	sync $C
	is "$(st mapped)" 1 "later ones count again"
}

# The superblock cannot be written when the cache starts.
super_fails()
{
	noisy_pair
	new_cache
	stop
	order fail fast op=write sector=0 len=16
	if cache 2>/dev/null; then
		dd if=/tmp/origin of=$C bs=4096 skip=9 seek=9 count=1 oflag=direct conv=notrunc 2>/dev/null || :
		timeout 30 sync $C || :
		as_origin 0 64
		is "$(st health)" failed
	fi
	klog | grep -q "cannot be written" || fail "nothing in the log"
	dmsetup remove c 2>/dev/null || :
	order heal fast
	cmp $SLOW /tmp/origin || fail "the origin has changed"
}

super_unreadable()
{
	noisy_pair
	new_cache
	stop
	order fail fast op=read sector=0 len=16
	mark
	refused cache
	klog | grep -q "superblock cannot be read" || fail "nothing in the log"
	order heal fast
	cache
	as_origin 0 64
}

# Both devices are flushed at the start. The second attempt succeeds, and memory is the
# same as if it had been the first.
activation_flush()
{
	noisy_pair volatile=1
	new_cache
	memory=$(st memory)
	stop
	order fail "$1" op=flush count=1
	refused cache
	klog | grep -q "cannot be flushed" || fail "nothing in the log"
	dmsetup info c >/dev/null 2>&1 || dmsetup create c --notable
	dmsetup load c --table "$(table)"
	order fail "$1" op=flush count=1
	refused dmsetup resume c
	dmsetup resume c || { dmsetup load c --table "$(table)" && dmsetup resume c; }
	is "$(st memory)" "$memory" "memory after a start that failed first"
	as_origin 0 64
}

origin_unreadable()
{
	noisy_pair
	new_cache
	order fail slow op=read sector=800 len=8
	refused read_back 800 8
	refused read_back 792 64
	as_origin 0 64
	as_origin 808 8
	[ "$(st origin_errors)" -gt 0 ] || fail "not counted"
	is "$(st cache_errors)" 0
	order heal slow
	as_origin 792 64
	as_origin 792 64
}

# Told at once in the modes that write the disk at once.
origin_unwritable()
{
	noisy_pair
	new_cache "$1"
	order fail slow op=write sector=800 len=8
	dd if=/dev/urandom of=/tmp/one bs=4096 count=1 2>/dev/null
	refused write_4k /tmp/one 100 1
	[ "$(st origin_errors)" -gt 0 ] || fail "not counted"
	read_back 800 8 >/tmp/part
	dd if=/tmp/origin bs=4096 skip=100 count=1 2>/dev/null | cmp - /tmp/part ||
		cmp /tmp/one /tmp/part || fail "neither old nor new"
	message drop-clean
	sleep 0.3
	read_back 800 8 | cmp - /tmp/part || fail "the answer is not stable"
	order heal slow
	read_back 800 8 | cmp - /tmp/part || fail "the answer is not stable"
}

# Write-back cannot write: the data stays dirty, a flush ends, nothing is lost.
origin_unwritable_back()
{
	noisy_pair
	new_cache
	keep_dirty
	dd if=/dev/urandom of=/tmp/many bs=4096 count=64 2>/dev/null
	write_4k /tmp/many 0 64
	order fail slow op=write sector=$((10 * 8)) len=8
	message flush
	wait_for 60 st_is flush idle
	[ "$(st dirty)" -ge 1 ] || fail "a block that could not be written is called clean"
	read_back 0 512 | cmp - /tmp/many || fail "data is lost"
	order heal slow
	same_without_cache
	dd if=$SLOW bs=4096 count=64 2>/dev/null | cmp - /tmp/many
}

# The disk fails to flush: nothing becomes clean by it, and fsync says so.
origin_flush_fails()
{
	noisy_pair
	new_cache
	keep_dirty
	write_4k /tmp/origin 0 64
	order fail slow op=flush
	message flush
	wait_for 60 st_is flush idle
	is "$(st dirty)" 64 "dirty after a flush that failed"
	dd if=/dev/urandom of=/tmp/big bs=1M count=4 2>/dev/null
	message set mode writearound
	refused timeout 60 dd if=/tmp/big of=$C bs=1M seek=8 oflag=direct conv=notrunc,fsync
	order heal slow
	dd if=/tmp/big of=$C bs=1M seek=8 oflag=direct conv=notrunc,fsync 2>/dev/null
	same_without_cache
}

# Everything there is goes on from the disk alone.
vanish_through()
{
	noisy_pair volatile="$2"
	new_cache "$1"
	as_origin 0 256
	as_origin 0 256
	write_4k /tmp/origin 64 32
	sync $C
	order vanish fast
	timeout 30 sync $C || fail "fsync with nothing written since"
	as_origin 0 256
	as_origin 9000 256
	dd if=/dev/urandom of=/tmp/origin bs=4096 count=64 seek=8 conv=notrunc 2>/dev/null
	timeout 60 dd if=/tmp/origin of=$C bs=4096 count=80 oflag=direct conv=notrunc,fsync \
		2>/dev/null || fail "writing"
	as_origin 0 640
	load --rw=randrw --bsrange=512-64k --blockalign=512 --size=8M --offset=8M --io_size=2M --fsync=16
	dmsetup suspend c
	timeout 30 dmsetup resume c || fail "cannot be resumed without its cache device"
	as_origin 0 640
	ends
	dd if=$SLOW bs=4096 count=80 2>/dev/null | cmp - /tmp/origin -n $((80 * 4096))
}

# Back with what it had: nothing old may come over what was written meanwhile.
return_through()
{
	noisy_pair
	new_cache writethrough
	as_origin 0 512
	sync $C
	order vanish fast
	dd if=/dev/urandom of=/tmp/origin bs=4096 count=32 conv=notrunc 2>/dev/null
	timeout 60 dd if=/tmp/origin of=$C bs=4096 count=32 oflag=direct conv=notrunc,fsync 2>/dev/null
	as_origin 0 512
	ends
	order return fast
	if cache writethrough; then
		say "it was accepted again"
		as_origin 0 512
		message drop-clean
		as_origin 0 512
	fi
}

# Dirty data is out of reach: errors for it, for writes that could be overtaken by it,
# nothing hangs, and everything acknowledged is there when the device is back.
vanish_back()
{
	noisy_pair
	new_cache
	keep_dirty
	dd if=/dev/urandom of=/tmp/many bs=4096 count=64 2>/dev/null
	timeout 60 dd if=/tmp/many of=$C bs=4096 oflag=direct conv=notrunc,fsync 2>/dev/null
	load --rw=randrw --bs=4k --size=4M --offset=8M --time_based --runtime=15 \
		--continue_on_error=all >/dev/null 2>&1 &
	writer=$!
	sleep 1
	order vanish fast
	refused read_back 0 8
	refused timeout 60 dd if=/tmp/origin of=$C bs=4096 count=1 oflag=direct,sync conv=notrunc
	as_origin 12000 64
	message flush 2>/dev/null || :
	wait_for 60 st_is flush idle
	[ "$(st dirty)" -ge 64 ] || fail "dirty blocks were forgotten"
	wait $writer || :	# killed, its children would go on
	ends
	order return fast
	cache
	read_back 0 512 | cmp - /tmp/many || fail "acknowledged data is gone"
	same_without_cache
	dd if=$SLOW bs=4096 count=64 2>/dev/null | cmp - /tmp/many
}

vanish_origin()
{
	noisy_pair
	new_cache "$1"
	keep_dirty
	as_origin 0 64
	as_origin 0 64
	dd if=/tmp/origin of=$C bs=4096 skip=100 seek=100 count=4 oflag=direct conv=notrunc 2>/dev/null
	sleep 0.2
	message reset-stats
	as_origin 0 64
	is "$(st read_misses)" 0 "misses"
	order vanish slow
	as_origin 0 64
	refused read_back 30000 8
	message flush 2>/dev/null || :
	wait_for 60 st_is flush idle
	ends
	order return slow
	cache "$1"
	as_origin 0 2000
}

# One in a hundred of everything fails, mode changes all the while (row 64).
errors_and_modes()
{
	noisy_pair
	new_cache
	load --rw=randrw --bs=4k --size=16M --time_based --runtime=8 --continue_on_error=all \
		--fsync=8 >/dev/null 2>&1 &
	writer=$!
	for mode in writethrough writeback passthrough writearound writeback writethrough; do
		order fail slow op=any skip=50 count=2
		order fail fast op=read skip=50 count=2
		message set mode $mode
		message drop-clean
		sleep 1
		sane_status
	done
	kill $writer 2>/dev/null || :
	wait $writer || :
	order heal slow
	order heal fast
	ends
}

# New sectors of a dirty block arrive after the journal has failed: there is no record of
# them and never will be, so the writer is told.
extend_after_failure()
{
	noisy_pair
	new_cache
	keep_dirty
	dd if=/dev/urandom of=/tmp/many bs=4096 count=80 2>/dev/null
	dd if=/tmp/many of=$C bs=512 seek=8000 count=1 oflag=direct conv=notrunc,fsync 2>/dev/null
	# no flush for so long: writers do not wait for the journal, which then has nothing to do
	write_4k /tmp/many 100 80
	sleep 0.5
	data=$(slot_sector 0)
	order slow fast us=1000000 op=write sector="$data" len=$((32768 - data))
	order fail fast op=write sector=0 len=16
	{
		dd if=/tmp/many of=$C bs=512 seek=8001 count=1 oflag=direct conv=notrunc,fsync \
			2>/dev/null && echo told nothing >/tmp/told
	} &
	rm -f /tmp/told
	sleep 0.3
	message set writeback_delay 1800
	wait_for 10 st_is health failed
	wait
	[ ! -e /tmp/told ] || fail "a write that has no record was acknowledged, and flushed"
	order heal fast
	read_back 8000 1 | cmp -n 512 - /tmp/many
	ends
}

# A transient error while a checkpoint runs: what was dirty stays within reach.
dirty_is_not_marked()
{
	noisy_pair
	new_cache
	keep_dirty
	dd if=/dev/urandom of=/tmp/many bs=4096 count=400 2>/dev/null
	write_4k /tmp/many 0 8
	sync $C
	table=$(($(super_field 112) / 512))
	order slow fast us=1000000 op=write sector=$table len=$(($(slot_sector 0) - table))
	half=$(($(st journal_size) / 2 / 512 + 1))
	dd if=/tmp/many of=$C bs=4096 seek=100 count=$half oflag=direct,dsync conv=notrunc 2>/dev/null
	order fail fast op=write sector=0 len=16 count=1
	message set writeback_delay 1800
	wait_for 10 st_is health failed
	is "$(st checkpoints)" 0 "checkpoints that were over too early for this test"
	sleep 3
	ends
	order heal fast
	cache || fail "a cache with dirty data was marked as failed"
	read_back 0 64 | cmp -n 32768 - /tmp/many
	read_back 800 8 | cmp -n 4096 - /tmp/many
	same_without_cache
}

# Write-back's flush of the disk fails over what a user wrote past the cache: a disk says
# it once, and it is the user's next fsync that has to hear it.
origin_flush_told()
{
	noisy_pair
	new_cache seq_cutoff 64
	message set writeback_delay 3600
	write_4k /tmp/noise 5 1
	dd if=/tmp/noise of=$C bs=64k seek=64 count=32 oflag=direct conv=notrunc 2>/dev/null
	[ "$(st write_bypass)" -gt 0 ] || fail "nothing went past the cache"
	order fail slow op=flush count=1
	message flush
	wait_for 20 st_is flush idle
	message flush
	wait_for 20 st_is flush idle
	refused timeout 30 sync $C
	sync $C
}

# The same for a cache device that holds the only copy.
cache_flush_told()
{
	noisy_pair volatile=1
	new_cache
	keep_dirty
	write_4k /tmp/noise 5 1
	sync $C
	sleep 0.3
	write_4k /tmp/noise 5 1
	order fail fast op=flush count=1
	refused timeout 30 sync $C
	sync $C
}

under_way()
{
	[ "$(st writes)" -gt 100 ]
}

# Gone and back, twice, while everything is written and read: nothing hangs, what was
# durable before is there, and with the origin back nothing is left behind.
vanish_under_load()
{
	noisy_pair
	new_cache "$2" writeback_delay 0
	dd if=/dev/urandom of=/tmp/many bs=64k count=4 2>/dev/null
	timeout 60 dd if=/tmp/many of=$C bs=64k oflag=direct conv=notrunc,fsync 2>/dev/null
	load --rw=randrw --bsrange=512-64k --blockalign=512 --offset=8M --size=8M --iodepth=32 \
		--fsync=32 --time_based --runtime=3 --continue_on_error=all >/dev/null 2>&1 &
	writer=$!
	wait_for 30 under_way
	for _ in 1 2; do
		order vanish "$1"
		sleep 0.5
		sane_status
		order return "$1"
		sleep 0.5
	done
	wait $writer || :
	if [ "$1" = slow ]; then
		is "$(st cache_errors)" 0 "errors of the other device"
		read_back 0 512 | cmp - /tmp/many || fail "durable data is gone"
		as_origin 512 15872
		same_without_cache
	else
		[ "$(st health)" != ok ] || fail "the errors are not told"
		# what is dirty still can be brought to the origin
		message flush
		wait_for 60 st_is flush idle
		ends
	fi
	dd if=$SLOW bs=64k count=4 2>/dev/null | cmp - /tmp/many
	cmp -n $(((8 << 20) - (256 << 10))) -i $((256 << 10)) $SLOW /tmp/origin
}

# Flush without the origin: it ends, tells, and forgets nothing (row 40).
flush_without_origin()
{
	noisy_pair
	new_cache
	keep_dirty
	dd if=/dev/urandom of=/tmp/many bs=4096 count=600 2>/dev/null
	write_4k /tmp/many 0 600
	order vanish slow
	message flush
	wait_for 60 st_is flush idle
	is "$(st dirty)" 600 "dirty after a flush without the origin"
	is "$(st flush_left)" 600 "left by the flush"
	is "$(st health)" degraded
	[ "$(st origin_errors)" -gt 0 ] || fail "not counted"
	read_back 0 4800 | cmp - /tmp/many
	order return slow
	same_without_cache
	cmp -n $((600 * 4096)) $SLOW /tmp/many
}

# A disk that refuses a block for good is not asked for it again and again (row 58).
origin_unwritable_drain()
{
	noisy_pair
	new_cache
	keep_dirty
	write_4k /tmp/noise 0 64
	order fail slow op=write sector=80 len=8
	reset_stats $SLOW
	message set mode writethrough
	wait_for 20 st_is dirty 1
	sleep 5
	again=$(stat_of $SLOW errors)
	{ [ "$again" -gt 1 ] && [ "$again" -le 8 ]; } || fail "$again errors in 5 seconds"
	order heal slow
	same_without_cache
}

# Into a mode without dirty blocks over a disk that refuses a few of them (row 64): the mode
# is in force at once, what can be written is, the rest when the disk is well again.
mode_over_bad_origin()
{
	noisy_pair
	new_cache
	keep_dirty
	dd if=/dev/urandom of=/tmp/many bs=4096 count=1000 2>/dev/null
	write_4k /tmp/many 0 1000
	for block in 300 301 999; do
		order fail slow op=write sector=$((block * 8)) len=8
	done
	timeout 10 dmsetup message c 0 set mode "$1" || fail "the message does not end"
	is "$(st mode)" "$1"
	wait_for 30 st_is dirty 3
	is "$(st health)" degraded
	read_back 0 8000 | cmp - /tmp/many
	as_origin 8000 64
	order heal slow
	same_without_cache
	cmp -n $((1000 * 4096)) $SLOW /tmp/many
}

# Mapping table pages cannot be written: what was durable is in the journal.
table_fails()
{
	noisy_pair
	new_cache
	keep_dirty
	table=$(($(super_field 112) / 512))
	order fail fast op=write sector=$table len=$(($(slot_sector 0) - table))
	dd if=/dev/urandom of=/tmp/many bs=4096 count=600 2>/dev/null
	timeout 60 dd if=/tmp/many of=$C bs=64k oflag=direct conv=notrunc,fsync 2>/dev/null
	ends	# which writes the table
	klog | grep -q "cannot be written" || fail "the log does not tell"
	order heal fast
	if cache; then
		is "$(st dirty)" 600 "dirty after a table that could not be written"
		read_back 0 4800 | cmp - /tmp/many
		as_origin 4800 64
		same_without_cache
	else
		klog | grep -q "has failed" || fail "the refusal is not explained"
	fi
}

# Bios that the block layer refuses at once, in the context of who sends them
# (fail_make_request; the model devices answer later).
refused_at_once()
{
	noisy_pair
	new_cache "$2" writeback_delay 0
	inject fail_make_request probability=10
	echo 1 >/sys/block/"$1"/make-it-fail
	if [ "$1" = fast ]; then
		verify --rw=randrw --bsrange=512-64k --blockalign=512 --offset=8M --size=8M --io_size=2M \
			--fsync=16
		[ "$(st cache_errors)" -gt 0 ] || fail "no bio was refused"
	else
		load --rw=randrw --bsrange=512-64k --blockalign=512 --offset=8M --size=8M --io_size=2M \
			--fsync=16 --continue_on_error=all || :
		[ "$(st origin_errors)" -gt 0 ] || fail "no bio was refused"
	fi
	message flush
	wait_for 60 st_is flush idle
	sane_status
	echo 0 >/sys/block/"$1"/make-it-fail
	inject fail_make_request probability=0
	as_origin 0 16384
	same_without_cache
}

t "a clean block that cannot be read comes from the origin" clean_unreadable
t "a dirty block that cannot be read is lost alone" dirty_unreadable
t "a long read over it counts it once" dirty_unreadable_long
t "write-back goes round it" dirty_unreadable_flush
t "a drain asks for it less and less often" dirty_unreadable_drain
for mode in writeback writethrough; do
	t "$mode: the cache device takes no data" cache_writes_fail $mode
done
t "overwriting a dirty block fails" dirty_write_fails
t "the journal cannot be written" journal_fails
t "the table cannot be written" table_fails
t "the superblock cannot be written" super_fails
t "new sectors after the journal has failed" extend_after_failure
t "an error during a checkpoint does not mark what is dirty" dirty_is_not_marked
t "the superblock cannot be read" super_unreadable
t "the origin cannot be flushed at the start" activation_flush slow
t "the cache device cannot be flushed at the start" activation_flush fast
t "the origin cannot be read" origin_unreadable
for mode in writethrough writearound passthrough; do
	t "$mode: the origin cannot be written" origin_unwritable $mode
done
t "write-back: the origin cannot be written" origin_unwritable_back
t "a drain asks the origin less and less often" origin_unwritable_drain
t "the origin cannot be flushed" origin_flush_fails
t "the origin could not be flushed when write-back asked" origin_flush_told
t "what a failed flush was to cover is not believed later" fresh_after_failed_flush
t "the cache device could not be flushed once" cache_flush_told
for mode in writethrough writearound passthrough; do
	t "$mode: the cache device vanishes" vanish_through $mode 0
done
t "writethrough: a cache device with a volatile cache vanishes" vanish_through writethrough 1
t "writethrough: it comes back with old content" return_through
t "writeback: the cache device vanishes" vanish_back
for mode in writeback writethrough; do
	t "$mode: the origin vanishes" vanish_origin $mode
done
t "flush without the origin" flush_without_origin
for mode in writeback writethrough; do
	t "$mode: the origin vanishes and returns under load" vanish_under_load slow $mode
done
t "writethrough: the cache device vanishes and returns under load" vanish_under_load fast writethrough
t "writeback: the cache device vanishes and returns under load" vanish_under_load fast writeback
t "errors while the mode changes" errors_and_modes
for mode in writethrough passthrough; do
	t "into $mode over a failing origin" mode_over_bad_origin $mode
done
if in_uml; then	# which has fault injection
	t "writeback: the origin refuses at once" refused_at_once slow writeback
	t "writethrough: the cache device refuses at once" refused_at_once fast writethrough
fi
finish
