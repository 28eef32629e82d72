/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_REPLICA_SNAPSHOTS_H
#define ZCSI_NODE_REPLICA_SNAPSHOTS_H

#include "common/error.h"
#include "common/mem.h"
#include "proto/copy.h"

#define SNAPSHOTS_MOST 256 /* per request; their names may be one word of a command line */

/*
 * Returns the word for `zfs destroy`, "copy@a,b", in the arena, or NULL if no snapshot is to be
 * destroyed. copy: as just read from ZFS.
 */
char *thin_word(struct arena *arena, const CopyState *copy, const ThinCopyRequest *req);

/* Check that the record of a snapshot has only properties of zcsi. Runs no program. */
int replica_check_record(const SnapshotRecord *record, struct error *err);
/*
 * Set the properties of a snapshot's record, and mark the snapshot in *copy as one of zcsi.
 * ERR_ABORTED if the copy has no such snapshot, or is NULL.
 */
int replica_record(struct arena *arena, const CopyState *copy, const SnapshotRecord *record,
		   struct error *err);

#endif
