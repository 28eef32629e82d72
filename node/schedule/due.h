/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_SCHEDULE_DUE_H
#define ZCSI_NODE_SCHEDULE_DUE_H

/*
 * Which snapshots a schedule wants to be taken and destroyed. Days, weeks from Monday on, months
 * and years are those of UTC. Times are seconds since 1970. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/volume/schedule.h"
#include "node/record/scheduled.h"

/*
 * Returns the units (a bit mask: hourly, daily and so on) whose present period has no snapshot yet.
 */
unsigned due_units(const struct schedule *schedule, const struct scheduled *rows, size_t n,
		   int64_t now);
/*
 * Returns true if a snapshot, one of n, is to go: for each of its units (hourly, daily and so on)
 * the schedule keeps only newer snapshots, or none. Without a schedule all snapshots stay.
 */
bool due_to_go(const struct schedule *schedule, const struct scheduled *rows, size_t n,
	       const struct scheduled *row);

#endif
