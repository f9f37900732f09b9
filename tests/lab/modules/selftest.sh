# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Job: do labdev and labgen do what they say? Mostly about what the benchmarks
# would not notice: faults, power cuts, content.
#
#   lab run uml-6.12 tests/lab/modules/selftest.sh --time sim \
#	--module labdev.ko --module labgen.ko [SEEDS=50]

SEEDS=${SEEDS:-50}
labdev=/sys/kernel/debug/labdev
labgen=/sys/kernel/debug/labgen
checks=0
failures=0

order()
{
	echo "$*" >$labdev/control
}

refuses()
{
	! order "$*" 2>/dev/null
}

gen()
{
	echo "id=t dev=/dev/a $*" >$labgen/run
}

# result KEY, stat KEY: of the last run, of device a.
result()
{
	sed -n "s/^id=t .* $1=\(-*[0-9]*\).*/\1/p" $labgen/result
}

stat()
{
	sed -n "s/^$1=//p" $labdev/a
}

device()
{
	if [ -e /dev/a ]; then
		order del a
	fi
	order "add name=a size_mb=64 $*"
}

# t WHAT COMMAND...: one TAP line.
t()
{
	what=$1
	shift
	checks=$((checks + 1))
	if "$@"; then
		echo "ok $checks - $what"
	else
		failures=$((failures + 1))
		echo "not ok $checks - $what: $*"
	fi
}

is()
{
	[ "$1" = "$2" ] || {
		echo "# $1, not $2"
		return 1
	}
}

test_orders()
{
	t "an unknown verb is refused" refuses frobnicate a
	t "an unknown model is refused" refuses add name=b model=floppy
	t "an unknown parameter is refused" refuses add name=b model=ram heads=3
	t "a value out of range is refused" refuses add name=b model=ram lbs=8192
	t "lbs above pbs is refused" refuses add name=b model=ram lbs=4096 pbs=512
	t "an unknown device is refused" refuses del nobody
	t "a second device of that name is refused" refuses add name=a model=ram
	exec 3</dev/a
	t "a device in use stays" refuses del a
	exec 3<&-
}

test_limits()
{
	q=/sys/block/a/queue
	device model=disk volatile=1 lbs=512 pbs=4096
	t "a disk rotates" is "$(cat $q/rotational)" 1
	t "a volatile cache is write back" is "$(cat $q/write_cache)" "write back"
	t "FUA goes with it" is "$(cat $q/fua)" 1
	device model=optane lbs=4096 discard=1 max_kb=256
	t "an SSD does not rotate" is "$(cat $q/rotational)" 0
	t "no cache is write through" is "$(cat $q/write_cache)" "write through"
	t "4 KiB sectors" is "$(cat $q/logical_block_size)" 4096
	t "the longest I/O" is "$(cat $q/max_sectors_kb)" 256
	t "discard" [ "$(cat $q/discard_max_bytes)" -gt 0 ]
}

test_content()
{
	for model in ram optane disk; do
		device model=$model discard=1
		gen op=write rw=perm bs=12k n=1000 span=12000k qd=16 verify=1 gen=7
		gen op=read rw=rand n=3000 span=12000k qd=8 verify=1 gen=7
		t "$model returns what was written" is "$(result mismatches)" 0
		gen op=mix rw=rand n=5000 span=2M qd=32 verify=1 gen=100 \
			scribble=1 bs=512
		t "$model: sectors, in any order" is "$(result mismatches)" 0
		blkdiscard -o 1M -l 4M /dev/a
		gen op=read n=1 start=1M bs=4M verify=1 gen=7
		t "$model: discarded sectors are lost" is "$(result mismatches)" 8192
		gen op=read n=1 start=5M bs=1M verify=1 gen=7
		t "$model: their neighbours are not" is "$(result mismatches)" 0
		t "$model: they read as zeroes" \
			cmp -n 4194304 /dev/a /dev/zero 1048576 0
	done
	device model=ram size_mb=1000000000
	gen op=write rw=rand n=100000 bs=64k
	t "a petabyte of zeroes fits" is "$(result errors)" 0
}

test_faults()
{
	device model=optane
	order fail a op=read sector=80 len=8 count=2
	gen op=read n=20
	t "a bad block fails" is "$(result errors)" 1
	gen op=read n=20
	gen op=read n=20
	t "as often as asked" is "$(result errors)" 0
	order fail a op=write sector=80 len=8 heals=1
	gen op=read n=20
	t "reads pass a write fault" is "$(result errors)" 0
	order heal a
	order fail a op=read sector=80 len=8 heals=1
	gen op=write n=20
	gen op=read n=20
	t "rewriting heals" is "$(result errors)" 0
	order slow a us=500 skip=5 count=1
	gen op=read n=20
	t "a slow I/O" [ "$(result max)" -gt 500000 ]
	t "and only one" [ "$(result p50)" -lt 500000 ]
	device model=optane volatile=1
	order fail a op=flush count=1
	gen op=write n=10 flush_every=5
	t "a flush fails" is "$(result errors)" 1
}

test_vanish()
{
	device model=optane volatile=1
	gen op=write n=100 verify=1 gen=3
	order save a
	gen op=write n=100 verify=1 gen=4
	order vanish a
	gen op=read n=10
	t "a vanished device fails" is "$(result errors)" 10
	t "after a millisecond" [ "$(result p50)" -ge 990000 ]
	t "it cannot be restored" refuses restore a
	order return a
	gen op=read n=100 verify=1 gen=4
	t "it comes back as it was" is "$(result mismatches)" 0
	order vanish a
	order return a image=saved
	gen op=read n=100 verify=1 gen=3
	t "or with older content" is "$(result mismatches)" 0
	order reset a
	gen op=read n=100 verify=1 gen=3
	t "reset is the same" is "$(result mismatches)" 0
}

# Write generation 1, then 2, and cut. What is then there? Counts go into
# old (sectors that are not of generation 2) and garbage.
cut_run()
{
	order reset a
	order cut a seed="$seed" "$1"
	shift
	gen op=write n=200 verify=1 gen=2 "$@"
	errors=$(result errors)
	if [ "$(stat state)" = up ]; then
		order disarm
		order cut a seed="$seed"
	fi
	order restore a
	gen op=read n=200 verify=1 gen=2
	old=$(result mismatches)
	gen op=read n=200 verify=1
	garbage=$((garbage + $(result mismatches)))
}

# cuts OPTION...: SEEDS cuts, none of which may leave garbage. Sums up how many
# lost something, or everything that they could.
cuts()
{
	seed=0
	garbage=0
	lossy=0
	torn=0
	kept=0
	gen op=write n=200 verify=1 gen=1
	order save a
	while [ $seed -lt "$SEEDS" ]; do
		seed=$((seed + 1))
		cut_run "$@"
		torn=$((torn + $(stat cut_torn)))
		kept=$((kept + $(stat cut_kept)))
		if [ "$old" -gt 0 ]; then
			lossy=$((lossy + 1))
		fi
	done
}

test_cuts()
{
	device model=optane volatile=1 jitter_ns=20000
	cuts after_ios=300
	t "unflushed writes: no garbage" is "$garbage" 0
	t "most seeds lose some" [ $lossy -gt $((SEEDS / 2)) ]
	t "and some keep all" [ $lossy -lt "$SEEDS" ]
	t "torn writes occur" [ $torn -gt 0 ]
	cuts after_ios=300 flush_every=200
	t "flushed writes are never lost" is $lossy 0
	cuts after_ios=300 fua=1 qd=8
	t "FUA writes are never lost" is $lossy 0
	t "nor torn" is "$garbage$torn" 00

	device model=optane jitter_ns=20000
	cuts after_ios=300 qd=8
	t "no volatile cache, nothing in flight: nothing lost" is $lossy 0
	cuts after_ios=100 qd=8
	t "writes in flight can be kept" [ $kept -gt 0 ]
	t "or torn, in sectors" [ $torn -gt 0 ]
	t "they leave no garbage" is "$garbage" 0
	t "the later ones fail" [ "$errors" -gt 100 ]

	device model=disk
	cuts delay_ns=2000000 qd=32
	t "a disk, cut by the clock: no garbage" is "$garbage" 0
	t "a disk loses writes" [ $lossy -gt 0 ]

	device model=optane volatile=1 lbs=4096 jitter_ns=20000
	cuts after_ios=300 bs=8k
	t "4 KiB sectors: no garbage" is "$garbage" 0
}

# What the other tests of cuts cannot see, with an outcome for each seed:
# FUA over an unflushed write, which must not come back ...
over_unflushed()
{
	gen op=write n=50 verify=1 gen=2
	gen op=write n=50 verify=1 gen=3 fua=1
}

# ... and writes that are acknowledged while a flush is under way, which it does
# not cover.
during_flush()
{
	echo "id=u dev=/dev/a op=write start=32M n=1 flush_every=1" >$labgen/run &
	flusher=$!
	gen op=write n=1 start=16M gap_us=1000
	gen op=write n=50 verify=1 gen=3
	wait $flusher
}

# order_of COMMAND: how many seeds of SEEDS lose generation 3.
order_of()
{
	seed=0
	lossy=0
	while [ $seed -lt "$SEEDS" ]; do
		seed=$((seed + 1))
		order reset a
		"$@"
		order cut a seed=$seed
		order restore a
		gen op=read n=50 verify=1 gen=3
		if [ "$(result mismatches)" -gt 0 ]; then
			lossy=$((lossy + 1))
		fi
	done
}

test_order()
{
	device model=optane volatile=1 flush_ns=50000000
	order_of over_unflushed
	t "FUA wins over unflushed older data" is $lossy 0
	order_of during_flush
	t "a flush does not cover later acknowledgments" [ $lossy -gt 0 ]
}

# A cut reaches all devices it names at one instant.
test_both()
{
	device model=optane
	order add name=b model=disk size_mb=64
	order cut a b seed=1 after_ios=50
	gen op=write n=60
	t "the cut of two" is "$(stat state) $(sed -n s/state=//p $labdev/b)" "cut cut"
	order restore a b
	order del b
}

load_module labdev
load_module labgen
device model=ram
test_orders
test_limits
test_content
test_faults
test_vanish
test_cuts
test_order
test_both
order del a
rmmod labdev
load_module labdev
t "after a reload the modules work" order add name=a model=ram
order del a
rmmod labgen labdev
echo "1..$checks"
[ "$failures" -eq 0 ] || fail "$failures of $checks checks"
