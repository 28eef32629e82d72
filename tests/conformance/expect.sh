# SPDX-License-Identifier: MPL-2.0
# shellcheck shell=bash
#
# Counting, and a command beside what it should say. Sourced by run.
#
#	pass; failure WORD...         one more of either; what failed is printed
#	says REGEX COMMAND...         it succeeds, and its output matches
#	fails STATUS REGEX COMMAND... it exits with this status, and its output matches

passed=0
failed=0

pass() {
	passed=$((passed + 1))
}

failure() {
	failed=$((failed + 1))
	echo "FAILED: $*"
}

# As one would type it: quoted only where the shell needs it.
typed() {
	local word
	printf '$'
	for word; do
		[[ $word =~ ^[A-Za-z0-9_@%+=:,./-]+$ ]] || word=${word@Q}
		printf ' %s' "$word"
	done
	printf '\n'
}

# expect STATUS REGEX COMMAND...
expect() {
	local want=$1 regex=$2 status=0 output
	shift 2
	typed "$@"
	output=$("$@" 2>&1) || status=$?
	output=${output%$'\n\nPlease use -h,--help for more information'}
	[ -z "$output" ] || printf '%s\n' "$output"
	if ((status == want)) && [[ $output =~ $regex ]]; then
		pass
	else
		failure "exit $status, not $want, or no match for: $regex"
	fi
}

says() {
	expect 0 "$@"
}

fails() {
	expect "$@"
}
