/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_SERVICE_H
#define ZCSI_CONTROLLER_SERVICE_H

/*
 * The list of all RPCs that the controller serves, and of their handlers. In a handler, call->app
 * is the struct agents. The last word of a row is the lane of its calls (workers_bound): lanes have
 * workers of their own, so the lists are read while many changes wait for their agents.
 */

#include "common/error.h"
#include "proto/csi.h"
#include "transport/service.h"

enum lane {
	LANE_READ, /* the lane of rows that name none */
	LANE_CHANGE,
	LANE_NODE,  /* calls that are passed to zcsi-node */
	LANE_MOUNT, /* calls to zcsi-node that may wait there, for a mount or for ZFS */
};

/* How many calls of a lane run at a time, each on a worker of its own. */
#define LANE_BOUNDS                                                                                \
	{                                                                                          \
		[LANE_READ] = 8, [LANE_CHANGE] = 16, [LANE_NODE] = 4, [LANE_MOUNT] = 8             \
	}

#define IDENTITY_METHODS(INLINE, PLAIN, KEYED, STREAM)                                             \
	INLINE(GetPluginInfo, get_plugin_info)                                                     \
	INLINE(GetPluginCapabilities, get_plugin_capabilities)                                     \
	INLINE(Probe, probe)

#define CONTROLLER_METHODS(INLINE, PLAIN, KEYED, STREAM)                                           \
	KEYED(CreateVolume, create_volume, name, LANE_CHANGE)                                      \
	KEYED(DeleteVolume, delete_volume, volume_id, LANE_CHANGE)                                 \
	KEYED(ControllerPublishVolume, controller_publish_volume, volume_id, LANE_CHANGE)          \
	KEYED(ControllerUnpublishVolume, controller_unpublish_volume, volume_id, LANE_CHANGE)      \
	KEYED(ValidateVolumeCapabilities, validate_volume_capabilities, volume_id)                 \
	KEYED(ControllerExpandVolume, controller_expand_volume, volume_id, LANE_CHANGE)            \
	KEYED(ControllerModifyVolume, controller_modify_volume, volume_id, LANE_CHANGE)            \
	KEYED(CreateSnapshot, create_snapshot, name, LANE_CHANGE)                                  \
	KEYED(DeleteSnapshot, delete_snapshot, snapshot_id, LANE_CHANGE)                           \
	PLAIN(ControllerGetVolume, controller_get_volume)                                          \
	PLAIN(ControllerGetVolumeHealth, controller_get_volume_health)                             \
	PLAIN(ControllerListVolumeHealth, controller_list_volume_health)                           \
	PLAIN(GetSnapshot, get_snapshot)                                                           \
	PLAIN(ListVolumes, list_volumes)                                                           \
	PLAIN(ListSnapshots, list_snapshots)                                                       \
	PLAIN(GetCapacity, get_capacity)                                                           \
	INLINE(ControllerGetCapabilities, controller_get_capabilities)

#define GROUP_METHODS(INLINE, PLAIN, KEYED, STREAM)                                                \
	KEYED(CreateVolumeGroupSnapshot, create_volume_group_snapshot, name, LANE_CHANGE)          \
	KEYED(DeleteVolumeGroupSnapshot, delete_volume_group_snapshot, group_snapshot_id,          \
	      LANE_CHANGE)                                                                         \
	PLAIN(GetVolumeGroupSnapshot, get_volume_group_snapshot)                                   \
	INLINE(GroupControllerGetCapabilities, group_controller_get_capabilities)

#define SERVICE_DECLARE_(Name, handler, ...)                                                       \
	int handler(struct rpc_call *call, const Name##Request *req, Name##Response *rsp,          \
		    struct error *err);
#define SERVICE_STREAM_(Name, handler) rpc_open_fn handler;

IDENTITY_METHODS(SERVICE_DECLARE_, SERVICE_DECLARE_, SERVICE_DECLARE_, SERVICE_STREAM_)
CONTROLLER_METHODS(SERVICE_DECLARE_, SERVICE_DECLARE_, SERVICE_DECLARE_, SERVICE_STREAM_)
GROUP_METHODS(SERVICE_DECLARE_, SERVICE_DECLARE_, SERVICE_DECLARE_, SERVICE_STREAM_)

/* For server_listen: all services, and all but csi.v1.Node (node.h). */
extern const struct rpc_service *const all_services[], *const controller_services[];

#endif
