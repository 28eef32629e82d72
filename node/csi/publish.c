/* SPDX-License-Identifier: MPL-2.0 */
/*
 * NodePublishVolume and NodeUnpublishVolume: a target path bound from a staging path, and gone.
 *
 * Invariant: a target appears with its final attributes or not at all (mount_attach). A directory
 * or file that holds anything is never removed, and nothing is unmounted but this volume's targets.
 *
 * How many targets a volume may have is counted per volume, over all its stagings, because the
 * access mode protects the data, which they share. Nomad stages one volume at several paths only
 * when claims of several kinds are on it, and admits those only for modes that allow it. The mode
 * that counts is the one of the call: mountinfo has no place for that of an earlier one.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "node/attach/block.h"
#include "node/mount/mount.h"
#include "node/mount/kind.h"
#include "node/host/node.h"
#include "node/mount/path.h"
#include "node/mount/permissions.h"
#include "node/csi/request.h"
#include "node/service.h"

/* The staging proves the volume; only without it is the catalog asked what is wrong. */
static const struct mount *find_staging(struct rpc_call *call, const struct mount_table *table,
					const char *id, const char *path, struct error *err)
{
	const struct mount *top = path ? mount_at(table, path) : NULL;
	struct dataset *dataset;

	if (top && mount_is_of(top, node_dataset_name(call, id)) && mount_is_staging(top))
		return top;
	if (node_find(call, id, &dataset, err) == 0)
		fail(err, ERR_FAILED_PRECONDITION,
		     "it is not staged at its staging_target_path; call NodeStageVolume first");
	return NULL;
}

/* The same call again, or one that wants another thing at the same place. */
static int already_there(const struct mount *top, const struct mount *staging, uint64_t attrs,
			 struct error *err)
{
	if (strcmp(top->source, staging->source) != 0 || !top->master)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is mounted at '%s' already; unmount it", top->source,
			    top->target);
	if (top->master != staging->shared)
		return fail(err, ERR_ALREADY_EXISTS,
			    "it is published at '%s' from another staging_target_path; unpublish "
			    "it first",
			    top->target);
	if ((top->attrs ^ attrs) & MOUNT_ATTR_RDONLY)
		return fail(err, ERR_ALREADY_EXISTS,
			    "it is published at '%s' with readonly %s, not %s; unpublish it first",
			    top->target, top->attrs & MOUNT_ATTR_RDONLY ? "true" : "false",
			    attrs & MOUNT_ATTR_RDONLY ? "true" : "false");
	if (top->attrs != attrs)
		return fail(err, ERR_ALREADY_EXISTS,
			    "it is published at '%s' with other mount_flags; unpublish it first",
			    top->target);
	return 0;
}

/* A mount of this volume that is neither staging nor target: the staging it came from has gone. */
static bool is_leftover(const struct mount *top, const char *dataset)
{
	return mount_is_of(top, dataset) && !top->shared && !top->master;
}

static int check_one_target(const struct mount_table *table, const char *dataset, const char *path,
			    struct error *err)
{
	const struct mount *other = mount_of_elsewhere(table, dataset, path);

	if (!other)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "its access mode allows one target on a node, and it is published at '%s'; "
		    "unpublish that first, or use a mode like SINGLE_NODE_MULTI_WRITER",
		    other->target);
}

static int attach(const struct mount *staging, const char *path, uint64_t attrs, struct error *err)
{
	bool device = !mount_format(staging)->mounts;
	struct error ignored;
	bool made;

	if (path_make(path, device ? PATH_FILE : PATH_DIRECTORY, &made, err) < 0)
		return -1;
	if (mount_attach(staging, path, MOUNT_TARGET, attrs, err) < 0) {
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
	const char *name = node_dataset_name(call, id);
	if (request_fits(want, mount_format(staging), err) < 0)
		return -1;
	const struct mount *top = mount_at(&table, path);
	bool leftover = top && is_leftover(top, name);
	if (top && !leftover)
		return already_there(top, staging, want->attrs, err);
	if (want->one_target && check_one_target(&table, name, path, err) < 0)
		return -1;
	if (leftover && mount_remove(path, err) < 0)
		return -1;
	if (!mount_format(staging)->mounts &&
	    block_set_access(&table, staging, want->attrs, err) < 0)
		return -1;
	return attach(staging, path, want->attrs, err);
}

int node_publish_volume(struct rpc_call *call, const NodePublishVolumeRequest *req,
			NodePublishVolumeResponse *rsp, struct error *err)
{
	struct mount_request want;
	char *path, *staging_path;
	gid_t group; /* staging has set it; here it is only to be one */

	(void)rsp;
	if (request_text(req->volume_id, "volume_id", err) < 0 ||
	    path_check(req->target_path, "target_path", err) < 0 ||
	    request_capability(req->volume_capability, &want, err) < 0 ||
	    permissions_group(want.group, &group, err) < 0)
		return -1;
	if (!*req->staging_target_path)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "staging_target_path is missing; stage volume '%s' first",
			    req->volume_id);
	if (path_check(req->staging_target_path, "staging_target_path", err) < 0 ||
	    path_canonical(&call->arena, req->staging_target_path, &staging_path, err) < 0 ||
	    path_canonical(&call->arena, req->target_path, &path, err) < 0)
		return -1;
	if (!path)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "the directory of target_path '%s' does not exist; make it",
			    req->target_path);
	if (req->readonly)
		want.attrs |= MOUNT_ATTR_RDONLY;
	if (publish(call, req->volume_id, staging_path, path, &want, err) < 0)
		return fail_context(err, "volume '%s' is not published", req->volume_id);
	return 0;
}

/* The volume's lowest mount at a path. What lies on it was mounted later, by hand. */
static const struct mount *lowest_at(const struct mount_table *table, const char *dataset,
				     const char *path)
{
	for (size_t i = 0; i < table->n; i++)
		if (!strcmp(table->rows[i].target, path) && mount_is_of(&table->rows[i], dataset))
			return &table->rows[i];
	return NULL;
}

/* All of ours that lie on top of each other there, and then what was made for them. */
static int unpublish(struct arena *arena, const char *dataset, const char *path, struct error *err)
{
	struct mount_table table;

	for (;;) {
		if (mount_table_read(arena, &table, err) < 0)
			return -1;
		const struct mount *top = mount_at(&table, path);
		if (!top)
			return path_remove(path, err);
		if (!mount_is_of(top, dataset))
			return fail(err, ERR_NOT_FOUND,
				    "what is mounted at '%s' is '%s', not this volume", path,
				    top->source);
		/* A target whose staging was taken away is no slave any more, and goes too. */
		if (mount_is_staging(lowest_at(&table, dataset, path)))
			return fail(err, ERR_FAILED_PRECONDITION,
				    "'%s' is where the volume is staged, not a target_path; give "
				    "it to NodeUnstageVolume",
				    path);
		if (mount_remove(path, err) < 0)
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
	const char *dataset = node_dataset_name(call, req->volume_id);
	if (path && unpublish(&call->arena, dataset, path, err) < 0)
		return fail_context(err, "volume '%s' is not unpublished", req->volume_id);
	return 0;
}
