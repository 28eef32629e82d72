/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_PINS_H
#define ZCSI_NODE_COPY_PINS_H

/*
 * The things that a volume keeps for its copies: our own snapshots, which pin data that was
 * overwritten since, and bookmarks, which pin nothing. A stream can begin at either. All functions
 * run programs. The caller has locked the volume's copies (push_lock).
 */

#include "node/copy/history.h"

#define PIN_MOST_S  (24 * 3600) /* the default of pin_limit (struct push_rules) */
#define PIN_LARGE_S 3600        /* for one that holds more than a part of the volume's size */
#define PIN_PART    10

/*
 * The snapshots of our own that a copy needs. While its node was not heard since zcsi-node was
 * started, these are all since its bookmark was made that were there when that was looked up.
 */
struct pins_need {
	const char *bookmark; /* of the copy */
	bool heard;
	uint64_t has; /* once heard: its newest snapshot that is here too; 0: none */
	/*
	 * Once heard: the one to which an interrupted stream may lead; 0: none. Before: the newest
	 * one when it was looked up; 0: it was not yet.
	 */
	uint64_t to;
};

/*
 * Move a copy's bookmark to a snapshot that has arrived there. While there is none, the snapshot
 * itself is the point to begin from. others: how many more copies there are. Returns 0, or -1 with
 * *err.
 */
int pins_arrived(struct arena *arena, const struct history *history, const char *bookmark,
		 const struct point *last, size_t others, struct error *err);
/* Bookmark a snapshot, unless that was done before. Returns 0, or -1 with *err. */
int pins_spare(struct arena *arena, const struct history *history, const struct point *snapshot,
	       struct error *err);
/*
 * Destroy our own snapshots that none of n copies needs, but for the newest one. The only rule by
 * which they go, besides pins_limit: each push applies it, whether it fails or not.
 */
void pins_thin(const struct history *history, const struct pins_need *needs, size_t n);
/* Bounds of what snapshots of our own may pin. */
struct pins_bounds {
	int64_t size; /* of the volume; 0: unlimited */
	int64_t idle; /* for how many seconds nothing was sent to a copy */
	int64_t most; /* after so many seconds they go; 0: PIN_MOST_S */
};
/* Destroy our own snapshots that pin too much, and leave a bookmark of each. */
void pins_limit(struct arena *arena, const struct history *history,
		const struct pins_bounds *bounds);
/* Returns true if a snapshot of our own pins too much at a time. Runs no program. */
bool pins_too_much(const struct point *snapshot, const struct pins_bounds *bounds, int64_t now);
/* Returns true if some may, now that nothing was sent for so long. Runs no program. */
bool pins_may(const struct pins_bounds *bounds);
/* Destroy all of our own snapshots, and what pins_limit left. Returns 0, or -1 with *err. */
int pins_end(struct arena *arena, const char *dataset, struct error *err);

#endif
