# SPDX-License-Identifier: MPL-2.0
# shellcheck shell=bash
#
# The parts that the command line names. Sourced by build and run.

parts=("$@")

# of PART COMMAND...: unless only other parts are named
of() {
	[[ -n "${parts[*]}" && " ${parts[*]} " != *" $1 "* ]] || "${@:2}"
}
