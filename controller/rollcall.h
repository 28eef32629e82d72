/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_ROLLCALL_H
#define ZCSI_CONTROLLER_ROLLCALL_H

/*
 * Who the agents are: each is asked now and then, so that what is wrong with one is known, logged
 * and told before a call needs it. One that is not who it was, or says that it is who another is,
 * is refused: nobody can tell any more which pool holds a volume.
 */

#include "controller/roster.h"
#include "proto/agent.h"

/*
 * Ask them all, those that are named; log what has changed. Blocks, two seconds at most when every
 * name is known. lost_after: milliseconds without an answer; 0 is never. True: who is lost changed.
 */
bool rollcall(struct roster *roster, int64_t lost_after);
/* What an agent says of itself is what it said before; else *err, ERR_FAILED_PRECONDITION. */
int rollcall_recognise(struct roster *roster, const struct agent *agent,
		       const GetHostResponse *says, struct error *err);

#endif
