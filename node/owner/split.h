/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_SPLIT_H
#define ZCSI_NODE_OWNER_SPLIT_H

/*
 * Splitting a volume that is put aside: a copy keeps what the new owner has too. The copy and the
 * volume share the blocks of that, so only data that is written later takes space of its own.
 * Functions run programs, and return 0, or -1 with *err.
 */

#include "node/host/node.h"
#include "node/move/place.h"
#include "node/record/dataset.h"

#define DIVERGED_FOLDER "_diverged" /* below the parent: volumes that are put aside */

/* Returns the dataset of DIVERGED_FOLDER, in the arena. Runs no program. */
char *split_folder(const struct node *node, struct arena *arena);
/*
 * *ret is the dataset with this name in `zcsi diverged list`, in the arena. Runs no program.
 * Returns 0, or -1 with ERR_INVALID_ARGUMENT.
 */
int split_dataset(const struct node *node, struct arena *arena, const char *name, const char **ret,
		  struct error *err);

/*
 * Before the volume is renamed: make the copy, a clone of the newest snapshot that the new owner
 * has too. May be repeated. For a call that is keyed by the volume.
 */
int split_begin(struct arena *arena, const char *parent, const struct dataset *volume,
		const struct place_snapshot *common, struct error *err);
/*
 * After the volume is renamed: promote each copy that is a clone of a dataset put aside, which
 * gives it the snapshots. Until then the new owner cannot send to the copy. Any thread.
 */
int split_end(struct arena *arena, const char *parent, struct error *err);
/*
 * Parse a line of `zfs list`, in place. Returns the name of a copy that is a clone of a dataset
 * below `aside`, or NULL. For tests.
 */
const char *split_parse(const char *aside, char *line);

#endif
