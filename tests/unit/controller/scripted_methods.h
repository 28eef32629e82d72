/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_SCRIPTED_METHODS_H
#define ZCSI_SCRIPTED_METHODS_H

/* The methods of the agents in memory: do_METHOD() answers one call of that method. */

#include "tests/unit/controller/scripted_agents.h"

struct client_call {
	struct client *client;
	struct arena *arena;
	const char *method;
	const void *request;
	int64_t deadline;
};

/* The claims of an agent. promise() answers a look-up that found nothing: it fails with NOT_FOUND,
 * or returns 0 with *ret_promised if a higher claim was promised before. keep() checks a claim
 * before a creation; it fails with ABORTED n_aborts times. */
int promise(struct client *client, uint64_t claim, uint64_t *ret_promised, struct error *err);
/* Returns the promise that the answer to a claim with a target contains. */
Promise *promise_for(struct client *client, struct arena *arena, uint64_t target);
int keep(struct client *client, uint64_t claim, struct error *err);

#define SCRIPTED_METHODS(METHOD)                                                                   \
	METHOD(GetHost, get_host)                                                                  \
	METHOD(GetDataset, get_dataset)                                                            \
	METHOD(CreateDataset, create_dataset)                                                      \
	METHOD(ResizeDataset, resize_dataset)                                                      \
	METHOD(ListNames, list_names)                                                              \
	METHOD(KeepHosts, keep_hosts)                                                              \
	METHOD(ListKnownHosts, list_known_hosts)                                                   \
	METHOD(KeepNames, keep_names)                                                              \
	METHOD(GetKeptNames, get_kept_names)                                                       \
	METHOD(ListDatasets, list_datasets)                                                        \
	METHOD(MoveDataset, move_dataset)                                                          \
	METHOD(GetDatasetMove, get_dataset_move)                                                   \
	METHOD(GetDatasetCopy, get_dataset_copy)                                                   \
	METHOD(AddBackup, add_backup)                                                              \
	METHOD(PublishDataset, publish_dataset)                                                    \
	METHOD(UnpublishDataset, unpublish_dataset)                                                \
	METHOD(DestroyDataset, destroy_dataset)                                                    \
	METHOD(SettleDataset, settle_dataset)                                                      \
	METHOD(ModifyDataset, modify_dataset)                                                      \
	METHOD(GetDatasetSnapshot, get_dataset_snapshot)                                           \
	METHOD(SnapshotDataset, snapshot_dataset)                                                  \
	METHOD(SnapshotGroup, snapshot_group)                                                      \
	METHOD(GetSnapshotGroup, get_snapshot_group)                                               \
	METHOD(ListDatasetSnapshots, list_dataset_snapshots)                                       \
	METHOD(DestroyDatasetSnapshot, destroy_dataset_snapshot)                                   \
	METHOD(ListTrash, list_trash)                                                              \
	METHOD(ListPushes, list_pushes)                                                            \
	METHOD(StartMove, start_move)                                                              \
	METHOD(ListMoves, list_moves)                                                              \
	METHOD(ListCopies, list_copies)                                                            \
	METHOD(ListBackups, list_backups)                                                          \
	METHOD(DropBackup, drop_backup)

#define DECLARE(Name, name)                                                                        \
	int do_##name(const struct client_call *begun, Name##Response **ret, struct error *err);
SCRIPTED_METHODS(DECLARE)
#undef DECLARE

Dataset *dataset_of(struct client *client, const char *id);
uint64_t next_guid(void);

#endif
