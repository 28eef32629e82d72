# SPDX-License-Identifier: MPL-2.0
# shellcheck shell=bash
#
# Build the Go programs that tests use, at the versions that a go.mod and go.sum pin. Source host.sh
# first.

# End the script if Go is missing or older than 1.21. From 1.21 on, Go downloads the toolchain that
# a go.mod asks for; an older Go cannot read our go.mod files.
need_go() {
	local version
	version=$(go env GOVERSION 2>/dev/null) || version=go0
	printf '%s\n' go1.21 "$version" | sort -V -C ||
		host_die "needs Go 1.21 or newer, and this is ${version/go0/none at all}. Debian" \
			"12's own is too old: enable bookworm-backports and" \
			"'apt-get install -t bookworm-backports golang-go', or unpack the Go" \
			"project's archive and put its bin/ into PATH."
}

# go_build FOLDER PACKAGE OUTPUT [FLAG...]: build PACKAGE of the module in FOLDER into the file
# OUTPUT, an absolute path. A lock on FOLDER makes a concurrent build of the same program wait.
go_build() {
	GOFLAGS=-mod=readonly flock "$1" go build -C "$1" -buildvcs=false -o "$3" "${@:4}" "$2"
}
