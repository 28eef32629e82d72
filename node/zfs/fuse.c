/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Turns of mounting. See mount_turn.h.
 *
 * Invariant: a turn is the lock of one file, so all zcsi-nodes of a host take part, and one that
 * dies has had its turn.
 */
#include "node/zfs/fuse.h"

#include <errno.h>
#include <sys/file.h>

#include "common/mem.h"
#include "node/zfs/run_folder.h"
#include "node/zfs/zfs_run.h"

int mount_turn_take(int *ret, struct error *err)
{
	*ret = -1;
	if (zfs_is_the_kernels())
		return 0;
	auto_close int turn = run_folder_open(RUN_FOLDER "/mounting", err);
	if (turn < 0)
		return -1;
	while (flock(turn, LOCK_EX) < 0)
		if (errno != EINTR)
			return fail_errno(err, "cannot lock '" RUN_FOLDER "/mounting'");
	*ret = steal_fd(&turn);
	return 0;
}
