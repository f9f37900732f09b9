# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034,SC2119 # device names hold no spaces; lib.sh uses the rest
# An origin that was written without its cache (rows 1, 2, 19), and one that was not.
# shellcheck source=tests/functional/lib.sh
. "$LAB_FILES/lib.sh"

# put DEVICE SECTOR COUNT [FILE]: random sectors there; FILE keeps them.
put()
{
	dd if=/dev/urandom of="${4:-/tmp/put}" bs=512 count="$3" 2>/dev/null
	dd if="${4:-/tmp/put}" of="$1" bs=4096 seek=$(($2 * 512)) oflag=seek_bytes conv=notrunc,fsync \
		2>/dev/null || fail "put $*"
}

# holds DEVICE SECTOR COUNT FILE
holds()
{
	blockdev --flushbufs "$1"
	dd if="$1" bs=4096 skip=$(($2 * 512)) count=$(($3 * 512)) iflag=skip_bytes,count_bytes \
		2>/dev/null | cmp - "$4" || fail "sectors $2 + $3 of $1 are not those of $4"
}

complains()
{
	klog | grep -q "the origin was changed while this cache was not active$1" ||
		fail "the log: $(klog)"
}

# power_cut [SEED]
power_cut()
{
	order cut fast slow seed="${1:-1}"
	power_on anyway
}

# The cache comes back as if nothing had been.
trusted()
{
	mark
	cache "$@"
	if klog | grep "origin.*changed"; then
		fail "a false alarm"
	fi
}

# dirty_pair: block 3000 of the origin is dirty, 3100 to 3109 are clean and cached.
dirty_pair()
{
	pair 16 64
	noise "$SLOW" 64
	new_cache
	put $C 24800 80 /tmp/clean
	flush
	keep_dirty
	put $C 24000 8 /tmp/dirty
	is "$(st dirty)" 1
	is "$(st mapped)" 11
	stop
}

# The origin is written at SECTOR: what is dirty must not come back over it unasked.
dirty_is_refused()
{
	dirty_pair
	put "$SLOW" "$1" 8 /tmp/new
	before=$(sum "$SLOW")
	for again in 1 2; do
		mark
		refused cache
		complains ", and 1 dirty blocks are newer"
	done
	is "$(sum "$SLOW")" "$before" "a refused cache wrote to the origin"
}

# ... but if somebody says so: nothing that was clean is believed.
dirty_wins()
{
	dirty_pair
	put "$SLOW" 24800 8 /tmp/new
	put "$SLOW" 24000 8
	mark
	cache keep_dirty
	complains ": what is clean"
	is "$(st dirty)" 1
	is "$(st mapped)" 1
	case "$(dmsetup table c)" in *keep_dirty*) fail "the table says it for ever" ;; esac
	holds $C 24000 8 /tmp/dirty
	holds $C 24800 8 /tmp/new
	same_without_cache
	holds "$SLOW" 24000 8 /tmp/dirty
	cache
	is "$(st dirty)" 0
}

# Nothing dirty, nothing to ask: it starts empty, once.
clean_is_dropped()
{
	pair 16 64
	noise "$SLOW" 64
	new_cache "$1"
	put $C 24800 80 /tmp/clean
	[ "$1" = writethrough ] || flush
	is "$(st mapped)" 10
	stop
	put "$SLOW" "$2" 8 /tmp/new
	mark
	cache
	complains ": what is clean"
	is "$(st mapped)" 0
	holds $C "$2" 8 /tmp/new
	same_without_cache
	trusted
}

# A file system is used without the cache in between.
mounted_without()
{
	need_fs "$1"
	pair 64 "$2"
	new_cache writethrough seq_cutoff 0
	mkfs."$1" -q $C >/dev/null 2>&1 || fail "mkfs"
	mkdir -p /tmp/m
	mount -t "$1" $C /tmp/m
	dd if=/dev/urandom of=/tmp/m/a bs=64k count=64 2>/dev/null
	umount /tmp/m
	[ "$(st mapped)" -gt 1000 ] || fail "only $(st mapped) mapped"
	stop
	trusted
	stop
	mount -t "$1" "$SLOW" /tmp/m
	dd if=/dev/urandom of=/tmp/m/a bs=4k count=64 seek=10 conv=notrunc 2>/dev/null
	echo new >/tmp/m/b
	sha256sum /tmp/m/a >/tmp/sums
	umount /tmp/m
	mark
	cache
	complains ": what is clean"
	mount -t "$1" $C /tmp/m
	sha256sum -c /tmp/sums >/dev/null || fail "stale data"
	read -r word </tmp/m/b
	is "$word" new
	umount /tmp/m
}

# Only what each mount changes is another, in a block that ext4 closes with its CRC32C: the
# CRC32C of the whole is the same then.
mounted_after_cut()
{
	need_fs ext4
	models "model=ram size_mb=64" "model=ram size_mb=64 volatile=1"
	new_cache writethrough seq_cutoff 0
	mkfs.ext4 -q $C
	mkdir -p /tmp/m
	mount $C /tmp/m
	dd if=/dev/urandom of=/tmp/m/a bs=64k count=64 2>/dev/null
	umount /tmp/m
	# what was read last is known to the journal after a flush that comes later
	read_back 0 8 >/dev/null
	for pass in 1 2; do
		sleep 0.5
		put $C 100000 8
	done
	power_cut
	mount "$SLOW" /tmp/m
	umount /tmp/m
	mark
	cache
	complains ": what is clean"
	is "$(st mapped)" 0
}

# after_cut clean|dirty: no samples then; what is clean and cached is compared.
after_cut()
{
	models "model=ram size_mb=16" "model=ram size_mb=64 volatile=1"
	noise "$SLOW" 64
	new_cache
	put $C 24800 80 /tmp/clean
	flush
	keep_dirty
	[ "$1" = clean ] || put $C 24000 8 /tmp/dirty
	power_cut
	trusted
	stop
	put "$SLOW" 24840 1
	mark
	if [ "$1" = clean ]; then
		cache
		complains ": what is clean"
	else
		refused cache
		complains ", and 1 dirty blocks are newer"
	fi
}

# past_the_cache MODE: the first write goes to the origin only; then the power fails. The
# superblock must not say by then what the origin held before.
past_the_cache()
{
	models "model=ram size_mb=16" "model=ram size_mb=64 volatile=1"
	noise "$SLOW" 64
	new_cache
	put $C 24800 80 /tmp/clean
	keep_dirty
	put $C 24000 8 /tmp/dirty
	stop
	cache "$1" writeback_delay 3600
	put $C 0 8 /tmp/first
	power_cut
	trusted
	holds $C 0 8 /tmp/first
	same_without_cache
}

# Samples in either superblock.
samples()
{
	for sa_at in 176 4272; do
		od -An -tu4 -j $sa_at -N 4 "$FAST" | tr -d ' '
	done | tr '\n' ' '
}

# The cache device is written by somebody else while the cache is suspended: not by us then.
taken_over()
{
	dirty_pair
	cache
	put $C 24000 8
	dmsetup suspend c
	put "$FAST" 0 16 /tmp/foreign
	stop
	holds "$FAST" 0 16 /tmp/foreign
}

# replaced fast|slow: another table takes over a device while it is open. What the origin
# holds from then on, and what is on the cache device, is no longer ours to say.
replaced()
{
	dirty_pair
	cache
	put $C 24000 8
	dmsetup suspend c
	dd if="$FAST" of=/tmp/supers bs=4096 count=2 2>/dev/null
	[ "$1" = fast ] && under=$FAST || under=$SLOW
	dmsetup reload c --table "0 32768 linear $under 0"
	dmsetup resume c
	holds "$FAST" 0 16 /tmp/supers
	is "$(samples)" "0 0 "
}

# The superblock cannot be written when the first write comes: with dirty blocks it must
# stay true, so nothing is written at all, and the next start is none of a stranger's disk.
cannot_arm()
{
	dirty_pair
	before=$(sum "$SLOW")
	cache
	order fail fast op=write sector=0 len=16
	refused dd if=/tmp/dirty of=$C bs=4096 count=1 oflag=direct conv=notrunc
	refused blkdiscard -o 1048576 -l 65536 $C
	sleep 0.5
	is "$(st health)" failed
	stop
	is "$(sum "$SLOW")" "$before" "the origin has changed"
	order heal fast
	trusted
	is "$(st dirty)" 1
	holds $C 24000 8 /tmp/dirty
}

# Only the older superblock has samples, because the power failed between the two writes
# that take them away: the next first write takes it as serious.
older_has_samples()
{
	dirty_pair
	dd if="$FAST" of=/tmp/supers bs=4096 count=2 2>/dev/null
	for place in 0 1; do
		[ "$(od -An -tu4 -j $((4096 * place + 176)) -N 4 /tmp/supers | tr -d ' ')" = 0 ] ||
			sampled=$place
	done
	cache
	put $C 24000 8 /tmp/dirty
	power_cut
	is "$(samples)" "0 0 "
	dd if=/tmp/supers of="$FAST" bs=4096 count=1 skip="$sampled" seek="$sampled" conv=notrunc,fsync \
		2>/dev/null
	# whichever was the newer of the two, it must be the other one for this test
	cache passthrough writeback_delay 3600
	put $C 0 8
	is "$(samples)" "0 0 "
	power_cut
	trusted
	holds $C 24000 8 /tmp/dirty
}

# The power fails while what is clean is dropped: the next start goes on with it.
cut_while_dropping()
{
	models "model=ram size_mb=16" "model=ram size_mb=64 volatile=1"
	for after in 1 2 3 4 5 6 8 12; do
		noise "$SLOW" 4 16384
		new_cache
		keep_dirty
		dd if=/dev/urandom of=$C bs=1M count=12 seek=8 oflag=direct conv=notrunc,fsync 2>/dev/null
		flush
		keep_dirty
		put $C 0 8 /tmp/dirty
		stop
		put "$SLOW" 16384 8 /tmp/new
		order cut fast slow seed=$after after_ios=$after
		cache keep_dirty 2>/dev/null || :
		order disarm
		power_cut $after
		# not asked again, if the superblock knew of it
		cache 2>/dev/null || cache keep_dirty
		is "$(st mapped)" 1 "mapped after a cut at $after"
		is "$(st dirty)" 1 "dirty after a cut at $after"
		holds $C 16384 8 /tmp/new
		holds $C 0 8 /tmp/dirty
		same_without_cache
		dd if=/dev/zero of=$FAST bs=1M count=2 conv=notrunc,fsync 2>/dev/null
	done
}

# What the disk cannot read any more when it is stopped is no sample, and no obstacle.
unreadable()
{
	models "model=ram size_mb=16" "model=ram size_mb=64"
	new_cache
	put $C 24800 80 /tmp/clean
	flush
	order fail slow op=read sector=0 len=8
	stop
	trusted
	is "$(st mapped)" 10
	stop
	order heal slow
	trusted
	is "$(st mapped)" 10
}

t "under a dirty block" dirty_is_refused 24000
t "under a clean block" dirty_is_refused 24800
t "the first sector" dirty_is_refused 0
t "where a partition begins" dirty_is_refused 2048
t "the last sectors" dirty_is_refused 131064
t "dirty blocks win if they shall" dirty_wins
t "write-through starts empty" clean_is_dropped writethrough 24800
t "write-back with nothing dirty starts empty" clean_is_dropped writeback 24824
t "ext4 mounted without the cache" mounted_without ext4 128
t "XFS mounted without the cache" mounted_without xfs 320
t "somebody else has written the cache device" taken_over
t "another table takes over the origin" replaced slow
t "another table takes over the cache device" replaced fast
if in_uml; then
	t "ext4 mounted without the cache after a power cut" mounted_after_cut
	t "after a power cut, clean" after_cut clean
	t "after a power cut, dirty" after_cut dirty
	for mode in passthrough writearound writethrough; do
		t "$mode: the origin's first change and a power cut are no alarm" past_the_cache $mode
	done
	t "the superblock cannot be written at the first write" cannot_arm
	t "only the older superblock has samples" older_has_samples
	t "power cut while clean blocks are dropped" cut_while_dropping
	t "what cannot be read is not compared" unreadable
fi

finish
