# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086,SC2034,SC2119 # device names hold no spaces; lib.sh uses the rest
# Everything that a user or a disk can get wrong: see badinput.py.
# shellcheck source=tests/functional/lib.sh
. "$LAB_FILES/lib.sh"

# One process says all results; its TAP lines become ours.
load_module labdev
python3 "$LAB_FILES/badinput.py" 2>&1 | tee -a "$LAB_RESULTS/tap"
t_count=$(grep -Ec '^(ok|not ok) ' "$LAB_RESULTS/tap")
t_failed=$(grep -c '^not ok ' "$LAB_RESULTS/tap") || :
grep -q '^# all cases were run$' "$LAB_RESULTS/tap" || fail "badinput.py did not end"
finish
