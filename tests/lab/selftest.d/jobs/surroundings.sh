# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Variables, files and results reach where they should.
[ "$GREETING" = 'hello "you" & me' ] || fail "a variable came over as: $GREETING"
grep -q . "$LAB_FILES/note.txt"
cp "$LAB_FILES/note.txt" "$LAB_RESULTS/copy.txt"
