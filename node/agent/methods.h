/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_METHODS_H
#define ZCSI_NODE_AGENT_METHODS_H

/*
 * The rows of the table of methods (node/service.h) for zcsi.v1.Agent, which controllers and
 * operators call.
 */

#define AGENT_METHODS(INLINE, PLAIN, KEYED, STREAM)                                                \
	INLINE(GetHost, get_host)                                                                  \
	PLAIN(CheckHost, check_host, LANE_CHECK)                                                   \
	PLAIN(ListNames, list_names, LANE_LIST)                                                    \
	PLAIN(KeepHosts, keep_hosts, LANE_KEEP)                                                    \
	PLAIN(ListKnownHosts, list_known_hosts, LANE_KEEP)                                         \
	PLAIN(KeepNames, keep_names, LANE_KEEP)                                                    \
	PLAIN(GetKeptNames, get_kept_names, LANE_KEEP)                                             \
	PLAIN(ListDatasets, list_datasets, LANE_LIST)                                              \
	PLAIN(GetDatasetSnapshot, get_dataset_snapshot, LANE_LOOKUP)                               \
	PLAIN(ListDatasetSnapshots, list_dataset_snapshots, LANE_LIST)                             \
	KEYED(CreateDataset, create_dataset, id, LANE_CHANGE)                                      \
	KEYED(AdoptDataset, adopt_dataset, id, LANE_CHANGE)                                        \
	KEYED(GetDataset, get_dataset, id, LANE_READ)                                              \
	KEYED(ResizeDataset, resize_dataset, id, LANE_CHANGE)                                      \
	KEYED(ModifyDataset, modify_dataset, id, LANE_CHANGE)                                      \
	KEYED(RollbackDataset, rollback_dataset, id, LANE_CHANGE)                                  \
	KEYED(RenameDataset, rename_dataset, id, LANE_CHANGE)                                      \
	KEYED(DetachDataset, detach_dataset, id, LANE_CHANGE)                                      \
	INLINE(GetDatasetDetach, get_dataset_detach)                                               \
	KEYED(MoveDataset, move_dataset, id, LANE_COPY)                                            \
	INLINE(GetDatasetMove, get_dataset_move)                                                   \
	PLAIN(GetDatasetCopy, get_dataset_copy, LANE_LOOKUP)                                       \
	PLAIN(AddBackup, add_backup, LANE_LOOKUP)                                                  \
	KEYED(DestroyDataset, destroy_dataset, id, LANE_CHANGE)                                    \
	PLAIN(ListTrash, list_trash, LANE_LIST)                                                    \
	KEYED(RestoreDataset, restore_dataset, id, LANE_CHANGE)                                    \
	KEYED(DestroyTrashedDataset, destroy_trashed_dataset, id, LANE_CHANGE)                     \
	KEYED(SettleDataset, settle_dataset, id, LANE_CHANGE)                                      \
	KEYED(PublishDataset, publish_dataset, id, LANE_CHANGE)                                    \
	KEYED(UnpublishDataset, unpublish_dataset, id, LANE_CHANGE)                                \
	KEYED(GetDatasetUse, get_dataset_use, id, LANE_READ)                                       \
	KEYED(SnapshotDataset, snapshot_dataset, id, LANE_CHANGE)                                  \
	KEYED(SnapshotGroup, snapshot_group, group, LANE_CHANGE)                                   \
	KEYED(GetSnapshotGroup, get_snapshot_group, group, LANE_LIST)                              \
	KEYED(DestroyDatasetSnapshot, destroy_dataset_snapshot, id, LANE_CHANGE)

#endif
