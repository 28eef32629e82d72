/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_PUBLISH_LIMIT_H
#define ZCSI_NODE_AGENT_PUBLISH_LIMIT_H

/* --max-volumes: how many of this pool's volumes may be published to one node at a time. */

#include "node/host/node.h"

/* ERR_RESOURCE_EXHAUSTED when the node has as many as it may. */
int publish_limit_check(struct rpc_call *call, const char *node_id, struct error *err);

#endif
