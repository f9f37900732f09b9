# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034,SC2119 # device names hold no spaces; lib.sh uses the rest
# A read hit, and a write hit on a dirty block, cost no allocation, no work item and no lock
# of ours. In QEMU the function graph tracer shows every call on the way; in UML, which has it
# not, the events of the allocator, of the workqueues and of lockdep do.
# shellcheck source=tests/functional/lib.sh
. "$LAB_FILES/lib.sh"

T=/sys/kernel/tracing
HITS=64
FORBIDDEN="alloc|mempool_|queue_work|queue_delayed|mod_delayed|wake_up|spin_lock|mutex_lock|read_lock|write_lock|down_read|down_write|schedule|oc_route|oc_defer"

# what is forbidden, in a trace of events
FORBIDDEN_EVENTS='call_site=.*\[dm_optcache\]|workqueue=optcache|lock_acquire: .*(&(core|s|j|f|pool|rs|ck|st|ix|wb)->|optcache|registry_lock|loaded_lock|stripe)'

# hits OPERATION: as many hits, after everything has come to rest.
hits()
{
	case $1 in
	read) dd if=$C of=/dev/null bs=4096 count=$HITS iflag=direct 2>/dev/null ;;
	write) dd if=/dev/zero of=$C bs=4096 count=$HITS oflag=direct conv=notrunc 2>/dev/null ;;
	miss) dd if=$C of=/dev/null bs=4096 count=$HITS skip=1000 iflag=direct 2>/dev/null ;;
	large) dd if=$C of=/dev/null bs=65536 count=$((HITS / 16)) iflag=direct 2>/dev/null ;;
	esac
}

warm()
{
	pair 8 32
	new_cache seq_cutoff 0
	keep_dirty
	dd if=/dev/urandom of=$C bs=65536 count=$((HITS / 16)) oflag=direct conv=notrunc,fsync 2>/dev/null
	hits read
	sleep 0.5
	message reset-stats
}

trace()
{
	: >$T/trace
	echo 1 >$T/tracing_on
	hits "$1"
	echo 0 >$T/tracing_on
	cat $T/trace >/tmp/trace
}

# To switch this tracer on and off is what takes long in QEMU: both functions at once.
by_graph()
{
	warm
	echo 0 >$T/tracing_on
	echo 0 >$T/options/funcgraph-irqs
	echo 20000 >$T/buffer_size_kb
	printf 'optcache_map\noptcache_end_io\n' >$T/set_graph_function || fail "nothing to trace"
	echo function_graph >$T/current_tracer
	trace "$1"
	echo nop >$T/current_tracer
	: >$T/set_graph_function
	for call in optcache_map optcache_end_io; do
		seen=$(grep -Ec "\| +$call( \[dm_optcache\])?\(\)" /tmp/trace) || :
		[ "$seen" -ge $((HITS / 16)) ] || {
			head -20 /tmp/trace
			fail "only $seen calls of $call in the trace"
		}
	done
	sed -n 's/.*| *\([a-z_0-9]*\)\( \[dm_optcache\]\)*().*/\1/p' /tmp/trace | sort | uniq -c |
		sort -rn >/tmp/calls
	say "$(awk '{ printf "%s %s, ", $1, $2 }' /tmp/calls)"
	# an interrupt may fall into some of them: what counts happens at every hit
	if awk -v least=$((seen / 4)) '$1 >= least { print $2 }' /tmp/calls |
		grep -E "$FORBIDDEN" | grep -v rcu_read_ >/tmp/bad; then
		fail "$1 hits do what they must not: $(tr '\n' ' ' </tmp/bad)"
	fi
}

by_events()
{
	warm
	echo 0 >$T/tracing_on
	for event in kmem workqueue/workqueue_queue_work lock/lock_acquire optcache; do
		[ ! -e $T/events/$event/enable ] || echo 1 >$T/events/$event/enable
	done
	echo 30000 >$T/buffer_size_kb
	trace "$1"
	for event in kmem workqueue/workqueue_queue_work lock/lock_acquire optcache; do
		[ ! -e $T/events/$event/enable ] || echo 0 >$T/events/$event/enable
	done
	case $1 in
	large) want=$((HITS / 16)) ;;
	miss) want=0 ;;
	*) want=$HITS ;;
	esac
	seen=$(grep -c optcache_hit: /tmp/trace) || :
	[ "$seen" -ge $want ] || fail "$seen hits in the trace instead of $want"
	say "events: $(grep -c . /tmp/trace), of locks $(grep -c lock_acquire: /tmp/trace)"
	grep -E "$FORBIDDEN_EVENTS" /tmp/trace >/tmp/bad || :
	if [ "$1" = miss ]; then
		[ -s /tmp/bad ] || fail "not even misses show what is looked for"
	elif [ -s /tmp/bad ]; then
		sed 's/.*: \([a-z_]*\):/\1/' /tmp/bad | sort | uniq -c | sort -rn | head -8
		fail "$1 hits do what they must not: $(head -1 /tmp/bad)"
	fi
}

# A read hit in every other 4 KiB is remapped where it is: nothing is deferred.
not_deferred()
{
	warm
	hits read
	hits write
	hits large
	is "$(st deferred)" 0
	[ "$(st read_hits)" -ge $((HITS + HITS / 16)) ] || fail "hits: $(st read_hits)"
	is "$(st read_misses)" 0
	is "$(st write_hits)" "$(st writes)"
	is "$(st journal_records)" 0 "records for overwriting dirty blocks"
}

for what in read write large; do
	if in_uml; then
		t "$what hits: events" by_events $what
	else
		t "$what hits: calls" by_graph $what
	fi
done
! in_uml || t "misses do show up in the events" by_events miss
t "hits are counted, and are not deferred" not_deferred
finish
