/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_DUPLICATE_H
#define ZCSI_CONTROLLER_DUPLICATE_H

/* A volume that two agents have, because it was made again while the host of one was down. */

#include "controller/agents_ask.h"
#include "proto/agent.h"

/*
 * Decide which of two agents keeps a volume that both have. one, other: their answers to
 * GetDataset. If one of them has taken the volume over from the other, it keeps the volume. Else,
 * if a volume may be blank, ask the agents to settle it: the blank one goes to the trash. Returns
 * the answer of the agent that keeps the volume, or NULL if both still have theirs.
 */
const struct answer *duplicate_settle(struct rpc_call *call, const struct answer *one,
				      const struct answer *other);

#endif
