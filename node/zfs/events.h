/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_EVENTS_H
#define ZCSI_NODE_ZFS_EVENTS_H

/*
 * Parsing the output of `zpool events -Hfv` into the names that changed below a parent. An event is
 * a head line (time, tab, class), indented lines (name = value) and an empty line. Runs no program.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/record/dataset.h"

/* The changes that an event reports. */
struct changed {
	bool all; /* anything may have changed: events were lost, or one is not understood */
	size_t n; /* the number of names: the parent, volumes, trashed volumes, snapshots */
	char names[2][DATASET_NAME_MAX + 1];
};

/* The state of the parser. The caller zeroes it, then sets parent and optionally since. */
struct events {
	const char *parent;
	int64_t since;   /* milliseconds since 1970: ignore older events */
	bool open;       /* inside an event: after its head line, before its empty line */
	bool is_history; /* the event reports a change of a dataset */
	bool is_pool;    /* the event reports a change of a pool */
	int64_t time;    /* the time of the event, in milliseconds since 1970 */
	char pool[DATASET_NAME_MAX + 1], name[DATASET_NAME_MAX + 1];
	char verb[32], detail[DATASET_NAME_MAX + sizeof("-> ")];
};

/*
 * Parse one line, without its newline. Returns true if it completes an event that changed
 * anything; *ret has the changes. One thread at a time.
 */
bool events_line(struct events *events, const char *line, struct changed *ret);

#endif
