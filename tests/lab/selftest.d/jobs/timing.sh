# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# A disk that takes time, and what the clock says: under simulated time every
# line is the same in every run. (fio's own choice of clock is the processor's,
# which is real.)
null_disk slow 64 irqmode=2 completion_nsec=1000000
fio --name=a --filename=/dev/slow --rw=randwrite --bs=4k --direct=1 --number_ios=500 \
	--size=64m --clocksource=clock_gettime --output-format=terse --terse-version=3
dmsetup create half --table "0 $(($(sectors /dev/slow) / 2)) linear /dev/slow 0"
dd if=/dev/mapper/half of=/dev/null bs=4k count=1000 iflag=direct
sleep 60
cat /proc/uptime
