# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# What a cache takes of the main memory: at most 16 bytes a slot, whatever the origin's
# size; and what the status line says of it is what the kernel is short of.

# shellcheck source=tests/scale/scale.sh
. "$LAB_FILES/scale.sh"

BYTES_PER_SLOT=16
OFF_PERCENT=5
# The status does not count the threads of the work queues and what slabs round up.
OFF_BYTES=262144
KERNEL_TOO=4096	# MiB: from here on that is within the bound as well

# meminfo KEY, in bytes
meminfo()
{
	echo $(($(sed -n "s/^$1: *\([0-9]*\) kB/\1/p" /proc/meminfo) * 1024))
}

# Sets free, vmalloc, slab, when everything has calmed down.
look()
{
	sync
	echo 3 >/proc/sys/vm/drop_caches
	sleep 1
	# with the lists of free pages that processors keep, which MemFree leaves out
	free=$(awk '$1 == "pages" && $2 == "free" { n += $3 } $1 == "count:" { n += $2 }
		END { printf "%.0f\n", n * 4096 }' /proc/zoneinfo)
	vmalloc=$(meminfo VmallocUsed)
	slab=$(meminfo Slab)
}

# What any device of dm takes, in $plain.
plain_device()
{
	look
	plain=$free
	dmsetup create plain --table "0 $(sectors "$SLOW") linear $SLOW 0"
	look
	plain=$((plain - free))
	dmsetup remove plain
}

hundredths()
{
	printf '%d.%02d\n' $(($1 / 100)) $(($1 % 100))
}

# SIZE_NAME MIB: with an origin of 1 TiB, and of 40 TiB
memory()
{
	for tib in 1 40; do
		devices "$2" $tib
		image --clean-stop
		plain_device
		look
		free_before=$free
		slab_before=$slab
		vmalloc_before=$vmalloc
		loaded
		dmsetup resume c
		look
		said=$(st memory)
		taken=$((free_before - free - plain))
		slots=$(st slots)
		say "$tib TiB: status $said, free memory $taken (and $plain)," \
			"vmalloc $((vmalloc - vmalloc_before)), slab $((slab - slab_before))"
		off=$((taken - said))
		[ $((${off#-} * 100)) -le $((said * OFF_PERCENT)) ] || [ ${off#-} -le $OFF_BYTES ] ||
			fail "status says $said, the kernel is short of $taken"
		[ "$2" -lt $KERNEL_TOO ] || [ $((taken)) -le $((slots * BYTES_PER_SLOT)) ] ||
			fail "$((taken / slots)) bytes a slot, by the kernel's account"
		[ "$said" -le $((slots * BYTES_PER_SLOT)) ] || fail "$said for $slots slots"
		eval "said_$tib=$said"
		stop
		look
		say "left behind: $((free_before - free))"
		[ $((free_before - free)) -lt $((said * OFF_PERCENT / 100 + 262144)) ] ||
			fail "$((free_before - free)) bytes are not given back"
		order del fast
		order del slow
	done
	# shellcheck disable=SC2154
	is "$said_40" "$said_1" "memory with an origin of 40 TiB"
	metric "memory.$1.bytes_per_slot" "$(hundredths $((said * 100 / slots)))"
	metric "memory.$1.bytes_per_slot_kernel" "$(hundredths $((taken * 100 / slots)))"
	metric "memory.$1.mib" $((said / 1048576))
}

t "1 GiB" memory 1g 1024
t "4 GiB" memory 4g 4096
t "16 GB" memory 16g 13700
t "64 GB" memory 64g 56000
t "118 GB" memory 118g 112000
finish
