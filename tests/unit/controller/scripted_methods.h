/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_SCRIPTED_METHODS_H
#define ZCSI_SCRIPTED_METHODS_H

/* What the agents in memory answer: a do_ for each method. */

#include "tests/unit/controller/scripted_agents.h"

struct client_call {
	struct client *client;
	struct arena *arena;
	const char *method;
	const void *request;
};

/* As the agent's: for what is not there, and before it is made. */
int promise(struct client *client, uint64_t claim, uint64_t *ret_promised, struct error *err);
int keep(struct client *client, uint64_t claim, struct error *err);

#define SCRIPTED_METHODS(METHOD)                                                                   \
	METHOD(GetHost, get_host)                                                                  \
	METHOD(GetDataset, get_dataset)                                                            \
	METHOD(CreateDataset, create_dataset)                                                      \
	METHOD(ResizeDataset, resize_dataset)                                                      \
	METHOD(ListDatasets, list_datasets)                                                        \
	METHOD(PublishDataset, publish_dataset)                                                    \
	METHOD(UnpublishDataset, unpublish_dataset)                                                \
	METHOD(DestroyDataset, destroy_dataset)                                                    \
	METHOD(ModifyDataset, modify_dataset)                                                      \
	METHOD(GetDatasetSnapshot, get_dataset_snapshot)                                           \
	METHOD(SnapshotDataset, snapshot_dataset)                                                  \
	METHOD(SnapshotGroup, snapshot_group)                                                      \
	METHOD(GetSnapshotGroup, get_snapshot_group)                                               \
	METHOD(ListDatasetSnapshots, list_dataset_snapshots)                                       \
	METHOD(DestroyDatasetSnapshot, destroy_dataset_snapshot)

#define DECLARE(Name, name)                                                                        \
	int do_##name(const struct client_call *begun, Name##Response **ret, struct error *err);
SCRIPTED_METHODS(DECLARE)
#undef DECLARE

Dataset *dataset_of(struct client *client, const char *id);
uint64_t next_guid(void);

#endif
