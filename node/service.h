/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_SERVICE_H
#define ZCSI_NODE_SERVICE_H

/*
 * All RPCs that zcsi-node serves, and how each is run (transport/service.h). The handlers get their
 * prototypes here. KEYED calls of all services for one id share a queue, so a volume is not
 * destroyed while it is staged. The last word of a row is the lane of its calls (node/lanes.h).
 */

#include "node/agent/methods.h"
#include "node/copy/methods.h"
#include "node/lanes.h"
#include "proto/agent.h"
#include "proto/copy.h"
#include "proto/csi.h"
#include "proto/registration.h"
#include "transport/service.h"

#define IDENTITY_METHODS(INLINE, PLAIN, KEYED, STREAM)                                             \
	INLINE(GetPluginInfo, get_plugin_info)                                                     \
	INLINE(GetPluginCapabilities, get_plugin_capabilities)                                     \
	INLINE(Probe, probe)

#define NODE_METHODS(INLINE, PLAIN, KEYED, STREAM)                                                 \
	INLINE(NodeGetInfo, node_get_info)                                                         \
	INLINE(NodeGetCapabilities, node_get_capabilities)                                         \
	KEYED(NodeStageVolume, node_stage_volume, volume_id, LANE_MOUNT)                           \
	KEYED(NodeUnstageVolume, node_unstage_volume, volume_id, LANE_MOUNT)                       \
	KEYED(NodePublishVolume, node_publish_volume, volume_id, LANE_MOUNT)                       \
	KEYED(NodeUnpublishVolume, node_unpublish_volume, volume_id)                               \
	KEYED(NodeExpandVolume, node_expand_volume, volume_id, LANE_MOUNT)                         \
	PLAIN(NodeGetVolumeStats, node_get_volume_stats)                                           \
	PLAIN(NodeGetVolumeHealth, node_get_volume_health)                                         \
	INLINE(NodeGetStorageHealth, node_get_storage_health)

#define REGISTRATION_METHODS(INLINE, PLAIN, KEYED, STREAM)                                         \
	INLINE(GetInfo, get_info)                                                                  \
	INLINE(NotifyRegistrationStatus, notify_registration_status)

/* Aliases for HANDLER_: kubelet's messages are not named after its methods, as all others are. */
typedef InfoRequest GetInfoRequest;
typedef PluginInfo GetInfoResponse;
typedef RegistrationStatus NotifyRegistrationStatusRequest;
typedef RegistrationStatusResponse NotifyRegistrationStatusResponse;

#define HANDLER_(Name, handler, ...)                                                               \
	int handler(struct rpc_call *call, const Name##Request *req, Name##Response *rsp,          \
		    struct error *err);
#define STREAM_(Name, handler) rpc_open_fn handler;

IDENTITY_METHODS(HANDLER_, HANDLER_, HANDLER_, STREAM_)
NODE_METHODS(HANDLER_, HANDLER_, HANDLER_, STREAM_)
REGISTRATION_METHODS(HANDLER_, HANDLER_, HANDLER_, STREAM_)
AGENT_METHODS(HANDLER_, HANDLER_, HANDLER_, STREAM_)
COPY_METHODS(HANDLER_, HANDLER_, HANDLER_, STREAM_)
REPLICA_METHODS(HANDLER_, HANDLER_, HANDLER_, STREAM_)
BACKUP_METHODS(HANDLER_, HANDLER_, HANDLER_, STREAM_)
#undef HANDLER_
#undef STREAM_
extern const struct rpc_service identity_service, node_service, agent_service, copy_service,
	replica_service, backup_service, registration_service;

#endif
