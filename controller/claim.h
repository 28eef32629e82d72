/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_CLAIM_H
#define ZCSI_CONTROLLER_CLAIM_H

/* Claims (agent.proto): numbers by which calls of all controllers for one name have an order. */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

/* Returns a claim later than all that this process made or learnt of. Any thread. */
uint64_t claim_next(void);
void claim_heard(uint64_t claim);
/* Before another attempt, so that two that hinder each other get out of step; false: no time. */
bool claim_pause(int64_t deadline);
/* The same after what was refused because another call has looked for the name since. */
bool claim_again(const struct error *err, int64_t deadline);

#endif
