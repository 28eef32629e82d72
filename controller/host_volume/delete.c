/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The operation delete.
 *
 * Invariant: a volume that a task uses stays mounted. Nothing is removed but the volume, which
 * zcsi-node finds unused, and the empty directory that it was mounted at.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "controller/host_volume/host_volume.h"
#include "proto/csi.h"

static int unmount(struct local *local, const char *volume, const char *path, struct error *err)
{
	NodeUnstageVolumeRequest *request = new_node_unstage_volume_request(local->arena);
	NodeUnstageVolumeResponse *response;

	request->volume_id = arena_strdup(local->arena, volume);
	request->staging_target_path = arena_strdup(local->arena, path);
	return local_ask(local, "NodeUnstageVolume", &request->base, &response, err);
}

/* Remove the record that this host uses the volume. Fails if a task uses it. */
static int detach(struct local *local, const char *volume, struct error *err)
{
	UnpublishDatasetRequest *request = new_unpublish_dataset_request(local->arena);
	UnpublishDatasetResponse *response;

	request->id = arena_strdup(local->arena, volume);
	request->node_id = local->self->host->node_id;
	request->unused = true;
	return local_ask(local, "UnpublishDataset", &request->base, &response, err);
}

static int destroy(struct local *local, const char *volume, struct error *err)
{
	DestroyDatasetRequest *request = new_destroy_dataset_request(local->arena);
	DestroyDatasetResponse *response;

	request->id = arena_strdup(local->arena, volume);
	return local_ask(local, "DestroyDataset", &request->base, &response, err);
}

/*
 * Mount the volume again, because it may not be deleted, and Nomad would give the bare directory to
 * tasks. Returns -1 with the former *err, to which the error of a failed mount is added.
 */
static int mount_again(struct local *local, const char *volume, const char *path, struct error *err)
{
	const struct error why = *err;
	struct error again;

	if (mount_run(local, volume, path, &again) == 0)
		return -1;
	return fail(err, why.code,
		    "%s; then type 'nomad volume create' again, because '%s' is not mounted any "
		    "more: %s",
		    why.text, path, again.text);
}

/* Unmount the volume, since uses in other mount namespaces are seen only then, and delete it. */
static int remove_volume(struct local *local, const char *volume, const char *path,
			 struct error *err)
{
	if (unmount(local, volume, path, err) < 0)
		return -1;
	if (detach(local, volume, err) == 0 && destroy(local, volume, err) == 0)
		return 0;
	return mount_again(local, volume, path, err);
}

int delete_run(struct local *local, const struct request *request, struct error *err)
{
	const Dataset *volume;

	if (local_meet(local, err) < 0 || local_find(local, request->id, &volume, err) < 0)
		return -1;
	if (volume && remove_volume(local, volume->id, request->path, err) < 0)
		return -1;
	if (rmdir(request->path) < 0 && errno != ENOENT)
		return fail_errno(err, "cannot remove the directory '%s'", request->path);
	return 0;
}
