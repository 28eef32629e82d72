/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Limits of zfs-fuse.
 *
 * Invariant: the lock is a flock on one file of the host, so all its zcsi-nodes share it, and the
 * kernel releases it when the process that holds it dies.
 */
#include "node/zfs/fuse.h"

#include <errno.h>
#include <sys/file.h>

#include "common/mem.h"
#include "node/zfs/run_folder.h"
#include "node/zfs/zfs_run.h"

int fuse_lock(int *ret, struct error *err)
{
	*ret = -1;
	if (zfs_is_the_kernels())
		return 0;
	auto_close int lock = run_folder_open(RUN_FOLDER "/mounting", err);
	if (lock < 0)
		return -1;
	while (flock(lock, LOCK_EX) < 0)
		if (errno != EINTR)
			return fail_errno(err, "cannot lock '" RUN_FOLDER "/mounting'");
	*ret = steal_fd(&lock);
	return 0;
}

size_t fuse_set_step(size_t n)
{
	return zfs_is_the_kernels() ? n : 1;
}
