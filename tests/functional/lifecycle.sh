# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034,SC2119 # device names hold no spaces; lib.sh uses the rest
# The life of a cache: in every order that a user can think of, and in some that nobody
# would. SEED is the first seed of the fuzzer, STEPS how many each.
# shellcheck source=tests/functional/lib.sh
. "$LAB_FILES/lib.sh"

fuzz()
{
	need_labdev
	python3 "$LAB_FILES/lifecycle.py" --seed "$1" --steps "${STEPS:-$(more 120 2000)}" ||
		fail "run again with SEED=$1"
}

# Two caches in one table work, or are refused with a reason; the kernel does not stumble.
two_in_one()
{
	need_labdev
	pair 4 16
	order add name=fast2 model=ram size_mb=4
	order add name=slow2 model=ram size_mb=16
	n=$(sectors $SLOW)
	if dmsetup create c <<-END
		0 $n optcache $FAST $SLOW 1 format
		$n 32768 optcache /dev/fast2 /dev/slow2 1 format
	END
	then
		verify --rw=randrw --bs=4k --io_size=2M
	else
		klog | grep -q "optcache: .*\(table\|target\|one\)" || fail "no reason: $(klog)"
	fi
}

# One pair at two places would be one disk twice.
twice_in_one()
{
	need_labdev
	pair 4 16
	new_cache
	stop
	n=$(sectors $SLOW)
	if dmsetup create c <<-END
		0 $n optcache $FAST $SLOW 0
		$n $n optcache $FAST $SLOW 0
	END
	then
		fail "the same pair twice in a table was accepted"
	fi
}

# Loading is never refused for what was loaded before.
cleared_often()
{
	pair 4 16
	new_cache
	for i in $(seq "$(more 40 400)"); do
		dmsetup load c --table "$(table)" || fail "load $i"
		case $((i % 4)) in
		0) dmsetup clear c ;;
		1) dmsetup resume c ;;
		2) refused dmsetup load c --table "$(table frobnicate)" ;;
		esac
	done
	dmsetup resume c
	same_without_cache
}

# A failed start, tried again, and again when the cause is gone (row 62).
failed_resume()
{
	need_labdev
	pair 4 16
	new_cache
	keep_dirty
	dd if=/dev/urandom of=/tmp/w bs=4096 count=50 2>/dev/null
	dd if=/tmp/w of=$C bs=4096 oflag=direct conv=notrunc 2>/dev/null
	stop
	dmsetup create c --notable
	dmsetup load c --table "$(table)"
	order fail fast op=read sector="$1"
	refused dmsetup resume c
	refused dmsetup resume c
	refused message flush
	refused message drop-clean
	dmsetup status c >/dev/null
	dmsetup table c >/dev/null
	order heal fast
	dmsetup resume c || {
		dmsetup load c --table "$(table)"
		dmsetup resume c
	}
	is "$(st dirty)" 50
	dd if=$C bs=4096 count=50 iflag=direct 2>/dev/null | cmp - /tmp/w
	same_without_cache
}

# Never resumed: the devices are as they were, and free again.
never_resumed()
{
	need_labdev
	pair 4 16
	new_cache
	stop
	before=$(sum $FAST)$(sum $SLOW)
	dmsetup create c --notable
	dmsetup load c --table "$(table)"
	dmsetup clear c
	dmsetup load c --table "$(table writethrough)"
	dmsetup remove c
	is "$(sum $FAST)$(sum $SLOW)" "$before"
	cache
}

# Create, write, remove, with and without I/O in flight (row 50).
many_times()
{
	pair 4 16
	new_cache
	i=0
	while [ $i -lt "$(more 25 1000)" ]; do
		dd if=/dev/urandom of=$C bs=4096 count=20 seek=$((i * 13 % 4000)) oflag=direct conv=notrunc \
			2>/dev/null
		dd if=$C of=/dev/null bs=64k count=8 skip=$((i % 200)) iflag=direct 2>/dev/null
		[ $((i % 3)) != 0 ] || message flush
		stop
		case $((i % 4)) in
		0) cache writethrough ;;
		*) cache mode writeback writeback_delay 0 ;;
		esac
		i=$((i + 1))
	done
	same_without_cache
}

# Opened by somebody it stays; so does the module.
in_use()
{
	pair 4 16
	new_cache
	exec 9<$C
	refused dmsetup remove c
	refused rmmod dm-optcache
	exec 9<&-
	refused rmmod dm-optcache
	stop
	rmmod dm-optcache
	load_module dm-optcache
	cache
	verify --rw=randrw --bs=4k --io_size=1M
}

# The devices belong to the cache: nobody mounts the origin meanwhile.
held()
{
	need_fs ext4
	pair 4 16
	mkfs.ext4 -q -F "$SLOW"
	new_cache
	refused mount -t ext4 "$SLOW" /mnt/t
	mount -t ext4 $C /mnt/t
	refused dmsetup remove c
	umount /mnt/t
	stop
	mount -t ext4 -o ro "$SLOW" /mnt/t
	refused cache
	klog | grep -q "origin cannot be opened.*mounted" || fail "no reason: $(klog)"
	umount /mnt/t
	cache
}

# remove --force with everything in flight.
forced()
{
	timed
	pair 4 16
	new_cache
	for _ in 1 2 3; do
		load --rw=randrw --bs=4k --time_based --runtime=60 --iodepth=32 --continue_on_error=none \
			>/dev/null 2>&1 &
		writer=$!
		sleep 1
		timeout 60 dmsetup remove --force c >/dev/null 2>&1 || :
		wait $writer || :
		timeout 60 dmsetup remove c 2>/dev/null || :
		cache
	done
	same_without_cache
}

t "two caches in one table" two_in_one
t "one pair twice in a table" twice_in_one
t "tables loaded and cleared many times" cleared_often
t "a start that fails: superblock" failed_resume 0
t "a start that fails: anywhere but the superblock" failed_resume "16 len=10000"
t "a table that never came into force" never_resumed
t "created and removed many times" many_times
t "in use" in_use
t "the devices are held" held
t "remove --force under load" forced
for seed in $(seq "${SEED:-1}" $((${SEED:-1} + $(more 1 19)))); do
	t "fuzzer, seed $seed" fuzz "$seed"
done
finish
