/* SPDX-License-Identifier: MPL-2.0 */
/*
 * NodePublishVolume, which binds a staging path to a target path, and NodeUnpublishVolume.
 *
 * Invariant: a target appears with its final attributes or not at all (mount_bind). A directory
 * or file with contents is never removed. Only targets of this volume are unmounted, never its
 * stagings.
 *
 * A target whose staging was removed is no slave mount any more, and where its parent mount is
 * shared, as systemd makes all, the target is shared like a staging. So a mount that is no slave
 * counts as a target without its staging, unless its path is marked as a staging path, or it has
 * targets of its own.
 *
 * The number of targets is limited per volume, over all its stagings, because the access mode
 * protects the data, which the stagings share. Nomad stages a volume at several paths only for
 * claims of different kinds, which it admits only for access modes that allow it. The access mode
 * of the present call decides, because mountinfo cannot store that of an earlier call.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "node/attach/block.h"
#include "node/attach/staging_mark.h"
#include "node/mount/call.h"
#include "node/mount/mount.h"
#include "node/mount/kind.h"
#include "node/host/node.h"
#include "node/mount/path.h"
#include "node/mount/permissions.h"
#include "node/csi/renamed.h"
#include "node/csi/request.h"
#include "node/service.h"

#define FINDING_MAX 2 /* how many of the workers of LANE_UNMOUNT may run a zfs (node/lanes.h) */

/*
 * Returns the staging of the volume at the path, or NULL with *err. The catalog is asked only for
 * the error if there is no staging, so publishing works without the pool.
 */
static const struct mount *find_staging(struct rpc_call *call, const struct mount_table *table,
					const char *id, const char *path, struct error *err)
{
	const struct mount *top = path ? mount_at(table, path) : NULL;
	struct dataset *dataset;

	if (top && mount_is_of(top, node_dataset_name(call, id)) && mount_is_staging(top))
		return top;
	if (node_find(call, id, &dataset, err) == 0)
		fail(err, ERR_FAILED_PRECONDITION,
		     "it is not mounted at its staging_target_path; restart the job that "
		     "uses it");
	return NULL;
}

/* Check that the present mount at the target path is like the one that this call would make. */
static int check_existing(const struct mount *top, const struct mount *staging, uint64_t attrs,
			  struct error *err)
{
	if (strcmp(top->source, staging->source) != 0 || !top->master)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is mounted at '%s' already; unmount it", top->source,
			    top->target);
	if (top->master != staging->shared)
		return fail(err, ERR_ALREADY_EXISTS,
			    "it is mounted at '%s' from another staging_target_path; stop the job "
			    "that uses it first",
			    top->target);
	if ((top->attrs ^ attrs) & MOUNT_ATTR_RDONLY)
		return fail(err, ERR_ALREADY_EXISTS,
			    "it is mounted at '%s' with readonly %s, not %s; stop the job that "
			    "uses it first",
			    top->target, top->attrs & MOUNT_ATTR_RDONLY ? "true" : "false",
			    attrs & MOUNT_ATTR_RDONLY ? "true" : "false");
	if (top->attrs != attrs)
		return fail(err, ERR_ALREADY_EXISTS,
			    "it is mounted at '%s' with other mount_flags; stop the job that uses "
			    "it first",
			    top->target);
	return 0;
}

/*
 * Returns true if the mount is at a staging path. A staging that an earlier version made has no
 * mark, and is known by its targets only.
 */
static bool is_at_staging_path(const struct mount_table *table, const struct mount *mount)
{
	return !mount->master &&
	       (staging_mark_is_set(mount->target) || mount_target_of(table, mount));
}

/* Returns true for a mount of this volume that was a target of a staging that was removed. */
static bool is_leftover(const struct mount_table *table, const struct mount *top,
			const struct mount *staging, const char *dataset)
{
	return mount_is_of(top, dataset) && top != staging && !top->master &&
	       !is_at_staging_path(table, top);
}

static int check_one_target(const struct mount_table *table, const char *dataset, const char *path,
			    struct error *err)
{
	const struct mount *other = mount_of_elsewhere(table, dataset, path);

	if (!other)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "its access mode allows one workload on a node, and it is mounted at '%s'; "
		    "stop the job that uses it first, or use an access mode like "
		    "SINGLE_NODE_MULTI_WRITER",
		    other->target);
}

static int attach(const struct mount *staging, const char *path, uint64_t attrs, struct error *err)
{
	bool device = !mount_format(staging)->mounts;
	struct error ignored;
	bool made;

	if (path_make(path, device ? PATH_FILE : PATH_DIRECTORY, &made, err) < 0)
		return -1;
	if (mount_bind(staging, path, MOUNT_TARGET, attrs, err) < 0) {
		if (made)
			path_remove(path, &ignored);
		return -1;
	}
	return 0;
}

static int publish(struct rpc_call *call, const char *id, const char *staging_path,
		   const char *path, const struct mount_request *want, struct error *err)
{
	struct mount_table table;

	if (mount_table_read(&call->arena, &table, err) < 0)
		return -1;
	const struct mount *staging = find_staging(call, &table, id, staging_path, err);
	if (!staging)
		return -1;
	if (mount_call_is_dead(staging))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "its mount at '%s' is dead, because zfs-fuse has ended since; stop all "
			    "jobs that use it on this node, then start them again",
			    staging->target);
	const char *name = node_dataset_name(call, id);
	if (request_fits(want, mount_format(staging), err) < 0)
		return -1;
	const struct mount *top = mount_at(&table, path);
	bool leftover = top && is_leftover(&table, top, staging, name);
	if (top && !leftover)
		return check_existing(top, staging, want->attrs, err);
	if (want->one_target && check_one_target(&table, name, path, err) < 0)
		return -1;
	if (staging_mark_remove(path, err) < 0 || (leftover && mount_remove(path, err) < 0))
		return -1;
	if (!mount_format(staging)->mounts &&
	    block_set_access(&table, staging, want->attrs, err) < 0)
		return -1;
	return attach(staging, path, want->attrs, err);
}

int node_publish_volume(struct rpc_call *call, const NodePublishVolumeRequest *req,
			NodePublishVolumeResponse *rsp, struct error *err)
{
	const struct node *node = call->app;
	struct mount_request want;
	char *path, *staging_path;
	gid_t group; /* checked only: staging has set it on the root directory */

	(void)rsp;
	if (request_text(req->volume_id, "volume_id", err) < 0 ||
	    path_check(req->target_path, "target_path", err) < 0 ||
	    request_capability(req->volume_capability, &want, err) < 0 ||
	    permissions_group(want.group, &group, err) < 0)
		return -1;
	if (!*req->staging_target_path)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "staging_target_path is missing; call NodeStageVolume for volume '%s' "
			    "first",
			    req->volume_id);
	if (path_check(req->staging_target_path, "staging_target_path", err) < 0 ||
	    path_canonical(&call->arena, req->staging_target_path, &staging_path, err) < 0 ||
	    path_canonical(&call->arena, req->target_path, &path, err) < 0)
		return -1;
	if (!path)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "the directory of target_path '%s' does not exist: %s",
			    req->target_path, node->data_dir_advice);
	if (req->readonly)
		want.attrs |= MOUNT_ATTR_RDONLY;
	if (publish(call, req->volume_id, staging_path, path, &want, err) < 0)
		return fail_context(err, "volume '%s' cannot be mounted for the workload",
				    req->volume_id);
	return 0;
}

/*
 * Returns the volume's lowest mount at the path; NULL if it has none there. Mounts on top of it
 * were added later, by hand.
 */
static const struct mount *lowest_at(const struct mount_table *table, const char *dataset,
				     const char *path)
{
	for (size_t i = 0; i < table->n; i++)
		if (!strcmp(table->rows[i].target, path) && mount_is_of(&table->rows[i], dataset))
			return &table->rows[i];
	return NULL;
}

/*
 * Find the volume by its mount, like renamed_find, which runs a zfs if the volume was renamed. Some
 * of the workers of this lane run none, so a zfs that hangs does not stop unmounting.
 */
static int find_mounted(struct rpc_call *call, const char *id, const struct mount *mount,
			const char **ret, struct error *err)
{
	static _Atomic unsigned finding;
	int failed = -1;

	*ret = node_dataset_name(call, id);
	if (mount_is_of(mount, *ret))
		return 0;
	if (atomic_fetch_add(&finding, 1) < FINDING_MAX)
		failed = renamed_find(call, id, mount, ret, err);
	else
		fail(err, ERR_UNAVAILABLE,
		     "'%s' is mounted at '%s', and zfs is still being asked about %d other "
		     "volumes whether they were renamed: try again",
		     mount->source, mount->target, FINDING_MAX);
	atomic_fetch_sub(&finding, 1);
	return failed;
}

/* Unmount all mounts of the volume that are stacked at the path, then remove the path. */
static int unpublish(struct rpc_call *call, const char *id, const char *path, struct error *err)
{
	struct mount_table table;
	const char *dataset;

	for (;;) {
		if (mount_table_read(&call->arena, &table, err) < 0)
			return -1;
		const struct mount *top = mount_at(&table, path);
		if (!top)
			return path_remove(path, err);
		if (find_mounted(call, id, top, &dataset, err) < 0)
			return -1;
		const struct mount *lowest = lowest_at(&table, dataset, path);
		if (lowest && is_at_staging_path(&table, lowest))
			return fail(err, ERR_FAILED_PRECONDITION,
				    "'%s' is its staging_target_path, not a target_path; call "
				    "NodeUnstageVolume with it",
				    path);
		if (mount_remove_tree(path, dataset, err) < 0)
			return -1;
	}
}

int node_unpublish_volume(struct rpc_call *call, const NodeUnpublishVolumeRequest *req,
			  NodeUnpublishVolumeResponse *rsp, struct error *err)
{
	char *path;

	(void)rsp;
	if (request_text(req->volume_id, "volume_id", err) < 0 ||
	    path_check(req->target_path, "target_path", err) < 0 ||
	    path_canonical(&call->arena, req->target_path, &path, err) < 0)
		return -1;
	if (path && unpublish(call, req->volume_id, path, err) < 0)
		return fail_context(err, "volume '%s' cannot be unmounted", req->volume_id);
	return 0;
}
