# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Loads the module of the self test with the parameters in PARAMETERS.
# shellcheck disable=SC2086 # several parameters are several words
load_module lab_hello ${PARAMETERS:-}
