/* SPDX-License-Identifier: MPL-2.0 */
/*
 * NodeStageVolume and NodeUnstageVolume: the dataset at a staging path, and off it.
 *
 * Invariant: what is staged is what mountinfo says (node/mount.h); unstaging needs neither the
 * pool nor the catalog. A volume may have several stagings, since Nomad makes one for each way
 * in which it is used; each has its own targets, and none is removed while one of those lives.
 */
#include <string.h>
#include <unistd.h>

#include "node/mount.h"
#include "node/node.h"
#include "node/path.h"
#include "node/permissions.h"
#include "node/request.h"
#include "node/service.h"
#include "node/zfs.h"

/* Where the volume is, as the controller says; nothing means here. */
static int check_attach(const NodeStageVolumeRequest *req, struct error *err)
{
	for (size_t i = 0; i < req->n_publish_context; i++) {
		const char *value = req->publish_context[i]->value;
		if (!strcmp(req->publish_context[i]->key, "attach") && strcmp(value, "local"))
			return fail(err, ERR_FAILED_PRECONDITION,
				    "volume '%s' is to be attached by '%.64s', which this node "
				    "cannot; run the workload where the volume is",
				    req->volume_id, value);
	}
	return 0;
}

static int mount_first(const char *dataset, const char *path, uint64_t attrs, struct error *err)
{
	if (zfs_mount(dataset, path, err))
		return -1;
	return mount_make_staging(path, dataset, attrs, err);
}

/*
 * It is there. One that a killed daemon or a hand left with no role or other attributes is made
 * what it should be, unless targets show that somebody staged it otherwise and uses it.
 */
static int stage_again(const struct mount_table *table, const struct mount *top, uint64_t attrs,
		       struct error *err)
{
	if (mount_is_staging(top) && top->attrs == attrs)
		return 0;
	const struct mount *target = mount_target_of(table, top);
	if (target)
		return fail(err, ERR_ALREADY_EXISTS,
			    "'%s' is staged at '%s' with other mount flags, and published from it "
			    "at '%s'; unpublish that first",
			    top->source, top->target, target->target);
	return mount_make_staging(top->target, top->source, attrs, err);
}

static int stage(struct arena *arena, const char *dataset, const char *path, uint64_t attrs,
		 struct error *err)
{
	struct mount_table table;
	bool made;

	if (mount_table_read(arena, &table, err))
		return -1;
	const struct mount *top = mount_at(&table, path);
	if (top && (!mount_is_of(top, dataset) || top->master))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' cannot be staged at '%s': '%s' is mounted there; unmount it",
			    dataset, path, top->source);
	if (top)
		return stage_again(&table, top, attrs, err);
	if (path_make_directory(path, &made, err))
		return -1;
	const struct mount *other = mount_of(&table, dataset);
	int failed = other ? mount_attach(other, path, MOUNT_STAGING, attrs, err)
			   : mount_first(dataset, path, attrs, err);
	if (failed && made)
		rmdir(path);
	return failed;
}

/* The permissions come last and each time: a daemon killed before them is asked again. */
int node_stage_volume(struct rpc_call *call, const NodeStageVolumeRequest *req,
		      NodeStageVolumeResponse *rsp, struct error *err)
{
	struct permissions permissions;
	struct mount_request want;
	struct dataset *dataset;
	char *path;

	(void)rsp;
	if (request_text(req->volume_id, "volume_id", err) ||
	    path_check(req->staging_target_path, "staging_target_path", err) ||
	    request_capability(req->volume_capability, &want, err) || check_attach(req, err) ||
	    node_find(call, req->volume_id, &dataset, err) ||
	    path_canonical(&call->arena, req->staging_target_path, &path, err))
		return -1;
	if (!path)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "the directory of staging_target_path '%s' does not exist; make it",
			    req->staging_target_path);
	if (permissions_parse(dataset->root, want.group, &permissions, err) ||
	    stage(&call->arena, dataset->name, path, want.attrs, err) ||
	    permissions_apply(path, &permissions, err))
		return fail_context(err, "volume '%s' is not staged", req->volume_id);
	return 0;
}

/* All of ours that lie on top of each other; of a repeated staging by hand there may be several. */
static int unstage(struct arena *arena, const char *dataset, const char *path, struct error *err)
{
	struct mount_table table;

	for (;;) {
		if (mount_table_read(arena, &table, err))
			return -1;
		const struct mount *top = mount_at(&table, path);
		/* Another volume's, or a target: not staged here. */
		if (!top || !mount_is_of(top, dataset) || top->master)
			return 0;
		const struct mount *target = mount_target_of(&table, top);
		if (target)
			return fail(err, ERR_FAILED_PRECONDITION,
				    "'%s' is published from it at '%s'; unpublish that first", path,
				    target->target);
		if (mount_remove(path, err))
			return -1;
	}
}

int node_unstage_volume(struct rpc_call *call, const NodeUnstageVolumeRequest *req,
			NodeUnstageVolumeResponse *rsp, struct error *err)
{
	const char *dataset = node_dataset_name(call, req->volume_id);
	char *path;

	(void)rsp;
	if (request_text(req->volume_id, "volume_id", err) ||
	    path_check(req->staging_target_path, "staging_target_path", err) ||
	    path_canonical(&call->arena, req->staging_target_path, &path, err))
		return -1;
	if (!dataset || !path)
		return 0;
	if (unstage(&call->arena, dataset, path, err))
		return fail_context(err, "volume '%s' is not unstaged", req->volume_id);
	return 0;
}
