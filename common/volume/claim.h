/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_VOLUME_CLAIM_H
#define ZCSI_VOLUME_CLAIM_H

/*
 * The form of a claim (controller/README.md): the low bits are random, the others the microseconds
 * since 1970 at which it was made, by the clock of the controller or of zcsi. Any thread.
 */

#include <stdint.h>

#define CLAIM_RANDOM_BITS 12

/*
 * Microseconds by which that clock may be ahead of an agent's. After a boot an agent promises only
 * claims that are ahead of its own clock by this much.
 */
#define CLAIM_AHEAD_US    (60 * (uint64_t)1000000)

/* Returns a claim that is made now and is higher than an earlier one. */
uint64_t claim_above(uint64_t earlier);

#endif
