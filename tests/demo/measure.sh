# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# The first machine of the demo: measures the slow disk alone and through the cache.
# Variables: READS, FSYNC_S, ROUNDS; file: sample. Lines of the file "progress" are for the host:
#
#	say TEXT
#	begin PHASE WORKLOAD
#	end PHASE WORKLOAD

cache=$(disk 0)
slow=$(disk 1)
cached=/dev/mapper/demo
mkdir /mnt/disk

tell() # word, text
{
	echo "$*" >>"$LAB_RESULTS/progress"
}

show() # command...
{
	tell say "  # $*"
	shown=0
	"$@" >/tmp/shown 2>&1 || shown=$?
	sed 's/^/say     /' /tmp/shown >>"$LAB_RESULTS/progress"
	return $shown
}

fio_job() # file of the result, option...
{
	fio_out=$1
	shift
	# reading clocks is slow where there is no KVM: as seldom as can be
	fio --name=demo --thread --bs=4k --ioengine=psync --gtod_reduce=1 \
		--clocksource=clock_gettime --eta=never --output-format=json --output="$fio_out" "$@" ||
		fail "fio, see $fio_out"
}

random() # result, device
{
	fio_job "$1" --filename="$2" --rw=randread --direct=1 --readonly --number_ios="$READS"
}

tree() # result
{
	read -r tree_start _ </proc/uptime
	(cd /mnt/disk && xargs cat <"$LAB_FILES/sample" >/dev/null)
	read -r tree_end _ </proc/uptime
	echo "$tree_start $tree_end" >"$1"
}

fsync() # result
{
	fio_job "$1" --filename=/mnt/disk/written --rw=randwrite --fsync=1 \
		--time_based --runtime="$FSYNC_S"
}

measure() # phase, device
{
	for workload in random tree fsync; do
		sync
		echo 3 >/proc/sys/vm/drop_caches
		tell begin "$1" $workload
		$workload "$LAB_RESULTS/$1.$workload" "$2"
		tell end "$1" $workload
	done
}

# A drive without a volatile cache, such as an Optane. The lab's wc=off says the same to
# QEMU, which then flushes its image after every write and takes twice as long for it.
echo "write through" >"/sys/block/${cache##*/}/queue/write_cache"
# QEMU 7.2 loses a doorbell of the emulated drive now and then, and the queue stands still
# until the kernel resets it, after two of these timeouts (ms; default 30000).
echo 2000 >"/sys/block/${cache##*/}/queue/io_timeout"
dmesg -n 5
need_module ext4
need_module libcrc32c
load_module dm-optcache

tell say "The disk alone, with nothing in the page cache:"
mount -t ext4 -o noatime "$slow" /mnt/disk
measure alone "$slow"
umount /mnt/disk

tell say "A cache in front of it; the file system stays as it is:"
show optcachectl create --yes --name demo "$cache" "$slow"
mount -t ext4 -o noatime $cached /mnt/disk

tell say "Through the cache, for the first time:"
measure first $cached

round=0
while [ $((round += 1)) -le "$ROUNDS" ]; do
	tell say "Through the cache again, with nothing in the page cache, round $round:"
	measure again$round $cached
done
(cd /mnt/disk && sha256sum written) >"$LAB_RESULTS/written.sha256"
umount /mnt/disk
show optcachectl status demo

tell say "The cache is taken away again:"
show optcachectl detach demo
[ ! -e $cached ] || fail "$cached is still there"
