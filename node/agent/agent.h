/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_AGENT_H
#define ZCSI_NODE_AGENT_AGENT_H

/*
 * Functions that the handlers of zcsi.v1.Agent share. Results live in the arena. Functions that
 * return int return 0, or -1 with *err. Any worker thread.
 */

#include "node/catalog/change.h"
#include "node/host/node.h"
#include "node/zfs/zfs.h"
#include "proto/agent.h"

#define AGENT_PAGE_MAX 1000

/* Return the message for a dataset, with the known state of its copies, or for a snapshot. */
Dataset *agent_dataset(struct rpc_call *call, const struct dataset *dataset);
DatasetSnapshot *agent_snapshot(struct arena *arena, const struct snapshot *snapshot);

/* Returns the value of refreservation that reserves the full size of the dataset. */
const char *agent_reservation(struct arena *arena, const struct dataset *dataset);

/*
 * Set properties of a volume, and put `dataset`, which has them already, into the catalog. If ZFS
 * reports that the dataset is missing, the catalog reads it again before the call fails.
 */
int agent_set(struct rpc_call *call, struct dataset *dataset,
	      const struct zfs_properties *properties, struct error *err);

/* *ret is the page size for a request's max; 0 stands for AGENT_PAGE_MAX. */
int agent_page(int32_t max, size_t *ret, struct error *err);
/* Check an id or a name: 1 to DATASET_ID_MAX bytes; field: its name, for the error text. */
int agent_text(const char *text, const char *field, struct error *err);

/*
 * Read a dataset or snapshot from ZFS into the catalog again, after zfs contradicted the catalog.
 * Returns 0 and leaves *err as it was, or -1 with the pool's problem in *err.
 */
int agent_reread(struct rpc_call *call, const char *zfs_name, struct error *err);
/*
 * Call agent_reread after a change of this dataset or snapshot failed with *err, if the code is
 * ERR_NOT_FOUND or ERR_UNAVAILABLE.
 */
void agent_reread_on_error(struct rpc_call *call, const char *zfs_name, struct error *err);

/*
 * Read a volume's dataset from ZFS before it is destroyed or moved, and check that it still is that
 * volume: below the parent, with the id of `known` in its local zcsi: properties, and with the same
 * guid. Returns its present state, and *ret_children is the number of datasets below it; or NULL
 * with *err.
 */
struct dataset *agent_prove(struct arena *arena, const char *parent, const struct dataset *known,
			    size_t *ret_children, struct error *err);

/*
 * End a rename of a volume that was carried out or given up: set zcsi:volume to dataset->id alone,
 * which follows from the name of the dataset, and with --zfs-over-ssh set the mountpoint.
 */
int agent_end_rename(struct arena *arena, const struct dataset *dataset, struct error *err);

/*
 * Lock a snapshot's name; the caller unlocks *ret_key with catalog_unlock_key.
 * ERR_FAILED_PRECONDITION without a pool.
 */
int agent_lock_name_key(struct rpc_call *call, const char *name, char **ret_key, struct error *err);

#endif
