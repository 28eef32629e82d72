/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_RATE_H
#define ZCSI_RATE_H

/* A count of events in the current period (limits.h: rate_ms). A zeroed rate has no events. */

#include <stdbool.h>

#include "common/clock.h"

struct rate {
	int64_t since;  /* start of the current period, now_ms() */
	unsigned count; /* events in the current period */
};

/* Count n events. Returns true if the current period of ms has more than `most` events. */
static inline bool rate_exceeds(struct rate *rate, unsigned n, unsigned most, int64_t ms)
{
	int64_t now = now_ms();

	if (now - rate->since > ms)
		*rate = (struct rate){.since = now};
	rate->count += n;
	return rate->count > most;
}

#endif
