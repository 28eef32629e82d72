/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_VOLUME_PARSE_H
#define ZCSI_NODE_RECORD_VOLUME_PARSE_H

/*
 * Deciding which rows of `zfs get` are volumes and snapshots of zcsi. Results live in the arena and
 * point into the row. Any thread.
 */

#include "node/record/dataset.h"
#include "node/record/zfs_row.h"
#include "node/record/snapshot.h"

/*
 * Returns the volume that the row describes, or NULL if it is not zcsi's. *ret_trashed is true if
 * the volume was deleted; it is only set together with a result.
 */
struct dataset *volume_parse(struct arena *arena, const char *parent, const struct zfs_row *row,
			     bool *ret_trashed);

/*
 * Returns the snapshot that the row describes, or NULL if its dataset is not a volume of zcsi. at
 * points to the '@' in row->name.
 */
struct snapshot *snapshot_parse(struct arena *arena, const char *parent, const struct zfs_row *row,
				const char *at);

/*
 * Returns the value of zcsi:volume for a volume that is being renamed. new_id counts as soon as the
 * dataset has the name that belongs to it, and `id` before that.
 */
char *volume_ids(struct arena *arena, const char *id, const char *new_id);

#endif
