/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_SCHEDULED_H
#define ZCSI_NODE_RECORD_SCHEDULED_H

/*
 * The leaf of a snapshot that was taken by the schedule of its volume:
 *
 * 	vol@2026-11-26T17:00:01Z_hourly_daily
 *
 * Only the leaf says when the snapshot was taken and for which units of the schedule.
 * CreateSnapshot never makes such a leaf, because in an escaped name hexadecimal digits follow each
 * '_'. Pure.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/mem.h"
#include "common/volume/schedule.h"

struct scheduled {
	int64_t time;   /* seconds since 1970, UTC */
	unsigned units; /* a bit for each enum schedule_unit */
};

/* Returns the leaf, in the arena. */
char *scheduled_leaf(struct arena *arena, const struct scheduled *scheduled);
/* Returns false if the leaf is not that of a scheduled snapshot. */
bool scheduled_parse(const char *leaf, struct scheduled *ret);

#endif
