# SPDX-License-Identifier: MPL-2.0
# shellcheck shell=bash
#
# Go programs to test with, at the versions that a go.mod and go.sum pin. After host.sh.

# Go 1.21 and later fetch the toolchain that a go.mod asks for; earlier ones cannot read ours.
need_go() {
	local version
	version=$(go env GOVERSION 2>/dev/null) || version=go0
	printf '%s\n' go1.21 "$version" | sort -V -C ||
		host_die "needs Go 1.21 or newer, and this is ${version/go0/none at all}. Debian" \
			"12's own is too old: enable bookworm-backports and" \
			"'apt-get install -t bookworm-backports golang-go', or unpack the Go" \
			"project's archive and put its bin/ into PATH."
}

# go_build FOLDER PACKAGE OUTPUT [FLAG...]: of the module in FOLDER; OUTPUT is absolute. Whoever wants
# the same program meanwhile waits, and finds it made.
go_build() {
	GOFLAGS=-mod=readonly flock "$1" go build -C "$1" -buildvcs=false -o "$3" "${@:4}" "$2"
}
