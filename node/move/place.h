/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOVE_PLACE_H
#define ZCSI_NODE_MOVE_PLACE_H

/*
 * The place of a volume in the pool of this host: as the volume itself or as a copy of it, with the
 * records of moves. The results live in the arena. Any thread.
 *
 * The property zcsi:moving of a snapshot is a mark (node/record/ownership.h), a node and an epoch:
 * the owner permits that node to take the volume at that epoch, with exactly this snapshot at its
 * end. The permission is valid once the volume is a copy on the owner's host, and as long as the
 * copy's zcsi:epoch is one less than that epoch.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "node/record/members.h"

struct zfs_table; /* node/zfs/zfs_table.h */

enum place_role { PLACE_NONE, PLACE_PRIMARY, PLACE_COPY };

/* The device of a zvol, which volmode=none takes away. A filesystem has none. */
enum place_device { DEVICE_NONE, DEVICE_SHOWN, DEVICE_HIDDEN };

struct place_snapshot {
	const char *name; /* dataset@leaf */
	uint64_t guid;
	int64_t written; /* bytes since the snapshot before */
	const char *to;  /* the node in zcsi:moving; NULL: not set */
	int64_t epoch;
	bool cloned;
};

struct place {
	enum place_role role;
	const char *name; /* the dataset's */
	enum place_device device;
	struct members members;
	int64_t epoch;                    /* 0: it never moved */
	int64_t written;                  /* bytes since the newest snapshot */
	bool token;                       /* part of a stream was received */
	bool reserved;                    /* true with a refreservation */
	bool foreign_key, encrypted;      /* foreign_key: it shares the key of another dataset */
	size_t children;                  /* datasets below it */
	struct place_snapshot *snapshots; /* oldest first */
	size_t n;
};

/*
 * Read the place. Runs one program, and another one if the volume is not here. Returns 0, or -1
 * with *err; then ret->role is the role of the dataset of which a value is damaged, or PLACE_NONE
 * if the pool could not be read.
 */
int place_read(struct arena *arena, const char *parent, const char *id, struct place *ret,
	       struct error *err);
/* Take the rows of a dataset. Returns false if they are not those of a volume. For tests. */
bool place_parse(struct arena *arena, const char *dataset, const struct zfs_table *table,
		 struct place *ret);

/*
 * Returns the newest snapshot with a record of a move, if the epoch in that is one more than the
 * volume's; else NULL.
 */
const struct place_snapshot *place_marked(const struct place *place);
/* Returns the snapshot with a guid, or NULL. */
const struct place_snapshot *place_snapshot(const struct place *place, uint64_t guid);
/* Returns the bytes that were written after a snapshot. */
int64_t place_written_after(const struct place *place, const struct place_snapshot *snapshot);
/* Returns true if the snapshot is the newest one and nothing was written after it. */
bool place_ends_with(const struct place *place, const struct place_snapshot *snapshot);

#endif
