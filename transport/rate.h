/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_RATE_H
#define ZCSI_RATE_H

/* How often something happened in the last seconds (limits.h: rate_ms). Zeroed is never. */

#include <stdbool.h>

#include "common/clock.h"

struct rate {
	int64_t since;
	unsigned count;
};

/* Count n more events. Returns true when there were more than most in the current period of ms. */
static inline bool rate_exceeds(struct rate *rate, unsigned n, unsigned most, int64_t ms)
{
	int64_t now = now_ms();

	if (now - rate->since > ms)
		*rate = (struct rate){.since = now};
	rate->count += n;
	return rate->count > most;
}

#endif
