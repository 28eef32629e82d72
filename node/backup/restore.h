/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_BACKUP_RESTORE_H
#define ZCSI_NODE_BACKUP_RESTORE_H

#include <stdint.h>

#include "common/error.h"
#include "node/host/node.h"
#include "node/stream/rounds.h"

/* A snapshot of a backup becomes a dataset that AdoptDataset makes a volume. */
struct restore {
	const struct node *node;
	struct rounds *rounds; /* whose end interrupts it */
	const char *id, *as;   /* the volume of the backup; that which is to be made */
	uint64_t guid;         /* of the snapshot */
};

/*
 * Make the dataset below DATASET_RECEIVED. *ret_guid is its guid. Returns 0, or -1 with *err.
 * Blocks for hours: not on the loop's thread.
 */
int restore_run(const struct restore *restore, uint64_t *ret_guid, struct error *err);

#endif
