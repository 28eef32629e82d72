/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_EVENTS_H
#define ZCSI_NODE_ZFS_EVENTS_H

/*
 * What `zpool events -Hfv` prints, as the names of what was changed below a parent. An event is a
 * head line (time, tab, class), indented lines (name = value), and an empty line. Runs no program.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/record/dataset.h"

/* What an event tells of the parent and what is below it. */
struct news {
	bool all; /* anything may have changed: it was lost, or is not understood */
	size_t n; /* else these: the parent; datasets right below it or its trash; snapshots */
	char names[2][DATASET_NAME_MAX + 1];
};

/* Between the lines; all zero at the beginning but the parent and, maybe, since. */
struct events {
	const char *parent;
	int64_t since; /* milliseconds since 1970: what is older is no news */
	bool open;     /* a head line came and its empty line did not */
	bool history;  /* it tells a change of a dataset */
	bool whole;    /* it tells a change of a pool */
	int64_t time;  /* when it happened */
	char pool[DATASET_NAME_MAX + 1], name[DATASET_NAME_MAX + 1];
	char verb[32], detail[DATASET_NAME_MAX + sizeof("-> ")];
};

/* True when this line ends an event that has news for the parent. */
bool events_line(struct events *events, const char *line, struct news *ret);

#endif
