/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Making volumes complete after a power cut.
 *
 * Invariant: a snapshot of a dataset whose intent log was not replayed lacks what is in the log,
 * and so do its clones and its streams, without a sign of that. The log of a filesystem is replayed
 * when it is mounted, that of a zvol before its device appears. After that, ZFS closes the log at
 * the last unmount and at the last close. zfs-fuse refuses a snapshot while there is such a log.
 */
#include "node/attach/complete.h"

#include <string.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "node/attach/device.h"
#include "node/host/owner.h"
#include "node/mount/kind.h"
#include "node/mount/replay.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_run.h"

#define SOON_MS 3000 /* time for udev to name a device that the kernel has made */

static int find_mount(struct arena *arena, const char *name, bool *ret, struct error *err)
{
	struct mount_table table;

	*ret = false;
	if (mount_table_read(arena, &table, err) < 0)
		return -1;
	for (size_t i = 0; i < table.n; i++)
		*ret |= !mount_is_network(&table.rows[i]) && mount_is_on(&table.rows[i], name);
	return 0;
}

/*
 * Wait for the device. ERR_UNAVAILABLE if it does not appear. Returns 0 too if the device exists
 * but cannot be opened because the key is not loaded.
 */
static int wait_for_device(const char *name, int64_t ms, struct error *err)
{
	int fd = device_open(name, 0, now_ms() + ms, err);

	if (fd < 0)
		return err->code == ERR_PERMISSION_DENIED ? 0 : -1;
	close(fd);
	child_settle();
	return 0;
}

/*
 * Check that the intent log of an encrypted volume is empty, without its key: zcsi:staged is unset,
 * or has the id of this boot. As long as the host runs, the kernel closes the log at each unmount.
 */
static int check_unstaged(struct arena *arena, const struct dataset *volume, struct error *err)
{
	if (volume->has_key && (!*volume->staged || !strcmp(volume->staged, owner_boot(arena))))
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "it was in use when its host went down, and the last writes can be in the "
		    "intent log of ZFS alone, which is read with the key: start its job on that "
		    "host once, or run 'zfs load-key %s' there, and try again",
		    volume->name);
}

/* A zvol with volmode=none has had no device since that was set, so nothing was written to it. */
static int complete_zvol(struct arena *arena, const struct dataset *volume, struct error *err)
{
	const char *name = volume->name;
	const char *argv[] = {"zfs", "get", "-Hp", "-o", "value", "volmode,keystatus", name, NULL};
	auto_free char *out = NULL;

	if ((volume->has_key && !*volume->staged) || wait_for_device(name, SOON_MS, err) == 0)
		return 0;
	if (err->code != ERR_UNAVAILABLE ||
	    zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0)
		return -1;
	if (!strncmp(out, "none\n", 5))
		return 0;
	if (strstr(out, "\nunavailable\n"))
		return check_unstaged(arena, volume, err);
	return wait_for_device(name, DEVICE_WAIT_MS, err);
}

/*
 * Mount and unmount a filesystem on the server of --zfs-over-ssh, so that its log is replayed. If
 * the unmount fails, the healing of exports unmounts it later.
 */
static int complete_on_server(const char *name, struct error *err)
{
	const char *mount[] = {"zfs", "mount", name, NULL};
	const char *unmount[] = {"zfs", "unmount", name, NULL};

	if (zfs_run_once(&(struct exec){.argv = mount}, NULL, err) == 0)
		return zfs_run(unmount, err);
	return strstr(err->text, "already mounted") ? 0 : -1;
}

int complete_volume(struct arena *arena, const struct dataset *volume, struct error *err)
{
	bool mounted;

	if (!zfs_is_the_kernels())
		return 0;
	if (ssh_server())
		return complete_on_server(volume->name, err);
	if (find_mount(arena, volume->name, &mounted, err) < 0)
		return -1;
	if (mounted)
		return 0;
	if (volume->format->zvol)
		return complete_zvol(arena, volume, err);
	if (replay_log(volume->name, err) == 0)
		return 0;
	return err->code == ERR_UNAUTHENTICATED ? check_unstaged(arena, volume, err) : -1;
}
