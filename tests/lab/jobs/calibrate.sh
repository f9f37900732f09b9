# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Job: does each model device behave as the device that was reviewed?
#
#   lab run uml-6.12 tests/lab/jobs/calibrate.sh --time sim \
#	--module labdev.ko --module labgen.ko [MODELS="disk-7200 ..."]
#
# Measures every preset of labdev alone and compares with what was published:
# one TAP line a figure, within 10 % of the figure or, where reviews disagree, of
# the range of figures. The published latencies include the host's share, and so
# do the models: simulated CPU costs nothing.
#
# Published streaming rates and random IOPS are those of a deep queue.

MODELS=${MODELS:-optane-mem-16 optane-mem-32 optane-m10-64 optane-800p-118
	optane-p4800x ssd-sata disk-7200 disk-5400}

control=/sys/kernel/debug/labdev/control
labgen=/sys/kernel/debug/labgen
checks=0
failures=0

# measure KEY OPTION...: what labgen reports under KEY; 4 KiB unless told.
measure()
{
	key=$1
	shift
	echo "id=calibrate dev=/dev/model $*" >$labgen/run
	sed -n "s/^id=calibrate .* $key=\([0-9]*\).*/\1/p" $labgen/result
}

# check WHAT UNIT LOW HIGH MEASURED: all numbers in thousandths of the unit.
check()
{
	checks=$((checks + 1))
	verdict=ok
	if [ "$5" -lt $(($3 * 9 / 10)) ] || [ "$5" -gt $(($4 * 11 / 10)) ]; then
		verdict="not ok"
		failures=$((failures + 1))
	fi
	published=$(thousandths "$3")
	[ "$3" -eq "$4" ] || published="$published-$(thousandths "$4")"
	echo "$verdict $checks - $model, $1: $(thousandths "$5") $2," \
		"published $published"
}

thousandths()
{
	printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)) |
		sed 's/0*$//; s/\.$//'
}

# with_model [PARAMETER=VALUE ...]: /dev/model anew, nothing in its caches.
with_model()
{
	if [ -e /dev/model ]; then
		echo "del model" >$control
	fi
	echo "add name=model model=$model $*" >$control
}

# latencies READ_US WRITE_US, in thousandths: one 4 KiB command at a time.
flash_latencies()
{
	check "4K read QD1" us "$1" "$1" "$(measure mean op=read rw=rand n=20000)"
	check "4K write QD1" us "$2" "$2" "$(measure mean op=write rw=rand n=20000)"
}

# Megabytes per second: labgen's kbps are thousandths of them.
flash_streams()
{
	check "sequential read" MB/s "$1" "$1" \
		"$(measure kbps op=read bs=128k qd=8 n=8000)"
	check "sequential write" MB/s "$2" "$2" \
		"$(measure kbps op=write bs=128k qd=8 n=8000)"
}

# Thousands of I/Os per second: plain iops are thousandths of them.
flash_iops()
{
	check "4K random read QD64" kIOPS "$1" "$1" \
		"$(measure iops op=read rw=rand qd=64 n=100000)"
	check "4K random write QD64" kIOPS "$2" "$2" \
		"$(measure iops op=write rw=rand qd=64 n=100000)"
}

# The tail: 99, 99.9 and 99.99 %, from long runs.
tail_of()
{
	what=$1
	op=$2
	shift 2
	measure mean op="$op" rw=rand n=300000 >/dev/null
	for percentile in p99 p999 p9999; do
		check "4K $what QD1, $percentile" us "$1" "$1" \
			"$(sed -n "s/^id=calibrate .* $percentile=\([0-9]*\) .*/\1/p" \
				$labgen/result)"
		shift
	done
}

# disk ACCESS_LOW ACCESS_HIGH STREAM_LOW STREAM_HIGH IOPS: ms, MB/s, 1/s.
# Writes one at a time are measured without the write cache, which would
# answer at once.
disk()
{
	with_model
	check "4K random read QD1" ms "$1" "$2" \
		"$(($(measure mean op=read rw=rand n=4000) / 1000))"
	check "4K random read QD1" IOPS "$5" "$5" \
		"$(($(measure iops op=read rw=rand n=4000 seed=2) * 1000))"
	check "sequential read, outer zone" MB/s "$3" "$4" \
		"$(measure kbps op=read bs=128k n=20000)"
	check "sequential write, outer zone" MB/s "$3" "$4" \
		"$(measure kbps op=write bs=128k n=30000)"
	with_model volatile=0
	check "4K random write QD1, no write cache" ms "$1" "$2" \
		"$(($(measure mean op=write rw=rand n=4000) / 1000))"
}

load_module labdev
load_module labgen
for model in $MODELS; do
	with_model
	case $model in
	optane-mem-16)
		flash_latencies 17000 25000
		flash_streams 900000 145000
		flash_iops 190000 41700
		;;
	optane-mem-32)
		flash_latencies 15000 19000
		flash_streams 1350000 290000
		flash_iops 240000 65000
		;;
	optane-m10-64)
		flash_latencies 12000 18000
		flash_streams 1450000 640000
		flash_iops 240000 130000
		;;
	optane-800p-118)
		flash_latencies 12000 18000
		flash_streams 1450000 640000
		flash_iops 250000 140000
		;;
	optane-p4800x)
		flash_latencies 15900 23400
		tail_of read read 20000 39800 46500
		tail_of write write 39400 56800 62000
		flash_streams 2400000 2000000
		flash_iops 550000 500000
		;;
	ssd-sata)
		flash_latencies 56000 167000
		flash_streams 530000 450000
		flash_iops 80000 70000
		;;
	disk-7200)
		disk 12000 15000 150000 160000 90000
		with_model
		check "4K random write QD32, write cache" IOPS 370000 370000 \
			"$(($(measure iops op=write rw=rand qd=32 n=20000) * 1000))"
		;;
	disk-5400)
		disk 14600 14800 120000 120000 70000
		;;
	*)
		fail "no published figures for $model"
		;;
	esac
done
echo "1..$checks"
[ "$failures" -eq 0 ] || fail "$failures of $checks figures out of range"
