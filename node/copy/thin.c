/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The choice of the old snapshots of a copy that are to be destroyed.
 *
 * Invariant: a snapshot is chosen only if it is older than the newest one that volume and copy have
 * in common, if zcsi has made it, and if the history of the volume has its guid neither as a
 * snapshot nor as a bookmark. So a copy keeps the snapshots of the other copies, of which each has
 * a bookmark here: if its node becomes the owner, streams to those copies can begin at them.
 */
#include "node/copy/thin.h"

#include <stdlib.h>

static int by_guid(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* Returns the guids of all points, sorted: there may be thousands in both lists. */
static uint64_t *guids_of(struct arena *arena, const struct history *history)
{
	uint64_t *guids = arena_alloc(arena, (history->n + 1) * sizeof(*guids));

	for (size_t i = 0; i < history->n; i++)
		guids[i] = history->points[i].guid;
	qsort(guids, history->n, sizeof(*guids), by_guid);
	return guids;
}

ThinCopyRequest *thin_request(struct arena *arena, const CopyState *copy,
			      const struct history *history)
{
	const uint64_t *guids = guids_of(arena, history);
	ThinCopyRequest *request = new_thin_copy_request(arena);
	bool older = false;

	request->snapshots = arena_alloc(arena, THIN_MOST * sizeof(CopySnapshot *));
	for (size_t i = 0; copy && i < copy->n_snapshots; i++) {
		CopySnapshot *snapshot = copy->snapshots[i];
		if (bsearch(&snapshot->guid, guids, history->n, sizeof(*guids), by_guid))
			older = true;
		else if (older && snapshot->ours && !snapshot->kept &&
			 request->n_snapshots < THIN_MOST)
			request->snapshots[request->n_snapshots++] = snapshot;
	}
	return request;
}
