/* SPDX-License-Identifier: MPL-2.0 */
/*
 * csi.v1.Identity, and the calls of csi.v1.Node that describe the node: NodeGetCapabilities and
 * NodeGetInfo.
 *
 * Invariant: the answers depend on the command line alone. Probe answers ready as soon as zcsi-node
 * listens, even without a usable pool: Nomad restarts a plugin that is not ready, and unmounting
 * must work without the pool.
 */
#include "common/volume/plugin.h"
#include "node/host/node.h"
#include "node/service.h"

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
	PluginCapability *all[] = {PLUGIN_CAPABILITIES(SERVICE, EXPANSION)};

	(void)req, (void)err;
	rsp->n_capabilities = COUNT(all);
	rsp->capabilities = arena_alloc(&call->arena, sizeof(all));
	for (size_t i = 0; i < COUNT(all); i++)
		rsp->capabilities[i] = all[i];
	return 0;
}

int probe(struct rpc_call *call, const ProbeRequest *req, ProbeResponse *rsp, struct error *err)
{
	(void)req, (void)err;
	rsp->ready = arena_alloc(&call->arena, sizeof(*rsp->ready));
	google__protobuf__bool_value__init(rsp->ready);
	rsp->ready->value = true;
	return 0;
}

#define CAPABILITY(name) NODE_SERVICE_CAPABILITY_RPC_TYPE_##name

static const NodeServiceCapability_RPC_Type capabilities[] = {
	CAPABILITY(STAGE_UNSTAGE_VOLUME),
	CAPABILITY(GET_VOLUME_STATS),
	CAPABILITY(EXPAND_VOLUME),
	CAPABILITY(VOLUME_CONDITION),
	CAPABILITY(GET_VOLUME_HEALTH),
	CAPABILITY(GET_STORAGE_HEALTH),
	CAPABILITY(SINGLE_NODE_MULTI_WRITER),
	CAPABILITY(VOLUME_MOUNT_GROUP),
};

int node_get_capabilities(struct rpc_call *call, const NodeGetCapabilitiesRequest *req,
			  NodeGetCapabilitiesResponse *rsp, struct error *err)
{
	(void)req, (void)err;
	rsp->n_capabilities = COUNT(capabilities);
	rsp->capabilities =
		arena_alloc(&call->arena, COUNT(capabilities) * sizeof(*rsp->capabilities));
	for (size_t i = 0; i < COUNT(capabilities); i++) {
		NodeServiceCapability *capability = new_node_service_capability(&call->arena);
		capability->type_case = NODE_SERVICE_CAPABILITY_TYPE_RPC;
		capability->rpc = new_node_service_capability_rpc(&call->arena);
		capability->rpc->type = capabilities[i];
		rsp->capabilities[i] = capability;
	}
	return 0;
}

int node_get_info(struct rpc_call *call, const NodeGetInfoRequest *req, NodeGetInfoResponse *rsp,
		  struct error *err)
{
	const struct node *node = call->app;
	Topology *topology = new_topology(&call->arena);

	(void)req, (void)err;
	rsp->node_id = arena_strdup(&call->arena, node->id);
	rsp->max_volumes_per_node = node->max_volumes;
	rsp->accessible_topology = topology;
	topology->segments =
		arena_alloc(&call->arena, node->n_topology * sizeof(*topology->segments));
	for (size_t i = 0; i < node->n_topology; i++) {
		Topology_SegmentsEntry *segment = new_topology_segments_entry(&call->arena);
		segment->key = arena_strdup(&call->arena, node->topology[i].key);
		segment->value = arena_strdup(&call->arena, node->topology[i].value);
		topology->segments[topology->n_segments++] = segment;
	}
	return 0;
}
