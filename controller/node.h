/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_NODE_H
#define ZCSI_CONTROLLER_NODE_H

/*
 * csi.v1.Node, served with --node only: its calls are passed to the zcsi-node of this host, which
 * runs the calls for one volume one at a time.
 */

#include "controller/service.h"

#define NODE_METHODS(INLINE, PLAIN, KEYED, STREAM)                                                 \
	PLAIN(NodeGetInfo, node_get_info, LANE_NODE)                                               \
	PLAIN(NodeGetCapabilities, node_get_capabilities, LANE_NODE)                               \
	PLAIN(NodeStageVolume, node_stage_volume, LANE_MOUNT)                                      \
	PLAIN(NodeUnstageVolume, node_unstage_volume, LANE_MOUNT)                                  \
	PLAIN(NodePublishVolume, node_publish_volume, LANE_MOUNT)                                  \
	PLAIN(NodeUnpublishVolume, node_unpublish_volume, LANE_NODE)                               \
	PLAIN(NodeExpandVolume, node_expand_volume, LANE_MOUNT)                                    \
	PLAIN(NodeGetVolumeStats, node_get_volume_stats, LANE_NODE)                                \
	PLAIN(NodeGetVolumeHealth, node_get_volume_health, LANE_NODE)                              \
	PLAIN(NodeGetStorageHealth, node_get_storage_health, LANE_NODE)

#define NODE_DECLARE_(Name, handler, ...)                                                          \
	int handler(struct rpc_call *call, const Name##Request *req, Name##Response *rsp,          \
		    struct error *err);
#define NODE_STREAM_(Name, handler)

NODE_METHODS(NODE_DECLARE_, NODE_DECLARE_, NODE_DECLARE_, NODE_STREAM_)

extern const struct rpc_service node_service;

#endif
