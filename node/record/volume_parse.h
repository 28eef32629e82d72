/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_RECOGNISE_H
#define ZCSI_RECOGNISE_H

/* Which entries are volumes and snapshots of ours. All in the arena, or pointing into the entry. */

#include "node/record/dataset.h"
#include "node/record/zfs_row.h"
#include "node/record/snapshot.h"

/* NULL: somebody else's. */
struct dataset *recognise_dataset(struct arena *arena, const char *parent,
				  const struct entry *entry, bool *ret_trashed);

/* at: of its name, the '@'. NULL: of a dataset that is no volume of ours. */
struct snapshot *recognise_snapshot(struct arena *arena, const char *parent,
				    const struct entry *entry, const char *at);

#endif
