/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_REPLICAS_H
#define ZCSI_CONTROLLER_REPLICAS_H

#include <stdbool.h>

#include "controller/hosts.h"
#include "controller/request/parameters.h"

/* Returns true if the volume has, or is to have, a copy on the node. */
bool replicas_have(const Dataset *dataset, const char *node_id);
/* Returns why a host takes no copies of any volume, or NULL. */
const char *replicas_refusal(const GetHostResponse *host);
/*
 * Choose the nodes that are to have copies of a new volume, and put them, after the volume's own
 * node, into the request; none if the parameters ask for no copies. Returns 0, or -1:
 * ERR_RESOURCE_EXHAUSTED, which says of each host why it is none of them, or ERR_UNAVAILABLE if the
 * agent of the volume's own node does not answer.
 */
int replicas_choose(struct rpc_call *call, const char *name, const struct parameters *parameters,
		    const struct agent *agent, CreateDatasetRequest *request, struct error *err);
/*
 * Put into the request on how many nodes a volume is to be, and, if it is on fewer now, the nodes
 * that can have a further copy, the best first. Returns 0, or -1 as replicas_choose does.
 */
int replicas_modify(struct rpc_call *call, const struct owner *owner,
		    const struct parameters *parameters, ModifyDatasetRequest *request,
		    struct error *err);

#endif
