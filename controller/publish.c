/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Giving a volume to a node and taking it back.
 *
 * Invariant: the record of who has a volume is the owner's, in the dataset, and the owner enforces
 * the access modes on it; so two controllers cannot disagree.
 */
#include <string.h>

#include "common/map.h"
#include "controller/capability.h"
#include "controller/hosts.h"
#include "controller/service.h"
#include "controller/text.h"
#include "controller/volume.h"

static int check_publish(const ControllerPublishVolumeRequest *req, struct error *err)
{
	if (text_check_present("volume_id", req->volume_id, err) < 0 ||
	    text_check_present("node_id", req->node_id, err) < 0)
		return -1;
	if (!req->volume_capability)
		return fail(err, ERR_INVALID_ARGUMENT, "volume_capability is missing");
	if (capability_check(req->volume_capability, err) < 0)
		return -1;
	return capability_support(req->volume_capability, err);
}

/* Attached locally, a volume is for the node that holds it. */
static int check_node(struct rpc_call *call, const struct owner *owner, const char *node_id,
		      struct error *err)
{
	struct host host;

	if (host_of(call, owner->agent, &host, err) < 0)
		return -1;
	if (strcmp(host.says->node_id, node_id) == 0)
		return 0;
	if (hosts_check_node(call, node_id, err) < 0)
		return -1;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "volume '%s' is on node '%s' and cannot be used on node '%s': its data is "
		    "local; run the workload on '%s'",
		    owner->dataset->id, host.says->node_id, node_id, host.says->node_id);
}

int controller_publish_volume(struct rpc_call *call, const ControllerPublishVolumeRequest *req,
			      ControllerPublishVolumeResponse *rsp, struct error *err)
{
	PublishDatasetRequest *request = new_publish_dataset_request(&call->arena);
	PublishDatasetResponse *response;
	struct owner owner;

	if (check_publish(req, err) < 0 || owner_get(call, req->volume_id, &owner, err) < 0 ||
	    check_node(call, &owner, req->node_id, err) < 0)
		return -1;
	request->id = owner.dataset->id;
	request->publication = new_publication(&call->arena);
	request->publication->node_id = req->node_id;
	request->publication->access_mode = (int32_t)req->volume_capability->access_mode->mode;
	request->publication->readonly = req->readonly;
	if (agent_publish_dataset(call, owner.agent, request, &response, err) < 0)
		return -1;
	map_put(&call->arena, rsp, publish_context, ATTACH_KEY, ATTACH_LOCAL);
	map_put(&call->arena, rsp, publish_context, "dataset", owner.dataset->name);
	return 0;
}

int controller_unpublish_volume(struct rpc_call *call, const ControllerUnpublishVolumeRequest *req,
				ControllerUnpublishVolumeResponse *rsp, struct error *err)
{
	UnpublishDatasetRequest *request = new_unpublish_dataset_request(&call->arena);
	UnpublishDatasetResponse *response;
	struct owner owner;

	(void)rsp;
	if (text_check_present("volume_id", req->volume_id, err) < 0)
		return -1;
	if (owner_find(call, req->volume_id, &owner, err) < 0)
		return -1;
	if (!owner.dataset)
		return 0;
	request->id = owner.dataset->id;
	request->node_id = req->node_id;
	return agent_unpublish_dataset(call, owner.agent, request, &response, err);
}
