/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_ROLL_ROUND_H
#define ZCSI_CONTROLLER_ROLL_ROUND_H

/* A call to several agents outside of any RPC, for the roll call. */

#include "controller/roster.h"
#include "proto/agent.h"

struct round {
	struct roster *roster;
	struct agent_set *set;
	struct arena *arena;
	const char *method;
	const ProtobufCMessage *request;
	struct agent **list; /* the agents to call; it has room for all of the set */
	size_t n;
	/* Use the answer of an agent, with the roster's lock; NULL: it failed with *err. */
	void (*use)(struct round *round, struct agent *agent, const void *answer,
		    const struct error *err);
	void *arg;
};

/* Returns a round with an empty list of agents, whose memory is in the arena. */
struct round round_begin(struct roster *roster, struct agent_set *set, struct arena *arena);
/* Call the agents, a few at a time and each for two seconds at most, and use their answers. */
void round_ask(struct round *round);

#endif
