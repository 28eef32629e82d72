/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The rules of schedules.
 *
 * Invariant: a period is compared for equality only, and snapshots are counted, not aged. So no
 * change of the clock makes zcsi destroy more: a snapshot goes only when enough newer ones of its
 * units (hourly, daily and so on) were taken.
 */
#include "node/schedule/due.h"

#include <time.h>

#define QUARTER 900
#define HOUR    3600
#define DAY     86400

static int64_t year_of(int64_t at)
{
	const time_t time = at;
	struct tm utc = {0};

	gmtime_r(&time, &utc);
	return utc.tm_year;
}

static int64_t month_of(int64_t at)
{
	const time_t time = at;
	struct tm utc = {0};

	gmtime_r(&time, &utc);
	return 12 * (int64_t)utc.tm_year + utc.tm_mon;
}

/* Returns the number of the hour, day or other unit that contains a time. */
static int64_t period(enum schedule_unit unit, int64_t at)
{
	switch (unit) {
	case SCHEDULE_FREQUENTLY:
		return at / QUARTER;
	case SCHEDULE_HOURLY:
		return at / HOUR;
	case SCHEDULE_DAILY:
		return at / DAY;
	case SCHEDULE_WEEKLY:
		return (at / DAY + 3) / 7; /* the first day of 1970 was a Thursday */
	case SCHEDULE_MONTHLY:
		return month_of(at);
	case SCHEDULE_YEARLY:
	case SCHEDULE_UNITS:
		break;
	}
	return year_of(at);
}

static bool has_one(enum schedule_unit unit, const struct scheduled *rows, size_t n, int64_t now)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].units & 1U << unit && period(unit, rows[i].time) == period(unit, now))
			return true;
	return false;
}

unsigned due_units(const struct schedule *schedule, const struct scheduled *rows, size_t n,
		   int64_t now)
{
	unsigned units = 0;

	for (enum schedule_unit unit = 0; unit < SCHEDULE_UNITS; unit++)
		if (schedule->keep[unit] && !has_one(unit, rows, n, now))
			units |= 1U << unit;
	return units;
}

static unsigned count_newer(enum schedule_unit unit, const struct scheduled *rows, size_t n,
			    int64_t than)
{
	unsigned newer = 0;

	for (size_t i = 0; i < n; i++)
		newer += rows[i].units & 1U << unit && rows[i].time > than;
	return newer;
}

bool due_to_go(const struct schedule *schedule, const struct scheduled *rows, size_t n,
	       const struct scheduled *row)
{
	for (enum schedule_unit unit = 0; unit < SCHEDULE_UNITS; unit++)
		if (row->units & 1U << unit &&
		    count_newer(unit, rows, n, row->time) < schedule->keep[unit])
			return false;
	return schedule_is_set(schedule);
}
