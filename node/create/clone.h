/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CREATE_CLONE_H
#define ZCSI_NODE_CREATE_CLONE_H

/* Creating volumes from a snapshot or from another volume. */

#include "node/agent/agent.h"

/*
 * Create the dataset of a request as a clone. made->name is its ZFS name; made->source and
 * made->has_key are filled. properties: those to set on it; zcsi:source is added. Returns 0, or -1
 * with *err: ERR_NOT_FOUND if the source does not exist, ERR_OUT_OF_RANGE if the source is larger
 * than the requested size, ERR_INVALID_ARGUMENT if format or encryption differ. Blocks.
 */
int clone_dataset(struct rpc_call *call, const CreateDatasetRequest *req,
		  struct zfs_properties *properties, struct dataset *made, struct error *err);

#endif
