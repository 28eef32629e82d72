/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_PINS_H
#define ZCSI_NODE_COPY_PINS_H

/*
 * The things that a volume keeps for its copies: snapshots of our own, which zcsi takes for copies
 * and which pin data that was overwritten since, and bookmarks, which pin nothing. A stream can
 * begin at either. Functions run programs unless they say otherwise; callers have called push_lock.
 */

#include "node/copy/history.h"

#define PIN_MOST_S  (24 * 3600) /* the default of pin_limit (struct push_rules) */
#define PIN_LARGE_S 3600        /* for a snapshot that pins more than size / PIN_PART bytes */
#define PIN_PART    10

/*
 * The snapshots of our own that a copy needs. Until its node has answered since zcsi-node was
 * started, these are all from its bookmark to the newest one at the time of push_known.
 */
struct pins_need {
	const char *bookmark; /* the copy's */
	bool heard;           /* the node has answered, or there was no snapshot of our own */
	uint64_t has;         /* once heard: its newest snapshot that is here too; 0: none */
	/*
	 * Once heard: the snapshot with which an interrupted stream may end; 0: none. Before: the
	 * newest snapshot of our own when push_known was called; 0: not called yet.
	 */
	uint64_t to;
};

/*
 * Move a copy's bookmark to `last`, a snapshot that has arrived there, and destroy spare bookmarks
 * (pins_spare, pins_limit) that no copy needs. others: the number of the volume's other copies.
 * Returns 0, or -1 with *err.
 */
int pins_arrived(struct arena *arena, const struct history *history, const char *bookmark,
		 const struct point *last, size_t others, struct error *err);
/* Make a spare bookmark of a snapshot, unless it has one. Returns 0, or -1 with *err. */
int pins_spare(struct arena *arena, const struct history *history, const struct point *snapshot,
	       struct error *err);
/*
 * Destroy our own snapshots that none of n copies needs, except the newest one. Each push calls
 * this, also if it fails. Other than this, only pins_limit and pins_end destroy such snapshots.
 */
void pins_thin(const struct history *history, const struct pins_need *needs, size_t n);
/* Returns true if one of n copies needs a snapshot of our own, or may need it. Runs no program. */
bool pins_need(const struct pins_need *needs, size_t n, const struct history *history,
	       const struct point *snapshot);
/* Limits for the data that snapshots of our own pin. */
struct pins_bounds {
	int64_t size; /* the volume's; 0: unlimited */
	int64_t idle; /* seconds since data was last sent to a copy */
	int64_t most; /* seconds for which a snapshot is kept; 0: PIN_MOST_S */
};
/* Destroy our own snapshots that pin too much, and leave a bookmark of each. */
void pins_limit(struct arena *arena, const struct history *history,
		const struct pins_bounds *bounds);
/* Returns true if a snapshot pins too much. now: seconds since 1970. Runs no program. */
bool pins_too_much(const struct point *snapshot, const struct pins_bounds *bounds, int64_t now);
/* Returns true if bounds->idle is so long that a snapshot may pin too much. Runs no program. */
bool pins_may(const struct pins_bounds *bounds);
/* Destroy all our own snapshots and all spare bookmarks. Returns 0, or -1 with *err. */
int pins_end(struct arena *arena, const char *dataset, struct error *err);

#endif
