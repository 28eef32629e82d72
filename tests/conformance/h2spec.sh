# SPDX-License-Identifier: MPL-2.0
# shellcheck shell=bash disable=SC2154
#
# h2spec's cases of RFC 7540 and 7541, against a method that answers them. Sourced by run.
#
# One fails, and is to: HEADERS of stream 3 come after those of stream 5. Such a stream was never
# open, or we have reset it and forgotten it while its trailers were on the way. nghttp2 cannot tell
# these apart, does not end a connection that may be without fault, and ignores the frame.
#
# Over TLS there is none: h2spec cannot show a certificate, and we talk to nobody without one.
# What its cases ask is asked over TLS frame by frame in tests/transport/test_frames.py.

H2SPEC_CASES=145
H2SPEC_KNOWN='http2/5.1.1: Sends stream identifier that is numerically smaller than previous'

# h2spec_run PORT: the cases that failed or were skipped, a line each
h2spec_run() {
	"$tools/h2spec" -h 127.0.0.1 -p "$1" -P /csi.v1.Identity/Probe -j "$run/h2spec.xml" \
		>"$run/h2spec" || true
	awk -F '"' '/<testcase / { name = $2 ": " $4 } /<(error|failure|skipped)/ { print name }' \
		"$run/h2spec.xml"
}

# check_h2spec PORT
check_h2spec() {
	local wrong
	echo "# h2spec: port $1"
	wrong=$(h2spec_run "$1")
	sed -n '/^Failures:/,$p' "$run/h2spec"
	if [[ $wrong == "$H2SPEC_KNOWN" ]] && grep -q "^$H2SPEC_CASES tests, " "$run/h2spec"; then
		passed=$((passed + H2SPEC_CASES - 1))
	else
		failure "h2spec: of $H2SPEC_CASES cases only this one is to fail: $H2SPEC_KNOWN"
	fi
}
