/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLOCK_H
#define ZCSI_CLOCK_H

/* Time as every module counts it: milliseconds of CLOCK_MONOTONIC. A deadline is a point of it. */

#include <stdint.h>
#include <time.h>

#define NO_DEADLINE INT64_MAX

static inline int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* For what is measured rather than waited for. */
static inline int64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Returns the wall clock, to be compared with other hosts: microseconds since 1970. */
static inline int64_t wall_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Milliseconds until the deadline, never negative; INT64_MAX when there is none. */
static inline int64_t time_left_ms(int64_t deadline)
{
	if (deadline == NO_DEADLINE)
		return INT64_MAX;
	int64_t now = now_ms();
	return deadline > now ? deadline - now : 0;
}

#endif
