# SPDX-License-Identifier: MPL-2.0
# shellcheck shell=bash
#
# Run commands, compare their output with what is expected, and count. Sourced by run.
#
#	pass; failure WORD...         count a pass or a failure; the words of a failure are printed
#	says REGEX COMMAND...         expect COMMAND to succeed with output that matches REGEX
#	fails STATUS REGEX COMMAND... expect COMMAND to exit with STATUS and print a match of REGEX

passed=0
failed=0

pass() {
	passed=$((passed + 1))
}

failure() {
	failed=$((failed + 1))
	echo "FAILED: $*"
}

# Print a command as one would type it, with quotes only where the shell needs them.
typed() {
	local word
	printf '$'
	for word; do
		[[ $word =~ ^[A-Za-z0-9_@%+=:,./-]+$ ]] || word=${word@Q}
		printf ' %s' "$word"
	done
	printf '\n'
}

# expect STATUS REGEX COMMAND...: run COMMAND, print it and its output, and count a pass or a
# failure.
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
