/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_CLAIM_H
#define ZCSI_CONTROLLER_CLAIM_H

/*
 * Claims (agent.proto): numbers that put the calls of all controllers for one name in an order. Any
 * thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

/* Returns a claim that is higher than every earlier one of this process and of claim_heard. */
uint64_t claim_next(void);
/* Record a claim of another controller, so that claim_next returns a higher one. */
void claim_heard(uint64_t claim);
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

#endif
