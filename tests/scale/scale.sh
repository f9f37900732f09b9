# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# What the suites of tests/scale share, on top of those of tests/functional: a suite
# begins with
#
#	. "$LAB_FILES/scale.sh"
#
# Clocks are simulated: code takes no time, devices do.

# shellcheck source=tests/functional/lib.sh
. "$LAB_FILES/lib.sh"

# metric NAME NUMBER: for build/results/scale.json. Not on the console, where the kernel
# may write into the line.
metric()
{
	echo "metric $1 $2" | tee -a "$LAB_RESULTS/figures"
}

# row WORD...: of the table that "run" prints.
row()
{
	echo "row $*" >>"$LAB_RESULTS/figures"
}

now()
{
	date +%s%N
}

# seconds NANOSECONDS
seconds()
{
	printf '%d.%06d\n' $(($1 / 1000000000)) $(($1 % 1000000000 / 1000))
}

# took COMMAND...: run it, and have the simulated nanoseconds in $took.
# shellcheck disable=SC2034
took()
{
	took_start=$(now)
	"$@"
	took=$(($(now) - took_start))
}

below()
{
	[ "$1" -lt "$2" ] || fail "is $1, should be below $2: $3"
}

# The presets of the lab, the size by the caller: devices MIB_OF_CACHE TIB_OF_ORIGIN.
devices()
{
	MODEL_FAST=optane-800p-118
	MODEL_SLOW=disk-7200
	fast "$1"
	slow $((1048576 * $2))
}

# image OPTION...: a generated cache on $FAST. What it holds: of KEY.
image()
{
	image_options="--origin $(sectors "$SLOW") $*"
	# shellcheck disable=SC2086
	mkimage write "$FAST" $image_options >/tmp/image
}

of()
{
	sed -n "s/^$1=//p" /tmp/image
}

# Read the samples of the image through the cached device, and count hits.
samples()
{
	message reset-stats
	# shellcheck disable=SC2086
	mkimage check $C --sectors "$(sectors "$FAST")" $image_options >/tmp/samples ||
		fail "of the samples are wrong: $(tr '\n' ' ' </tmp/samples)"
	say "samples: $(tr '\n' ' ' </tmp/samples)"
	# shellcheck disable=SC2046
	is "$(st read_hits)" $(($(sed -n 's/^\(hits\|parts\)=//p' /tmp/samples | paste -sd+))) \
		"read hits"
}

# A device with its table loaded, but not yet active.
loaded()
{
	dmsetup create c --notable
	dmsetup load c --table "$(table writeback_delay 3600)"
}

counts()
{
	echo "mapped $(st mapped) dirty $(st dirty) free $(st free)"
}
