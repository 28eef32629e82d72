/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Making a claim.
 *
 * Invariant: a new claim is above the earlier one also if the clock was set back.
 */
#include "common/volume/claim.h"

#include <stdlib.h>

#include "common/clock.h"

uint64_t claim_above(uint64_t earlier)
{
	uint64_t us = (uint64_t)wall_us(), after = (earlier >> CLAIM_RANDOM_BITS) + 1;

	return (us > after ? us : after) << CLAIM_RANDOM_BITS |
	       arc4random_uniform(1U << CLAIM_RANDOM_BITS);
}
