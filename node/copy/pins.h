/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_PINS_H
#define ZCSI_NODE_COPY_PINS_H

/*
 * The things that a volume keeps for its copies: our own snapshots, which pin data that was
 * overwritten since, and bookmarks, which pin nothing. A stream can begin at either. All functions
 * run programs. The caller has locked the volume's copies (push_lock).
 */

#include "node/copy/history.h"

#define PIN_MOST_S  (24 * 3600) /* after so long a snapshot of our own goes */
#define PIN_LARGE_S 3600        /* one that holds more than a part of the volume's size */
#define PIN_PART    10

/*
 * Move a copy's bookmark to a snapshot that has arrived there. Until it is there again, the
 * snapshot itself is the point to begin from. others: how many more copies there are. Returns 0, or
 * -1 with *err.
 */
int pins_arrived(struct arena *arena, const struct history *history, const char *bookmark,
		 const struct point *last, size_t others, struct error *err);
/* Destroy our own snapshots but those with these n guids. One that is being sent stays. */
void pins_thin(const struct history *history, const uint64_t *keep, size_t n);
/*
 * Destroy our own snapshots that pin too much, and leave a bookmark of each. size: of the volume,
 * 0: unlimited; idle: for how many seconds nothing was sent to a copy.
 */
void pins_limit(struct arena *arena, const struct history *history, int64_t size, int64_t idle);
/* Returns true if a snapshot of our own pins too much at a time. Runs no program. */
bool pins_too_much(const struct point *snapshot, int64_t size, int64_t idle, int64_t now);
/* Destroy all of our own snapshots, and what pins_limit left. Returns 0, or -1 with *err. */
int pins_end(struct arena *arena, const char *dataset, struct error *err);

#endif
