/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_CLAIM_H
#define ZCSI_CONTROLLER_CLAIM_H

/*
 * Claims (agent.proto): numbers that put the calls of all controllers for one name in an order. Any
 * thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "controller/roster.h"
#include "proto/agent.h"

/*
 * Returns a claim that is higher than all earlier ones of this process, and than all given to
 * claim_heard.
 */
uint64_t claim_next(void);
/* Record a claim of another controller, so that claim_next returns a higher one. */
void claim_heard(uint64_t claim);
/* Returns when a claim was made, by the clock of its controller: microseconds since 1970. */
uint64_t claim_us(uint64_t claim);
/*
 * Sleep for a random time before another attempt, so that two controllers that block each other get
 * out of step. Returns false at once if too little time is left before the deadline.
 */
bool claim_pause(int64_t deadline);
/*
 * Returns true, after claim_pause, if a request that failed with *err should be repeated: *err is
 * ERR_ABORTED because another call made a later claim for the name. Otherwise returns false.
 */
bool claim_again(const struct error *err, int64_t deadline);

/* An agent's answer to a claim; promise is NULL if there is none: no answer, or no pool. */
struct claim_answer {
	const struct agent *agent;
	const Promise *promise;
};

/*
 * The agents' answers to a claim of a name, whose hash is `name`, for an object that is to be
 * created at one of these agents.
 */
struct claim_answers {
	struct claim_answer *list;
	size_t n;
	uint64_t name;
};

/*
 * Returns true if the name cannot be at this agent, which did not answer, nor be created there any
 * more for a claim that the others promised: see "A host that does not answer" in README.md.
 */
bool claim_excludes(struct roster *roster, const struct claim_answers *answers,
		    const struct agent *silent);
/*
 * ERR_UNAVAILABLE, with `what`, if the name may have been created on a host that no agent answers
 * for, because another controller claimed it for that host.
 */
int claim_check_targets(struct roster *roster, const struct claim_answers *answers,
			const char *what, struct error *err);

#endif
