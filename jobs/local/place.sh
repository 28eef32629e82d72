# SPDX-License-Identifier: MPL-2.0
# shellcheck shell=bash disable=SC2034 # used by those that source it
#
# Where `make run` keeps what it makes, for it and for `make run-clean`.

RUN_POOL=zcsi-run
RUN_FILES=/var/lib/zcsi-run
RUN_SOCKETS=/run/zcsi
RUN_TCP=tcp://127.0.0.1:9000

# Held as long as a run or one of its daemons lives: they inherit the descriptor. So would a
# zfs-fuse: start that one before.
run_lock() {
	mkdir -p $RUN_FILES
	exec 9<$RUN_FILES
	flock -n 9 || host_die "make run is running: stop it first"
}
