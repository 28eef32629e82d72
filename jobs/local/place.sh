# SPDX-License-Identifier: MPL-2.0
# shellcheck shell=bash disable=SC2034 # the scripts that source this file use the variables
#
# Paths that `make run` uses and `make run-clean` removes.

RUN_POOL=zcsi-run
RUN_FILES=/var/lib/zcsi-run
RUN_SOCKETS=/run/zcsi
RUN_TCP=tcp://127.0.0.1:9000

# Take a lock that is held as long as `make run` or one of its daemons is running, because the
# daemons inherit the descriptor. A zfs-fuse would inherit it too, so start that before.
run_lock() {
	mkdir -p $RUN_FILES
	exec 9<$RUN_FILES
	flock -n 9 || host_die "make run is running: stop it first"
}
