/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_LISTING_H
#define ZCSI_NODE_RECORD_LISTING_H

/* What a `zfs get` has told, as volumes and snapshots. Runs no program; all in the arena. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/mem.h"
#include "node/record/dataset.h"
#include "node/record/snapshot.h"

struct listing {
	char *text;        /* what the rows point into: freed by who asked for it */
	bool parent;       /* was among what was read */
	int64_t available; /* bytes that a new dataset under the parent could use */
	struct dataset **datasets;
	size_t n_datasets;
	struct dataset **trashed;
	size_t n_trashed;
	struct snapshot **snapshots;
	size_t n_snapshots;
	char **origins; /* snapshots made for clones that would not go by themselves */
	size_t n_origins;
	char **others; /* datasets and snapshots that are nobody's, or are not shown */
	size_t n_others;
};

/*
 * text is what `zfs get` printed of entry_properties(); it is cut up, and the rows point into it.
 * A dataset counts when it is a filesystem, or a zvol with a format, right under the parent or its
 * trash whose local zcsi:version is ours and whose local zcsi:volume names it; a snapshot when it
 * inherits that from such a name. The rest is someone else's, or hidden.
 */
void listing_parse(struct arena *arena, const char *parent, char *text, struct listing *ret);

#endif
