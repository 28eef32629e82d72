/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_BACKUP_RESTORE_H
#define ZCSI_NODE_BACKUP_RESTORE_H

#include <stdint.h>

#include "common/error.h"
#include "node/host/node.h"
#include "node/stream/rounds.h"

/* A restore: a snapshot of a backup becomes a dataset that AdoptDataset makes a volume. */
struct restore {
	const struct node *node;
	struct rounds *rounds; /* when this thread is to stop, the restore is interrupted */
	const char *id, *as;   /* ids of the backup's volume, and of the volume to be made */
	uint64_t guid;         /* guid of the snapshot */
};

/*
 * Make the dataset below DATASET_RECEIVED. *ret_guid is its guid. Returns 0, or -1 with *err.
 * Blocks for hours: not on the loop's thread.
 */
int restore_run(const struct restore *restore, uint64_t *ret_guid, struct error *err);

#endif
