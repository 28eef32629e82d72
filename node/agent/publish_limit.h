/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_PUBLISH_LIMIT_H
#define ZCSI_NODE_AGENT_PUBLISH_LIMIT_H

/* The limit --max-volumes: how many volumes of this pool may be published to one node at a time. */

#include "node/host/node.h"

/*
 * Check that one more volume may be published to the node. Returns 0, or -1 with *err:
 * ERR_RESOURCE_EXHAUSTED if the node has --max-volumes already. One thread at a time per node.
 */
int publish_limit_check(struct rpc_call *call, const char *node_id, struct error *err);

#endif
