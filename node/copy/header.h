/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_HEADER_H
#define ZCSI_NODE_COPY_HEADER_H

#include "common/error.h"
#include "node/record/dataset.h"
#include "node/record/snapshot.h"
#include "proto/copy.h"

/*
 * *ret is the first message of a stream (Replica.Receive), with all that a copy has besides its
 * data, in the arena; *ret_flags the options of `zfs send` (node/zfs/send_flags.h). Runs two
 * programs. Returns 0, or -1 with *err: ERR_FAILED_PRECONDITION if the volume cannot have copies.
 */
int header_make(struct arena *arena, const char *parent, const struct dataset *volume,
		ReceiveHeader **ret, const char **ret_flags, struct error *err);
/*
 * Fill in the properties that are set on a dataset and that a request may set on a volume.
 * *ret_root is its encryption root, "-" if it has none. Runs two programs. Returns 0, or -1 with
 * *err.
 */
int header_properties(struct arena *arena, const char *dataset, ReceiveHeader *to,
		      const char **ret_root, struct error *err);
/*
 * Returns what a copy is to record of a snapshot, in the arena; known: as the catalog has it, or
 * NULL if it is not one of CSI.
 */
SnapshotRecord *header_record(struct arena *arena, const char *leaf, uint64_t guid,
			      const struct snapshot *known);
/* Fill in the snapshot with which the stream ends, and its record. */
void header_end(ReceiveHeader *header, const SnapshotRecord *record);

#endif
