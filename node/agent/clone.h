/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_CLONE_H
#define ZCSI_NODE_AGENT_CLONE_H

/* Volumes made from a snapshot or from another volume. */

#include "node/agent/agent.h"

/*
 * Make the dataset of a request as a clone, with these properties besides its own, and complete
 * what is known of it. NOT_FOUND when the source is not there, OUT_OF_RANGE when it is larger.
 */
int clone_dataset(struct rpc_call *call, const CreateDatasetRequest *req,
		  struct zfs_properties *properties, struct dataset *made, struct error *err);

#endif
