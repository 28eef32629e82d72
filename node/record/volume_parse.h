/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_VOLUME_PARSE_H
#define ZCSI_NODE_RECORD_VOLUME_PARSE_H

/* Which entries are volumes and snapshots of ours. All in the arena, or pointing into the entry. */

#include "node/record/dataset.h"
#include "node/record/zfs_row.h"
#include "node/record/snapshot.h"

/* NULL: somebody else's. */
struct dataset *volume_parse(struct arena *arena, const char *parent, const struct zfs_row *row,
			     bool *ret_trashed);

/* at: of its name, the '@'. NULL: of a dataset that is no volume of ours. */
struct snapshot *snapshot_parse(struct arena *arena, const char *parent, const struct zfs_row *row,
				const char *at);

#endif
