/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_REPLICA_SNAPSHOTS_H
#define ZCSI_NODE_REPLICA_SNAPSHOTS_H

#include "common/error.h"
#include "common/mem.h"
#include "proto/copy.h"

#define SNAPSHOTS_MOST 256 /* of a request; the names of some are one word of a command line */

/*
 * Returns the word for `zfs destroy`, "copy@a,b", in the arena, or NULL if nothing is to go. copy:
 * as it was just read.
 */
char *thin_word(struct arena *arena, const CopyState *copy, const ThinCopyRequest *req);

/* Check the record of a snapshot: a node may set no other properties by it. Runs no program. */
int replica_check_record(const SnapshotRecord *record, struct error *err);
/*
 * Set the record of a snapshot, which modifies no data, and note that in the copy; ERR_ABORTED if
 * it has no such snapshot, or is NULL.
 */
int replica_record(struct arena *arena, const CopyState *copy, const SnapshotRecord *record,
		   struct error *err);

#endif
