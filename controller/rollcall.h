/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_ROLLCALL_H
#define ZCSI_CONTROLLER_ROLLCALL_H

/*
 * The roll call: at intervals every agent is asked for its identity (node id, pool and dataset), so
 * that a problem is logged before an RPC fails because of it. An agent whose identity changed, or
 * is the same as another agent's, is refused: RPCs that need it fail, because it may have the wrong
 * pool.
 */

#include "controller/roster.h"
#include "proto/agent.h"

/*
 * Ask all named agents, and log changes. Blocks for two seconds at most, plus the time to look up
 * host names, and to read names of volumes that have changed (roll_names.h). lost_after:
 * milliseconds without an answer until an agent counts as lost; 0: never. Returns true if the set
 * of lost agents changed.
 */
bool rollcall(struct roster *roster, int64_t lost_after);
/*
 * Compare the identity in an agent's answer with the one that it reported first. Returns 0, or -1
 * with ERR_FAILED_PRECONDITION if it changed.
 */
int rollcall_recognise(struct roster *roster, const struct agent *agent,
		       const GetHostResponse *says, struct error *err);

#endif
