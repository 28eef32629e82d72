/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Zvols with ext4 or XFS.
 *
 * Invariant: a device is formatted only if libblkid could read it and found nothing, and
 * zcsi:formatted is unset. The property is set after the filesystem was created and before its
 * first mount. So a crash leaves one of three states: a blank device, which is formatted; a
 * filesystem that was never mounted and is not recorded, which gets a new UUID like a clone; or a
 * recorded filesystem, which is mounted. A mkfs that outlives its zcsi-node has the device open
 * with O_EXCL, so staging fails until it ends.
 */
#include "node/attach/zvol.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>

#include "common/child.h"
#include "common/log.h"
#include "node/catalog/change.h"
#include "node/attach/probe.h"
#include "node/attach/device.h"
#include "node/attach/mkfs.h"
#include "node/mount/call.h"
#include "node/host/node.h"
#include "node/zfs/zfs.h"

static int read_device(const char *dataset, int64_t deadline, struct probe *ret, struct error *err)
{
	auto_close int device = device_open(dataset, O_EXCL, deadline, err);

	return device < 0 ? -1 : probe_read(device, ret, err);
}

/*
 * Probe the device. O_EXCL, held during the probe only, proves that no other process has it open
 * exclusively.
 */
static int probe_exclusively(const char *dataset, int64_t deadline, struct probe *ret,
			     struct error *err)
{
	int failed = read_device(dataset, deadline, ret, err);

	child_settle();
	return failed;
}

static int check_probe(const struct dataset *dataset, const struct probe *found, struct error *err)
{
	if (!strcmp(found->type, dataset->format->name) || (!*found->type && !dataset->formatted))
		return 0;
	if (!*found->type)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it was formatted once (its property zcsi:formatted is set), but "
			    "libblkid finds nothing on its device; restore it from a snapshot, or "
			    "delete it");
	return fail(err, ERR_FAILED_PRECONDITION,
		    "it is %s, but its device contains '%s', which is not overwritten; copy that "
		    "elsewhere and run 'wipefs', or delete the volume",
		    dataset->format->description, found->type);
}

/*
 * Check that the device now has the right filesystem with a UUID that differs from the one before:
 * some of the programs report success without having changed it.
 */
static int verify(const struct dataset *dataset, int64_t deadline, const struct probe *before,
		  struct error *err)
{
	struct probe now;

	if (probe_exclusively(dataset->name, deadline, &now, err) < 0)
		return -1;
	if (!strcmp(now.type, dataset->format->name) && strcmp(now.uuid, before->uuid) != 0)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "its device should contain %s with a new UUID, but contains '%s' with the UUID "
		    "'%s'; if the volume was never used, delete it",
		    dataset->format->description, now.type, now.uuid);
}

static int record(struct rpc_call *call, const struct dataset *dataset, struct error *err)
{
	struct node *node = call->app;
	struct zfs_properties properties = {.n = 0};
	struct dataset formatted = *dataset;

	zfs_property(&properties, "zcsi:formatted", dataset->format->name);
	if (zfs_set(dataset->name, &properties, err) < 0)
		return -1;
	formatted.formatted = true;
	catalog_put(node->catalog, &formatted);
	return 0;
}

static int prepare(const struct staging *staging, struct error *err)
{
	const struct dataset *dataset = staging->dataset;
	const int64_t deadline = staging->call->deadline;
	struct probe found;

	if (probe_exclusively(dataset->name, deadline, &found, err) < 0 ||
	    check_probe(dataset, &found, err) < 0)
		return -1;
	if (dataset->formatted)
		return 0;
	log_info(*found.type ? "UUID of a filesystem is being renewed"
			     : "filesystem is being created",
		 log_str("volume", dataset->id), log_str("type", dataset->format->name));
	int failed = *found.type ? mkfs_renew(dataset->format, staging->source, err)
				 : mkfs_make(dataset->format, staging->source, err);
	if (failed || verify(dataset, deadline, &found, err) < 0)
		return -1;
	return record(staging->call, dataset, err);
}

int zvol_stage(const struct staging *staging, struct error *err)
{
	if (prepare(staging, err) < 0)
		return -1;
	auto_close int mount = mount_create(staging->format->name, staging->source, NULL, err);
	if (mount < 0 || mkfs_grow(staging->format, mount, err) < 0)
		return -1;
	return mount_place(mount, staging->source, staging->path, MOUNT_STAGING, staging->attrs,
			   err);
}

/* A staging may be read-only, so grow through a detached, writable clone of its mount. */
int zvol_grow(const struct format *format, const char *path, struct error *err)
{
	struct mount_attr writable = {.attr_clr = MOUNT_ATTR_RDONLY, .propagation = MS_PRIVATE};
	auto_close int mount = mount_call_open(path, OPEN_TREE_CLONE);

	if (mount < 0 || mount_setattr(mount, "", AT_EMPTY_PATH, &writable, sizeof(writable)))
		return fail_errno(err, "cannot clone the mount at '%s'", path);
	return mkfs_grow(format, mount, err);
}
