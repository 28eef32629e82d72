/* SPDX-License-Identifier: MPL-2.0 */
/*
 * ControllerPublishVolume and ControllerUnpublishVolume.
 *
 * Invariant: the agent that has the dataset records in it the nodes that the volume is published
 * to, and enforces the access modes, so two controllers cannot disagree. ControllerPublishVolume
 * fails with FAILED_PRECONDITION only if another node has the volume, as CSI says, or while the
 * volume moves (follow.h): Nomad then repeats the call, without an event. Other errors end the
 * allocation, with an event that shows them.
 */
#include <string.h>

#include "common/volume/map.h"
#include "controller/capability.h"
#include "controller/follow.h"
#include "controller/hosts.h"
#include "controller/service.h"
#include "controller/request/field.h"
#include "controller/volume.h"

#define LOOKUPS 3 /* how often one call looks the volume up, which may move in between */

static int check_publish(const ControllerPublishVolumeRequest *req, struct error *err)
{
	if (field_check_present("volume_id", req->volume_id, err) < 0 ||
	    field_check_present("node_id", req->node_id, err) < 0)
		return -1;
	if (!req->volume_capability)
		return fail(err, ERR_INVALID_ARGUMENT, "volume_capability is missing");
	return capability_check(req->volume_capability, err);
}

/*
 * *ret is the address from which the node mounts the volume by NFS, or "" if the node is the owner
 * of the dataset. Fails if another node cannot use the volume.
 */
static int find_address(struct rpc_call *call, const struct owner *owner, const char *node_id,
			char **ret, struct error *err)
{
	const char *attach = volume_attach(&call->arena, owner->dataset);
	struct host host, other;

	*ret = arena_strdup(&call->arena, "");
	if (host_of(call, owner->agent, &host, err) < 0)
		return -1;
	if (strcmp(host.says->node_id, node_id) == 0)
		return 0;
	if (hosts_find_node(call, node_id, NO_DEADLINE, &other, err) < 0)
		return -1;
	if (strcmp(attach, ATTACH_LOCAL) == 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume '%s' is on node '%s' and cannot be used on node '%s': its data "
			    "is local; run the workload on '%s', or make a volume with the "
			    "parameter %s=%s",
			    owner->dataset->id, host.says->node_id, node_id, host.says->node_id,
			    ATTACH_KEY, ATTACH_NFS);
	*ret = other.says->address;
	if (**ret)
		return 0;
	return fail(err, ERR_UNAVAILABLE,
		    "node '%s' has no address to export volume '%s' to; start its zcsi-node with "
		    "--address",
		    node_id, owner->dataset->id);
}

static void describe(struct arena *arena, const Dataset *dataset,
		     const PublishDatasetResponse *published, ControllerPublishVolumeResponse *rsp)
{
	bool by_nfs = *published->share;

	map_put(arena, rsp, publish_context, ATTACH_KEY, by_nfs ? ATTACH_NFS : ATTACH_LOCAL);
	map_put(arena, rsp, publish_context, "dataset", dataset->name);
	if (!by_nfs)
		return;
	map_put(arena, rsp, publish_context, "server", published->server);
	map_put(arena, rsp, publish_context, "share", published->share);
	if (*published->root)
		map_put(arena, rsp, publish_context, "root", published->root);
	if (published->maker)
		map_put(arena, rsp, publish_context, "maker",
			arena_printf(arena, "%u", published->maker));
}

static int check_volume(struct rpc_call *call, const ControllerPublishVolumeRequest *req,
			const Dataset *dataset, struct error *err)
{
	const char *attach = volume_attach(&call->arena, dataset);

	if (capability_reach(req->volume_capability, attach, err) == 0 &&
	    capability_fits(req->volume_capability, dataset, err) == 0)
		return 0;
	return follow_fail_for_good(err);
}

/* Find and check the volume, and move it to the node if it follows its workload there. */
static int find(struct rpc_call *call, const ControllerPublishVolumeRequest *req, struct owner *ret,
		struct error *err)
{
	struct follow follow = {.call = call, .id = req->volume_id, .node_id = req->node_id};

	for (int i = 0; i < LOOKUPS; i++) {
		if (owner_get(call, req->volume_id, ret, err) < 0) {
			if (follow_missing(&follow, err) < 0)
				return -1;
			continue;
		}
		if (check_volume(call, req, ret->dataset, err) < 0)
			return -1;
		if (!follow_wants(&follow, ret))
			return 0;
		if (follow_move(&follow, ret, err) < 0)
			return -1;
	}
	return fail(err, ERR_FAILED_PRECONDITION, "volume '%s' is moving: try again",
		    req->volume_id);
}

static int publish(struct rpc_call *call, const ControllerPublishVolumeRequest *req,
		   ControllerPublishVolumeResponse *rsp, struct error *err)
{
	PublishDatasetRequest *request = new_publish_dataset_request(&call->arena);
	PublishDatasetResponse *response;
	struct owner owner;

	request->publication = new_publication(&call->arena);
	if (capability_support(req->volume_capability, err) < 0)
		return follow_fail_for_good(err);
	if (find(call, req, &owner, err) < 0)
		return -1;
	if (find_address(call, &owner, req->node_id, &request->publication->address, err) < 0)
		return follow_fail_for_good(err);
	request->id = owner.dataset->id;
	request->publication->node_id = req->node_id;
	request->publication->access_mode = (int32_t)req->volume_capability->access_mode->mode;
	request->publication->readonly = req->readonly;
	if (agent_publish_dataset(call, owner.agent, request, &response, err) < 0)
		return -1;
	describe(&call->arena, owner.dataset, response, rsp);
	return 0;
}

int controller_publish_volume(struct rpc_call *call, const ControllerPublishVolumeRequest *req,
			      ControllerPublishVolumeResponse *rsp, struct error *err)
{
	struct map context = map_of(&call->arena, req, volume_context);

	if (check_publish(req, err) < 0)
		return -1;
	/* Another storage system exports this volume. The node checks and uses volume_context. */
	if (volume_is_foreign(&context))
		return 0;
	return publish(call, req, rsp, err);
}

int controller_unpublish_volume(struct rpc_call *call, const ControllerUnpublishVolumeRequest *req,
				ControllerUnpublishVolumeResponse *rsp, struct error *err)
{
	UnpublishDatasetRequest *request = new_unpublish_dataset_request(&call->arena);
	UnpublishDatasetResponse *response;
	struct owner owner;

	(void)rsp;
	if (field_check_present("volume_id", req->volume_id, err) < 0)
		return -1;
	if (owner_find(call, req->volume_id, &owner, err) < 0)
		return -1;
	if (!owner.dataset)
		return 0;
	request->id = owner.dataset->id;
	request->node_id = req->node_id;
	return agent_unpublish_dataset(call, owner.agent, request, &response, err);
}
