/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLOCK_H
#define ZCSI_CLOCK_H

/* Times of all modules: milliseconds of CLOCK_MONOTONIC. A deadline is a value of now_ms(). */

#include <stdint.h>
#include <time.h>

#define NO_DEADLINE INT64_MAX

/* Returns the monotonic clock in milliseconds. */
static inline int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Returns the monotonic clock in microseconds, for measurements. */
static inline int64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Returns the wall clock in microseconds since 1970, for comparison with other hosts. */
static inline int64_t wall_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

#define UTC_SIZE 32 /* bytes of utc_text, with its NUL */

/* Write a time, in seconds since 1970, like "2026-11-28T10:27:43Z". Returns ret. */
static inline const char *utc_text(char ret[UTC_SIZE], time_t at)
{
	struct tm utc;

	strftime(ret, UTC_SIZE, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &utc));
	return ret;
}

/* Returns the milliseconds until a deadline: 0 if it has passed, INT64_MAX for NO_DEADLINE. */
static inline int64_t time_left_ms(int64_t deadline)
{
	if (deadline == NO_DEADLINE)
		return INT64_MAX;
	int64_t now = now_ms();
	return deadline > now ? deadline - now : 0;
}

#endif
