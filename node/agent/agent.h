/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_AGENT_H
#define ZCSI_NODE_AGENT_AGENT_H

/* Shared by the agent's handlers. Everything they return lives in the call's arena. */

#include "node/catalog/change.h"
#include "node/host/node.h"
#include "node/zfs/zfs.h"
#include "proto/agent.h"

#define AGENT_PAGE_MAX 1000

/* A dataset and a snapshot as the wire has them. */
Dataset *agent_dataset(struct arena *arena, const struct dataset *dataset);
DatasetSnapshot *agent_snapshot(struct arena *arena, const struct snapshot *snapshot);

/* Returns the format that a request asks for; NULL when there is none of that name. */
const struct format *agent_format(const CreateDatasetRequest *req);
/* The refreservation that keeps all of a dataset's size for it. */
const char *agent_reservation(struct arena *arena, const struct dataset *dataset);

/* How many to list, of a request's max. */
int agent_page(int32_t max, size_t *ret, struct error *err);
/* An id or a name of at most DATASET_ID_MAX bytes, which is not empty. */
int agent_text(const char *text, const char *field, struct error *err);

/*
 * zfs contradicts the catalog about a name, with *err: look at it again. -1: what is wrong with
 * the pool is in *err instead; 0: the pool is there, and *err as it was.
 */
int agent_reread(struct rpc_call *call, const char *zfs_name, struct error *err);
/*
 * A change of what has this name has failed with *err: the same, when that says that it is missing
 * or that zfs could not say.
 */
void agent_reread_on_error(struct rpc_call *call, const char *zfs_name, struct error *err);

/*
 * The one gate of every destructive verb on volumes: what ZFS has under this name now is under
 * our parent, bears our local property and records this id, and is the very dataset that the
 * catalog means. The answer is as fresh as the gate, and *ret_children says what else is below it.
 * NULL when it stays shut.
 */
struct dataset *agent_prove(struct arena *arena, const char *parent, const struct dataset *known,
			    size_t *ret_children, struct error *err);
/* FAILED_PRECONDITION with the place when the dataset is mounted on this host. */
int agent_check_unmounted(struct arena *arena, const char *name, struct error *err);

/* The catalog's claim on a snapshot's name. FAILED_PRECONDITION without a pool. */
int agent_lock_name_key(struct rpc_call *call, const char *name, char **ret_key, struct error *err);

#endif
