/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_DUPLICATE_H
#define ZCSI_CONTROLLER_DUPLICATE_H

/* A volume that two agents have, because it was made again while the host of one was away. */

#include "controller/agents_ask.h"
#include "proto/agent.h"

/*
 * Decide which of the two is the volume: the one that was taken over from the other; or else ask
 * the agents to settle it, if one of them may be blank: that one goes to the trash. one, other:
 * answers to GetDataset. Returns the answer of the one that keeps the volume; NULL if both still
 * have it.
 */
const struct answer *duplicate_settle(struct rpc_call *call, const struct answer *one,
				      const struct answer *other);

#endif
