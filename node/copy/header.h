/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_HEADER_H
#define ZCSI_NODE_COPY_HEADER_H

#include "common/error.h"
#include "node/record/dataset.h"
#include "node/record/snapshot.h"
#include "proto/copy.h"

/*
 * *ret is the first message of a stream (Replica.Receive), with all that a copy has besides its
 * data, in the arena; *ret_flags the options of `zfs send` (node/zfs/send_flags.h). Runs one
 * program. Returns 0, or -1 with *err: ERR_FAILED_PRECONDITION if the volume cannot have copies.
 */
int header_make(struct arena *arena, const char *parent, const struct dataset *volume,
		ReceiveHeader **ret, const char **ret_flags, struct error *err);
/* Fill in the snapshot at the end of the stream; known: its record, or NULL if it has none. */
void header_end(struct arena *arena, ReceiveHeader *header, const char *leaf, uint64_t guid,
		const struct snapshot *known);

#endif
