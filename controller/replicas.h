/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_REPLICAS_H
#define ZCSI_CONTROLLER_REPLICAS_H

#include "controller/hosts.h"
#include "controller/parameters.h"

/*
 * Choose the nodes that are to have copies of a new volume, and put them with the volume's own
 * agent into the request; none if the parameters ask for no copies. How copies are pushed is put
 * there in any case, because a copy may be added later. Returns 0, or -1:
 * ERR_RESOURCE_EXHAUSTED, which says of each host why it is none of them, or ERR_UNAVAILABLE if too
 * few answer.
 */
int replicas_choose(struct rpc_call *call, const char *name, const struct parameters *parameters,
		    const struct agent *agent, CreateDatasetRequest *request, struct error *err);

#endif
