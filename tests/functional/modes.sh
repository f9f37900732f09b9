# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034,SC2119 # device names hold no spaces; lib.sh uses the rest
# Modes and options: changed live by message, sysfs and reload; told by table and status;
# remembered.
# shellcheck source=tests/functional/lib.sh
. "$LAB_FILES/lib.sh"

MODES="writeback writethrough writearound passthrough"

sysfs()
{
	echo "/sys/block/dm-$(dmsetup info -c --noheadings -o minor c)/optcache"
}

reload()
{
	dmsetup reload c --table "$(table "$@")"
	dmsetup resume c
}

# busy FUNCTION: call it again and again while checksums are verified.
busy()
{
	busy_count=0
	while [ $busy_count -lt "$(more 12 200)" ]; do
		storm $(($(more 4 32) << 20)) --randseed=$busy_count &
		busy_pid=$!
		while kill -0 $busy_pid 2>/dev/null; do
			"$1" $busy_count || fail "$1, time $busy_count"
			sane_status
			busy_count=$((busy_count + 1))
			sleep 0.1
		done
		wait $busy_pid
	done
	say "$busy_count times"
	case $(st mode) in passthrough) message set mode writeback ;; esac
	same_without_cache
}

nth_mode()
{
	echo "$MODES" | cut -d' ' -f$(($1 % 4 + 1))
}

by_message()
{
	message set mode "$(nth_mode "$1")"
	is "$(st mode)" "$(nth_mode "$1")"
}

by_sysfs()
{
	nth_mode "$1" >"$(sysfs)/mode"
	is "$(cat "$(sysfs)/mode")" "$(nth_mode "$1")"
}

by_reload()
{
	reload "$(nth_mode "$1")"
	is "$(st mode)" "$(nth_mode "$1")"
}

other_options()
{
	message set seq_cutoff $(($1 % 3 * 64))
	echo $(($1 % 2)) >"$(sysfs)/writeback_delay"
	message set dirty_high $((10 + $1 % 50))
}

same_table()
{
	dmsetup table c >/tmp/table.now
	dmsetup reload c /tmp/table.now
	dmsetup resume c
	[ "$(dmsetup table c)" = "$(cat /tmp/table.now)" ] || fail "$(dmsetup table c)"
}

suspend_resume()
{
	case $(($1 % 4)) in
	0) dmsetup suspend c ;;
	1) dmsetup suspend --noflush c ;;
	2) dmsetup suspend --nolockfs c ;;
	3) dmsetup suspend --noflush --nolockfs c ;;
	esac
	[ $(($1 % 3)) -ne 0 ] || sleep 0.2
	dmsetup resume c
}

# while_busy CHANGE
while_busy()
{
	timed
	pair 4 16
	new_cache writeback_delay 1
	busy "$1"
}

# The line of dmsetup table is taken back, and says the same, with any options.
round_trip()
{
	pair 8 32
	new_cache
	write_some
	dirty=$(st dirty)
	for options in "" "mode writethrough" "mode writeback seq_cutoff 0" "dirty_low 10 dirty_high 20" \
		"writeback_delay 3600" "mode writeback seq_cutoff 512 writeback_delay 3600 dirty_low 1 dirty_high 95"; do
		for option in $options; do
			case $option in
			[a-z]*_[a-z]* | mode) key=$option ;;
			*) message set "$key" "$option" ;;
			esac
		done
		dmsetup table c >/tmp/table.1
		for word in $options; do
			grep -qw -- "$word" /tmp/table.1 || fail "'$word' is not in $(cat /tmp/table.1)"
		done
		grep -qw format /tmp/table.1 && fail "the table says format"
		for _ in $(seq "$(more 5 100)"); do
			dmsetup table c >/tmp/table.2
			cmp -s /tmp/table.1 /tmp/table.2 || fail "$(cat /tmp/table.2)"
			dmsetup reload c /tmp/table.2
			dmsetup resume c
		done
		cmp /tmp/table.1 /tmp/table.2
	done
	[ "$(st dirty)" -le "$dirty" ] || fail "dirty out of nothing"
	# also after remove, for create
	stop
	dmsetup create c /tmp/table.1
	dmsetup table c | cmp - /tmp/table.1
	same_without_cache
}

write_some()
{
	dd if=/dev/urandom of=$C bs=4096 count=200 oflag=direct conv=notrunc 2>/dev/null
}

# A reload neither reads metadata nor forgets anything.
reload_is_cheap()
{
	need_labdev
	pair 16 32
	new_cache
	keep_dirty
	write_some
	same_table 0
	reads=$(stat_of $FAST sectors_read)
	for _ in 1 2 3 4 5; do
		same_table 0
	done
	[ $(($(stat_of $FAST sectors_read) - reads)) -le $((5 * 16)) ] ||
		fail "a reload reads $((($(stat_of $FAST sectors_read) - reads) / 5)) sectors"
	is "$(st dirty)" 200
}

# An inactive table that is cleared again changes nothing.
cleared()
{
	pair 8 32
	new_cache
	keep_dirty
	write_some
	before=$(dmsetup table c)
	for _ in 1 2 3; do
		dmsetup reload c --table "$(table writethrough)"
		write_some
		dmsetup clear c
		is "$(dmsetup table c)" "$before"
		is "$(st mode)" writeback
	done
	# loaded long before it is resumed, used meanwhile (hazard 15)
	dmsetup reload c --table "$(table seq_cutoff 64)"
	verify --rw=randrw --bs=4k --io_size=4M
	dmsetup resume c
	is "$(st seq_cutoff)" 64
	verify --rw=randrw --bs=4k --io_size=4M --randseed=2
	same_without_cache
}

saved()
{
	message set mode writethrough
	message set seq_cutoff 77
	echo 33 >"$(sysfs)/dirty_high"
	message set writeback_delay 99
}

check_saved()
{
	is "$(st mode)" writethrough
	is "$(st seq_cutoff)" 77
	is "$(st dirty_high)" 33
	is "$(st writeback_delay)" 99
	is "$(st dirty_low)" 0
}

saved_restart()
{
	pair 8 32
	new_cache
	saved
	stop
	cache
	check_saved
	stop
	# the table counts more than what was saved
	cache mode writearound dirty_low 5
	is "$(st mode)" writearound
	is "$(st dirty_low)" 5
	is "$(st seq_cutoff)" 77
}

# Seconds after it was set an option survives a power cut.
saved_crash()
{
	need_labdev
	pair 8 32
	new_cache
	write_some
	saved
	sleep 3
	order cut fast slow seed=1
	timeout 60 dmsetup remove c
	rmmod dm-optcache
	load_module dm-optcache
	order restore fast slow
	cache
	check_saved
}

# Sequential writes past the cut-off do not enter, smaller ones do.
seq_cutoff()
{
	pair 16 64
	new_cache seq_cutoff 256
	dd if=/dev/urandom of=$C bs=64k count=256 oflag=direct conv=notrunc 2>/dev/null
	[ "$(st mapped)" -le 80 ] || fail "$(st mapped) blocks of a long stream were cached"
	message set seq_cutoff 0
	dd if=/dev/urandom of=$C bs=64k seek=400 count=64 oflag=direct conv=notrunc 2>/dev/null
	[ "$(st mapped)" -ge 1024 ] || fail "only $(st mapped) blocks of 1024 were cached"
	same_without_cache
}

# Every acknowledged write is on the disk.
through_is_through()
{
	pair 8 32
	new_cache "$1"
	for i in $(seq 20); do
		dd if=/dev/urandom of=/tmp/w bs=4096 count="$i" 2>/dev/null
		dd if=/tmp/w of=$C bs=4096 seek=$((i * 37)) oflag=direct conv=notrunc 2>/dev/null
		is "$(st dirty)" 0
		dd if="$SLOW" bs=4096 skip=$((i * 37)) count="$i" iflag=direct 2>/dev/null | cmp - /tmp/w
	done
}

# writearound: writes end what is cached, reads bring it in.
around()
{
	pair 8 32
	new_cache writearound
	write_some
	is "$(st mapped)" 0
	for _ in $(seq 50); do
		dd if=$C of=/dev/null bs=4096 count=1 skip=$((_ * 3)) iflag=direct 2>/dev/null
	done
	sleep 0.3
	[ "$(st mapped)" -ge 40 ] || fail "only $(st mapped) of 50 blocks read are cached"
	write_some
	sync $C
	is "$(st mapped)" 0
	same_without_cache
}

# What is dirty goes to the disk when the mode changes, and old data never comes back
# over new (rows 20, 21).
leave_writeback()
{
	pair 8 32
	new_cache
	keep_dirty
	write_some
	is "$(st dirty)" 200
	stop
	cache "$1"
	dd if=/dev/urandom of=/tmp/w bs=4096 count=100 2>/dev/null
	dd if=/tmp/w of=$C bs=4096 seek=50 oflag=direct conv=notrunc 2>/dev/null
	wait_for 30 st_is dirty 0
	dd if="$SLOW" bs=4096 skip=50 count=100 iflag=direct 2>/dev/null | cmp - /tmp/w
	dd if=/dev/urandom of=/tmp/w bs=4096 count=100 2>/dev/null
	dd if=/tmp/w of=$C bs=4096 seek=50 oflag=direct conv=notrunc 2>/dev/null
	is "$(st dirty)" 0
	dd if="$SLOW" bs=4096 skip=50 count=100 iflag=direct 2>/dev/null | cmp - /tmp/w
	same_without_cache
}

# All keys of the status are in sysfs as well, and are numbers where they should be.
status_and_sysfs()
{
	pair 8 32
	new_cache
	write_some
	dmsetup status c | tr ' ' '\n' | grep '=' >/tmp/pairs
	is "$(dmsetup status c | cut -d' ' -f4)" 1 "version of the status line"
	while IFS='=' read -r key value; do
		file=$(sysfs)/$key
		[ -e "$file" ] || file=$(sysfs)/stats/$key
		[ -e "$file" ] || fail "$key is not in sysfs"
		grep -Eq '^([0-9]+|[a-z]+)$' "$file" || fail "$key: $(cat "$file")"
	done </tmp/pairs
	for key in slots slot_size journal_size seq_cutoff dirty_high memory mode state health; do
		file=$(sysfs)/$key
		[ -e "$file" ] || file=$(sysfs)/stats/$key
		is "$(cat "$file")" "$(st $key)" "$key"
	done
	message reset-stats
	is "$(st writes)" 0
	is "$(st mapped)" 200
}

# The status is sane at any moment: 0 <= dirty <= mapped <= slots.
status_under_load()
{
	timed
	pair 4 16
	new_cache writeback_delay 0
	load --rw=randwrite --bsrange=512-64k --blockalign=512 --time_based --runtime=60 --iodepth=32 \
		>/dev/null 2>&1 &
	writer=$!
	for i in $(seq "$(more 60 1500)"); do
		sane_status
		[ $((i % 20)) != 0 ] || message flush
		[ $((i % 15)) != 0 ] || message drop-clean
	done
	kill $writer 2>/dev/null || :	# on a slow machine its time is up already
	wait $writer || :
}

# Writes are dirty from the moment they are mapped: from empty, dirty must not overtake
# mapped while both grow.
status_while_growing()
{
	pair 64 128
	new_cache seq_cutoff 0
	keep_dirty
	load --rw=randwrite --bs=64k --io_size=48M --iodepth=4 &
	writer=$!
	while kill -0 $writer 2>/dev/null; do
		sane_status
	done
	wait $writer
}

flush_and_cancel()
{
	timed
	pair 8 32
	new_cache
	keep_dirty
	load --rw=randwrite --bs=4k --number_ios=1000 --norandommap=0
	[ "$(st dirty)" -gt 500 ]
	message flush
	is "$(st flush)" running
	message cancel-flush
	wait_for 10 st_is flush idle
	flush
	# and of nothing
	message flush
	wait_for 10 st_is flush idle
	message cancel-flush
	is "$(st flush)" idle
}

# A flush ends while all is written all over (row 52).
flush_under_load()
{
	timed
	pair 8 32
	new_cache
	keep_dirty
	# not by load, which would be killed without its child
	fio --output=/tmp/load.log --thread --direct=1 --ioengine=libaio --iodepth=4 --name=load \
		--filename=$C --rw=randwrite --bs=4k --time_based --runtime=300 >/dev/null 2>&1 &
	writer=$!
	sleep 1
	for _ in 1 2; do
		message flush
		wait_for 30 st_is flush idle
	done
	kill -0 $writer || fail "the load has ended"
	kill $writer
	wait $writer || :
	flush
}

# A single dirty sector goes to the origin by itself (row 53).
lonely_sector()
{
	pair 8 32
	new_cache writeback_delay 1
	dd if=/dev/urandom of=/tmp/w bs=512 count=1 2>/dev/null
	dd if=/tmp/w of=$C bs=512 seek=777 oflag=direct conv=notrunc 2>/dev/null
	is "$(st dirty)" 1
	wait_for 20 st_is dirty 0
	dd if="$SLOW" bs=512 skip=777 count=1 iflag=direct 2>/dev/null | cmp - /tmp/w
	flush
}

# What a start has found dirty waits for its delay, too, when an option changes.
recovered_waits()
{
	pair 8 32
	new_cache
	keep_dirty
	dd if=/dev/urandom of=$C bs=4096 count=100 oflag=direct conv=notrunc 2>/dev/null
	stop
	cache
	is "$(st dirty)" 100 "dirty after the start"
	message set writeback_delay 1800
	sleep 2
	is "$(st dirty)" 100 "dirty after a change of the delay"
	message set writeback_delay 1
	wait_for 20 st_is dirty 0
	same_without_cache
}

# A device that was resized meanwhile: the table is refused, and the old one goes on.
resized()
{
	need_labdev
	order add name=fast model=ram size_mb=8
	order add name=slow model=ram size_mb=32
	trimmed cut_fast /dev/fast 16000
	trimmed cut_slow /dev/slow 49152
	FAST=/dev/mapper/cut_fast
	SLOW=/dev/mapper/cut_slow
	new_cache
	keep_dirty
	dd if=/dev/urandom of=/tmp/some bs=4096 count=16 2>/dev/null
	dd if=/tmp/some of=$C bs=4096 count=16 oflag=direct conv=notrunc 2>/dev/null
	dmsetup reload cut_slow --table "0 65536 linear /dev/slow 0"
	dmsetup resume cut_slow
	mark
	refused dmsetup reload c --table "$(table)"
	klog | grep -q "made for an origin of 49152 sectors, not 65536" || fail "the log does not tell"
	dmsetup reload cut_slow --table "0 49152 linear /dev/slow 0"
	dmsetup resume cut_slow
	dmsetup reload cut_fast --table "0 15000 linear /dev/fast 0"
	dmsetup resume cut_fast
	mark
	refused dmsetup reload c --table "$(table)"
	klog | grep -q "the cache device has shrunk from" || fail "the log does not tell"
	dmsetup reload cut_fast --table "0 16000 linear /dev/fast 0"
	dmsetup resume cut_fast
	dmsetup suspend c
	dmsetup resume c
	is "$(st dirty)" 16
	dd if=$C bs=4096 count=16 iflag=direct 2>/dev/null | cmp - /tmp/some
	same_without_cache
}

# A table that waits says what it would change, and changes nothing.
waiting_table()
{
	pair 4 16
	new_cache seq_cutoff 64
	dmsetup reload c --table "$(table seq_cutoff 4096 mode writethrough)"
	dmsetup table --inactive c | grep -q "mode writethrough.*seq_cutoff 4096\|seq_cutoff 4096.*mode writethrough" ||
		fail "the inactive table is: $(dmsetup table --inactive c)"
	is "$(st mode)" writeback
	is "$(st seq_cutoff)" 64
	dmsetup clear c
	dmsetup table c | grep -q "seq_cutoff 64" || fail "the table is: $(dmsetup table c)"
}

# Writes through the cache, and never a flush: their slots are of use again all the same.
never_flushed()
{
	models "model=ram size_mb=16" "model=ram size_mb=64 volatile=1"
	new_cache mode writethrough seq_cutoff 0
	dd if=/dev/zero of=$C bs=128k count=512 oflag=direct conv=notrunc 2>/dev/null
	message reset-stats
	# not as fast as this disk can: it is the workers' turn now and then. Free slots are many
	# by now, but few are in a row.
	for pass in 1 2 3 4 5 6 7 8; do
		sleep 0.2
		dd if=/dev/zero of=$C bs=128k count=4 oflag=direct conv=notrunc 2>/dev/null
	done
	[ "$(st write_through)" -ge 20 ] || fail "only $(st write_through) of 32 writes are cached"
}

# The caller's own pages go to the cache device: what it needs of them, the cached device does.
stable_pages()
{
	models "model=ram size_mb=8" "model=ram size_mb=16"
	echo 1 >/sys/block/fast/queue/stable_writes
	new_cache
	is "$(cat "$(sysfs)/../queue/stable_writes")" 1
}

for change in by_message by_sysfs by_reload; do
	t "modes change $change under load" while_busy $change
done
t "options change under load" while_busy other_options
t "the same table again and again under load" while_busy same_table
t "suspend and resume in every way under load" while_busy suspend_resume
t "dmsetup table goes round" round_trip
t "a reload reads no metadata" reload_is_cheap
t "an inactive table changes nothing" cleared
t "a table that waits says what it would change" waiting_table
t "a device that was resized is refused" resized
t "write-through without flushes" never_flushed
t "the need of stable pages is passed on" stable_pages
t "options are kept over a restart" saved_restart
t "options are kept over a power cut" saved_crash
t "seq_cutoff" seq_cutoff
for mode in writethrough writearound passthrough; do
	t "$mode: acknowledged is on the disk" through_is_through $mode
	t "from writeback to $mode" leave_writeback $mode
done
t "writearound: writes go round, reads come in" around
t "status and sysfs say the same" status_and_sysfs
t "the status is sane under load" status_under_load
t "the status is sane while the cache fills" status_while_growing
t "flush and cancel-flush" flush_and_cancel
t "a flush ends under load" flush_under_load
t "a lonely dirty sector" lonely_sector
t "a changed option does not hurry what a start found dirty" recovered_waits
finish
