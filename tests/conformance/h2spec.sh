# SPDX-License-Identifier: MPL-2.0
# shellcheck shell=bash disable=SC2154
#
# h2spec's cases of RFC 7540 and 7541, sent to Identity/Probe of a daemon. Sourced by run.
#
# A single case is expected to fail: it sends HEADERS of stream 3 after those of stream 5. Stream 3
# was either never open, or the daemon has reset and closed it while its trailers were in flight.
# nghttp2 cannot distinguish these, so it ignores the frame instead of ending a valid connection.
#
# h2spec does not run over TLS, because it cannot present a certificate and the daemons require one.
# tests/transport/test_frames.py sends the frames of its cases over TLS.

H2SPEC_CASES=145
H2SPEC_KNOWN='http2/5.1.1: Sends stream identifier that is numerically smaller than previous'

# h2spec_run PORT: print the cases that failed or were skipped, one on each line.
h2spec_run() {
	"$tools/h2spec" -h 127.0.0.1 -p "$1" -P /csi.v1.Identity/Probe -j "$run/h2spec.xml" \
		>"$run/h2spec" || true
	awk -F '"' '/<testcase / { name = $2 ": " $4 } /<(error|failure|skipped)/ { print name }' \
		"$run/h2spec.xml"
}

# check_h2spec PORT: run h2spec against the daemon at PORT and count its cases.
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
