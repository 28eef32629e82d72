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

/* Returns the units, as in struct scheduled, of which the present period has no snapshot yet. */
unsigned due_units(const struct schedule *schedule, const struct scheduled *rows, size_t n,
		   int64_t now);
/*
 * Returns true if a snapshot, one of n, is to go: of each of its units the schedule keeps only
 * newer ones, or none. With a schedule that is not set all stay.
 */
bool due_to_go(const struct schedule *schedule, const struct scheduled *rows, size_t n,
	       const struct scheduled *row);

#endif
