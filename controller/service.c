/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The controller's services, and the capabilities that announce them.
 *
 * Invariant: an RPC that is not in the lists of service.h returns UNIMPLEMENTED, so an RPC and its
 * capability are added and removed together.
 */
#include "controller/service.h"

#include "controller/node.h"

RPC_SERVICE(identity_service, csi__v1__identity__descriptor, IDENTITY_METHODS);
RPC_SERVICE(controller_service, csi__v1__controller__descriptor, CONTROLLER_METHODS);
RPC_SERVICE(group_service, csi__v1__group_controller__descriptor, GROUP_METHODS);

const struct rpc_service *const all_services[] = {
	&identity_service, &controller_service, &group_service, &node_service, NULL,
};
const struct rpc_service *const controller_services[] = {
	&identity_service,
	&controller_service,
	&group_service,
	NULL,
};

static const ControllerServiceCapability_RPC_Type capabilities[] = {
	CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_CREATE_DELETE_VOLUME,
	CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_PUBLISH_UNPUBLISH_VOLUME,
	CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_LIST_VOLUMES,
	CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_LIST_VOLUMES_PUBLISHED_NODES,
	CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_GET_VOLUME,
	CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_VOLUME_CONDITION,
	CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_GET_VOLUME_HEALTH,
	CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_LIST_VOLUME_HEALTH,
	CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_GET_CAPACITY,
	CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_EXPAND_VOLUME,
	CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_MODIFY_VOLUME,
	CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_CLONE_VOLUME,
	CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_CREATE_DELETE_SNAPSHOT,
	CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_LIST_SNAPSHOTS,
	CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_GET_SNAPSHOT,
	CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_PUBLISH_READONLY,
	CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_SINGLE_NODE_MULTI_WRITER,
};

int controller_get_capabilities(struct rpc_call *call, const ControllerGetCapabilitiesRequest *req,
				ControllerGetCapabilitiesResponse *rsp, struct error *err)
{
	struct arena *arena = &call->arena;

	(void)req, (void)err;
	rsp->n_capabilities = COUNT(capabilities);
	rsp->capabilities = arena_alloc(arena, COUNT(capabilities) * sizeof(*rsp->capabilities));
	for (size_t i = 0; i < COUNT(capabilities); i++) {
		ControllerServiceCapability *capability = new_controller_service_capability(arena);
		capability->type_case = CONTROLLER_SERVICE_CAPABILITY_TYPE_RPC;
		capability->rpc = new_controller_service_capability_rpc(arena);
		capability->rpc->type = capabilities[i];
		rsp->capabilities[i] = capability;
	}
	return 0;
}

static const GroupControllerServiceCapability_RPC_Type group_capability =
	GROUP_CONTROLLER_SERVICE_CAPABILITY_RPC_TYPE_CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT;

int group_controller_get_capabilities(struct rpc_call *call,
				      const GroupControllerGetCapabilitiesRequest *req,
				      GroupControllerGetCapabilitiesResponse *rsp,
				      struct error *err)
{
	struct arena *arena = &call->arena;
	GroupControllerServiceCapability *capability =
		new_group_controller_service_capability(arena);

	(void)req, (void)err;
	capability->type_case = GROUP_CONTROLLER_SERVICE_CAPABILITY_TYPE_RPC;
	capability->rpc = new_group_controller_service_capability_rpc(arena);
	capability->rpc->type = group_capability;
	rsp->n_capabilities = 1;
	rsp->capabilities = arena_alloc(arena, sizeof(*rsp->capabilities));
	rsp->capabilities[0] = capability;
	return 0;
}
