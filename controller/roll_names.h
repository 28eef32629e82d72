/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_ROLL_NAMES_H
#define ZCSI_CONTROLLER_ROLL_NAMES_H

/* The part of the roll call that reads the names of the agents whose names have changed. */

#include "controller/roster.h"
#include "proto/agent.h"

/* An agent, and its answer to the roll call, which has the version of its names. */
struct roll_names {
	struct agent *agent;
	const GetHostResponse *says;
};

/*
 * Begin a roll call, before an agent of the set is asked. A name that was added before is in what
 * the agent says then: among the names that it may create, or among those that are read later.
 */
void roll_names_begin(struct roster *roster, const struct agent_set *set);
/*
 * Read the names of the n agents of the list whose names have changed. An agent that does not
 * answer in time keeps the names known before, and is read in the next roll call.
 */
void roll_names(struct roster *roster, struct arena *arena, const struct roll_names *list,
		size_t n);

#endif
