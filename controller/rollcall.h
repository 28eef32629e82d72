/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_ROLLCALL_H
#define ZCSI_CONTROLLER_ROLLCALL_H

/*
 * The roll call: each agent is asked at intervals for its identity, so that a problem is known and
 * logged before a call meets it. An agent whose identity changed, or is another agent's, is
 * refused: nothing says any more which pool holds a volume.
 */

#include "controller/roster.h"
#include "proto/agent.h"

/*
 * Ask them all, those that are named; log what has changed. Blocks, two seconds at most when every
 * name is known. lost_after: milliseconds without an answer; 0 is never. True: who is lost changed.
 */
bool rollcall(struct roster *roster, int64_t lost_after);
/*
 * Compare an agent's answer with its earlier ones. Returns -1 with ERR_FAILED_PRECONDITION when its
 * identity changed.
 */
int rollcall_recognise(struct roster *roster, const struct agent *agent,
		       const GetHostResponse *says, struct error *err);

#endif
