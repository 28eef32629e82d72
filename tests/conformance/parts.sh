# SPDX-License-Identifier: MPL-2.0
# shellcheck shell=bash
#
# Run only the parts that are named on the command line. Sourced by build and run.

parts=("$@")

# of PART COMMAND...: run COMMAND if the command line names PART or no part.
of() {
	[[ -n "${parts[*]}" && " ${parts[*]} " != *" $1 "* ]] || "${@:2}"
}
