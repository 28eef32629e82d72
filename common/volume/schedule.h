/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_VOLUME_SCHEDULE_H
#define ZCSI_VOLUME_SCHEDULE_H

/*
 * The schedule of a volume's snapshots, as its parameter keep has it: "hourly=24,daily=30" takes a
 * snapshot in each hour and each day, and keeps the newest 24 and 30 of these. Pure.
 */

#include <stdbool.h>

#define SCHEDULE_KEEP_MAX 1000 /* snapshots of one unit */

/* The units, the shortest first. A snapshot may be taken for several of them. */
enum schedule_unit {
	SCHEDULE_FREQUENTLY, /* a quarter of an hour */
	SCHEDULE_HOURLY,
	SCHEDULE_DAILY,
	SCHEDULE_WEEKLY,
	SCHEDULE_MONTHLY,
	SCHEDULE_YEARLY,
	SCHEDULE_UNITS
};

extern const char *const schedule_names[SCHEDULE_UNITS];

struct schedule {
	unsigned keep[SCHEDULE_UNITS]; /* how many snapshots; 0: none are taken */
};

/*
 * Parse the value of the parameter keep: units with their numbers, or "none", with which no
 * snapshot is taken or destroyed. Returns false if it is neither, or names a unit twice.
 */
bool schedule_parse(const char *text, struct schedule *ret);
/* Returns true if snapshots are to be taken. */
bool schedule_is_set(const struct schedule *schedule);

#endif
