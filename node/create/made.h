/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CREATE_MADE_H
#define ZCSI_NODE_CREATE_MADE_H

/*
 * The steps that CreateDataset and AdoptDataset have in common. Results live in the arena. Any
 * worker thread.
 */

#include "node/catalog/change.h"
#include "node/zfs/zfs.h"
#include "transport/rpc.h"

/* Returns the format of a request, zfs for ""; NULL if there is none of that name. */
const struct format *made_format(const char *name);
/* Check that zcsi makes volumes of this format. name: as the request has it. format may be NULL. */
int made_check_format(const char *id, const char *name, const struct format *format,
		      struct error *err);
/*
 * Add the native properties of a volume's format. A zvol that is no clone gets its size and its
 * reservation by the arguments of `zfs create`, or has them already if it was received.
 */
void made_properties(struct arena *arena, const struct dataset *made, bool clone,
		     struct zfs_properties *properties);
/*
 * Read a dataset that exists, as zfs reported, though the catalog does not have it. Returns 0 with
 * *ret if it is the volume, or -1 with *err: ERR_ALREADY_EXISTS if it is no volume. Blocks.
 */
int made_already(struct rpc_call *call, const char *id, const char *name, struct dataset **ret,
		 struct error *err);
/* Put a new volume into the catalog, and start its schedule. Returns a copy of it. */
struct dataset *made_put(struct rpc_call *call, const struct dataset *made);
/*
 * Unload the key that `zfs create` leaves loaded, because only staging loads keys. An error is
 * logged. Blocks.
 */
void made_unload_key(struct rpc_call *call, const struct dataset *dataset);

#endif
