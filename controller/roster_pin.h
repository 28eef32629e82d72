/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_ROSTER_PIN_H
#define ZCSI_CONTROLLER_ROSTER_PIN_H

/* The set of agents that an RPC uses from its first use until it ends. Any thread. */

#include "controller/roster.h"

/* The agents that an RPC asks, and the epoch when it pinned them. Released with its arena. */
struct pin {
	struct roster *roster;
	struct agent_set *set;
	unsigned epoch;
};
const struct pin *roster_pin(struct roster *roster, struct rpc_call *call);

#endif
