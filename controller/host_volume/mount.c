/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Mounting a volume for Nomad's tasks: NodeStageVolume of CSI at the path that Nomad gave, without
 * NodePublishVolume, because Nomad itself mounts the path into its tasks.
 *
 * Invariant: the volume counts as attached to this host before it is mounted, so it is neither
 * deleted, moved nor attached to another host meanwhile. The mount is the kernel's and outlives
 * zcsi-node.
 */
#include "controller/host_volume/host_volume.h"
#include "proto/csi.h"

/* Any use on this host is allowed, since Nomad itself enforces the capabilities of the volume. */
#define ACCESS_MODE VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_MULTI_WRITER

static int attach(struct local *local, const char *volume, struct error *err)
{
	PublishDatasetRequest *request = new_publish_dataset_request(local->arena);
	PublishDatasetResponse *response;

	request->id = arena_strdup(local->arena, volume);
	request->publication = new_publication(local->arena);
	request->publication->node_id = local->self->host->node_id;
	request->publication->access_mode = ACCESS_MODE;
	return local_ask(local, "PublishDataset", &request->base, &response, err);
}

static int fail_unserved(const struct local *local, struct error *err)
{
	return fail(err, ERR_UNIMPLEMENTED,
		    "zcsi-node at '%s' mounts no volumes there: give one of this version, with a "
		    "unix socket as its --agent-endpoint",
		    local->self->endpoint);
}

int mount_run(struct local *local, const char *volume, const char *path, struct error *err)
{
	NodeStageVolumeRequest *request = new_node_stage_volume_request(local->arena);
	VolumeCapability *capability = new_volume_capability(local->arena);
	NodeStageVolumeResponse *response;

	capability->access_type_case = VOLUME_CAPABILITY_ACCESS_TYPE_MOUNT;
	capability->mount = new_volume_capability_mount_volume(local->arena);
	capability->access_mode = new_volume_capability_access_mode(local->arena);
	capability->access_mode->mode = ACCESS_MODE;
	request->volume_id = arena_strdup(local->arena, volume);
	request->staging_target_path = arena_strdup(local->arena, path);
	request->volume_capability = capability;
	if (attach(local, volume, err) < 0)
		return -1;
	int failed = local_ask(local, "NodeStageVolume", &request->base, &response, err);
	return failed && err->code == ERR_UNIMPLEMENTED ? fail_unserved(local, err) : failed;
}
