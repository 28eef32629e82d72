/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Checking that a volume is not in use, before its dataset is destroyed or renamed.
 *
 * Invariant: ZFS itself refuses to destroy a dataset that is mounted in any namespace, and a zvol
 * whose device is open. But it unmounts an idle mount of this namespace without an error, and it
 * renames a dataset while another namespace or a process uses it. So mounts of this namespace are
 * looked for before each change, and other namespaces' mounts and open devices before a rename.
 */
#include "node/attach/unused.h"

#include <string.h>
#include <time.h>

#include "node/attach/device.h"
#include "node/mount/kind.h"
#include "node/mount/users.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

/*
 * Check that a dataset is not mounted on the server of --zfs-over-ssh, whose kernel keeps a mount
 * while an export is cached.
 */
static int check_unmounted_on_server(const char *name, struct error *err)
{
	bool mounted = false;

	/* zfs-fuse mounts every new clone and exports nothing: there, a mount does not mean use. */
	if (zfs_is_the_kernels() && zfs_mounted(name, &mounted, err) < 0)
		return -1;
	if (!mounted)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "it is still mounted on the server '%s', whose NFS server releases a former "
		    "export within a minute; try again then",
		    ssh_server());
}

int unused_check_mounts(struct arena *arena, const char *name, struct error *err)
{
	if (ssh_server())
		return check_unmounted_on_server(name, err);
	return unused_check_mounts_beside(arena, name, "", err);
}

int unused_check_mounts_beside(struct arena *arena, const char *name, const char *path,
			       struct error *err)
{
	struct mount_table table;

	if (mount_table_read(arena, &table, err) < 0)
		return -1;
	for (size_t i = 0; i < table.n; i++)
		if (!mount_is_network(&table.rows[i]) && mount_is_on(&table.rows[i], name) &&
		    strcmp(table.rows[i].target, path) != 0)
			return fail(err, ERR_FAILED_PRECONDITION,
				    "it is mounted at '%s'; stop the job that uses it first",
				    table.rows[i].target);
	return 0;
}

static int check_device(struct arena *arena, const char *name, dev_t device, struct error *err)
{
	const char *users = mount_device_users(arena, device);

	if (!*users)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "its device '%s' is open in %s; stop the job that uses it first",
		    device_path(arena, name), users);
}

static int check_once(struct arena *arena, const struct dataset *dataset, struct error *err)
{
	dev_t device = 0;

	if (dataset->format->zvol && device_number(dataset->name, &device, err) < 0)
		return -1;
	const char *where = mount_in_other_namespace(arena, dataset->name, device);
	if (where)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it is mounted at %s; stop the job that uses it first", where);
	return device ? check_device(arena, dataset->name, device, err) : 0;
}

/* Retry for a zvol, as zfs_run_with does, because udev opens a new device to examine it. */
int unused_check(struct arena *arena, const struct dataset *dataset, struct error *err)
{
	if (unused_check_mounts(arena, dataset->name, err) < 0)
		return -1;
	for (long ms = 10; !ssh_server() && check_once(arena, dataset, err) < 0; ms *= 2) {
		if (ms > 1280 || !dataset->format->zvol)
			return -1;
		nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000},
			  NULL);
	}
	return 0;
}
