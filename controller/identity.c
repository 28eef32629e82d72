/* SPDX-License-Identifier: MPL-2.0 */
/*
 * csi.v1.Identity of the controller.
 *
 * Invariant: these RPCs run on the loop and ask no agent. An agent that is down fails the RPCs that
 * need it, but must not make the orchestrator restart the controller.
 */
#include "common/volume/plugin.h"
#include "controller/service.h"

int get_plugin_info(struct rpc_call *call, const GetPluginInfoRequest *req,
		    GetPluginInfoResponse *rsp, struct error *err)
{
	(void)req, (void)err;
	rsp->name = arena_strdup(&call->arena, PLUGIN_NAME);
	rsp->vendor_version = arena_strdup(&call->arena, ZCSI_VERSION);
	return 0;
}

static PluginCapability *service(struct arena *arena, PluginCapability_Service_Type type)
{
	PluginCapability *capability = new_plugin_capability(arena);

	capability->type_case = PLUGIN_CAPABILITY_TYPE_SERVICE;
	capability->service = new_plugin_capability_service(arena);
	capability->service->type = type;
	return capability;
}

static PluginCapability *expansion(struct arena *arena, PluginCapability_VolumeExpansion_Type type)
{
	PluginCapability *capability = new_plugin_capability(arena);

	capability->type_case = PLUGIN_CAPABILITY_TYPE_VOLUME_EXPANSION;
	capability->volume_expansion = new_plugin_capability_volume_expansion(arena);
	capability->volume_expansion->type = type;
	return capability;
}

int get_plugin_capabilities(struct rpc_call *call, const GetPluginCapabilitiesRequest *req,
			    GetPluginCapabilitiesResponse *rsp, struct error *err)
{
#define SERVICE(type)   service(&call->arena, PLUGIN_CAPABILITY_SERVICE_TYPE_##type),
#define EXPANSION(type) expansion(&call->arena, PLUGIN_CAPABILITY_VOLUME_EXPANSION_TYPE_##type),
	PluginCapability *const list[] = {PLUGIN_CAPABILITIES(SERVICE, EXPANSION)};

	(void)req, (void)err;
	rsp->n_capabilities = COUNT(list);
	rsp->capabilities = arena_alloc(&call->arena, sizeof(list));
	for (size_t i = 0; i < COUNT(list); i++)
		rsp->capabilities[i] = list[i];
	return 0;
}

int probe(struct rpc_call *call, const ProbeRequest *req, ProbeResponse *rsp, struct error *err)
{
	(void)req, (void)err;
	/* An absent value means ready too, but the CSI client csc prints only set values. */
	rsp->ready = arena_alloc(&call->arena, sizeof(*rsp->ready));
	google__protobuf__bool_value__init(rsp->ready);
	rsp->ready->value = true;
	return 0;
}
