# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Job of the lab: mutated images in a kernel.  COUNT and SEED are given.
load_module labdev
load_module dm-optcache
python3 "$LAB_FILES/mutants.py" "$COUNT" "$SEED" "$LAB_FILES/used" "$LAB_FILES/stopped" ||
	fail "see above"
rmmod dm-optcache
