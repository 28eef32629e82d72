/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_SERVICE_H
#define ZCSI_NODE_SERVICE_H

/*
 * All RPCs that zcsi-node serves, and how each is run (transport/service.h). The handlers get their
 * prototypes here. KEYED calls of all services for one id share a queue, so a volume is not
 * destroyed while it is staged. The last word of a row is the lane of its calls (node/lanes.h).
 */

#include "node/copy/methods.h"
#include "node/lanes.h"
#include "proto/agent.h"
#include "proto/copy.h"
#include "proto/csi.h"
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

#define AGENT_METHODS(INLINE, PLAIN, KEYED, STREAM)                                                \
	INLINE(GetHost, get_host)                                                                  \
	PLAIN(ListNames, list_names, LANE_READ)                                                    \
	PLAIN(KeepHosts, keep_hosts, LANE_KEEP)                                                    \
	PLAIN(ListKnownHosts, list_known_hosts, LANE_KEEP)                                         \
	PLAIN(KeepNames, keep_names, LANE_KEEP)                                                    \
	PLAIN(GetKeptNames, get_kept_names, LANE_KEEP)                                             \
	PLAIN(ListDatasets, list_datasets, LANE_READ)                                              \
	PLAIN(GetDatasetSnapshot, get_dataset_snapshot, LANE_LOOKUP)                               \
	PLAIN(ListDatasetSnapshots, list_dataset_snapshots, LANE_READ)                             \
	KEYED(CreateDataset, create_dataset, id, LANE_CHANGE)                                      \
	KEYED(AdoptDataset, adopt_dataset, id, LANE_CHANGE)                                        \
	KEYED(GetDataset, get_dataset, id, LANE_READ)                                              \
	KEYED(ResizeDataset, resize_dataset, id, LANE_CHANGE)                                      \
	KEYED(ModifyDataset, modify_dataset, id, LANE_CHANGE)                                      \
	KEYED(RollbackDataset, rollback_dataset, id, LANE_CHANGE)                                  \
	KEYED(MoveDataset, move_dataset, id, LANE_COPY)                                            \
	INLINE(GetDatasetMove, get_dataset_move)                                                   \
	PLAIN(GetDatasetCopy, get_dataset_copy, LANE_LOOKUP)                                       \
	KEYED(DestroyDataset, destroy_dataset, id, LANE_CHANGE)                                    \
	PLAIN(ListTrash, list_trash, LANE_READ)                                                    \
	KEYED(RestoreDataset, restore_dataset, id, LANE_CHANGE)                                    \
	KEYED(DestroyTrashedDataset, destroy_trashed_dataset, id, LANE_CHANGE)                     \
	KEYED(SettleDataset, settle_dataset, id, LANE_CHANGE)                                      \
	KEYED(PublishDataset, publish_dataset, id, LANE_CHANGE)                                    \
	KEYED(UnpublishDataset, unpublish_dataset, id, LANE_CHANGE)                                \
	KEYED(GetDatasetUse, get_dataset_use, id, LANE_READ)                                       \
	KEYED(SnapshotDataset, snapshot_dataset, id, LANE_CHANGE)                                  \
	KEYED(SnapshotGroup, snapshot_group, group, LANE_CHANGE)                                   \
	KEYED(GetSnapshotGroup, get_snapshot_group, group, LANE_READ)                              \
	KEYED(DestroyDatasetSnapshot, destroy_dataset_snapshot, id, LANE_CHANGE)

#define HANDLER_(Name, handler, ...)                                                               \
	int handler(struct rpc_call *call, const Name##Request *req, Name##Response *rsp,          \
		    struct error *err);
#define STREAM_(Name, handler) rpc_open_fn handler;

IDENTITY_METHODS(HANDLER_, HANDLER_, HANDLER_, STREAM_)
NODE_METHODS(HANDLER_, HANDLER_, HANDLER_, STREAM_)
AGENT_METHODS(HANDLER_, HANDLER_, HANDLER_, STREAM_)
COPY_METHODS(HANDLER_, HANDLER_, HANDLER_, STREAM_)
REPLICA_METHODS(HANDLER_, HANDLER_, HANDLER_, STREAM_)
BACKUP_METHODS(HANDLER_, HANDLER_, HANDLER_, STREAM_)
#undef HANDLER_
#undef STREAM_
extern const struct rpc_service identity_service, node_service, agent_service, copy_service,
	replica_service, backup_service;

#endif
