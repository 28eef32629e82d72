/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The plan of a push: the snapshots and records that the copy lacks, where the first stream begins,
 * and the old snapshots of the copy that are to be destroyed.
 *
 * Invariant: a copy gets nothing if it is at a snapshot that the volume lacks, or has nothing in
 * common with it; the error then says what an operator has to do. A snapshot of the copy is to be
 * destroyed only if it is older than the newest one that volume and copy have in common, if zcsi
 * has made it, and if the history of the volume has its guid neither as a snapshot nor as a
 * bookmark. So a copy keeps the snapshots of the other copies, of which each has a bookmark here:
 * if its node becomes the owner, streams to those copies can begin at them.
 */
#include "node/copy/plan.h"

#include <stdlib.h>
#include <string.h>

#include "node/record/scheduled.h"

/* Returns true if the copy has a snapshot with this name. */
static bool is_taken(const CopyState *copy, const char *leaf)
{
	for (size_t i = 0; copy && i < copy->n_snapshots; i++)
		if (strcmp(copy->snapshots[i]->name, leaf) == 0)
			return true;
	return false;
}

bool plan_is_asked(const struct push *push, const struct point *point)
{
	if (point->bookmark || point->own)
		return false;
	struct scheduled ignored;

	return !strncmp(point->leaf, SNAPSHOT_BACKUP, strlen(SNAPSHOT_BACKUP)) ||
	       scheduled_parse(point->leaf, &ignored) || part_record(push, point)->n_properties > 0;
}

/* Leave out the snapshots with `ours`: the other node has set their records. */
DescribeCopyRequest *plan_records(const struct push *push, const struct history *history)
{
	DescribeCopyRequest *request = new_describe_copy_request(push->arena);
	size_t most = push->copy ? push->copy->n_snapshots : 0;

	request->snapshots = arena_alloc(push->arena, most * sizeof(*request->snapshots));
	for (size_t i = 0; i < most; i++) {
		const CopySnapshot *snapshot = push->copy->snapshots[i];
		const struct point *point =
			snapshot->ours ? NULL : history_snapshot(history, snapshot->guid);
		SnapshotRecord *record = point ? part_record(push, point) : NULL;
		if (!record || !record->n_properties)
			continue;
		record->name = snapshot->name; /* the snapshot may have another name here by now */
		request->snapshots[request->n_snapshots++] = record;
	}
	return request;
}

/* Returns true for a snapshot that another tool or a user took and that the copy is to have. */
static bool is_others(const struct push *push, const struct point *point)
{
	return push->rules.all && !push->refused && !point->bookmark && *point->leaf != '_' &&
	       !is_taken(push->copy, point->leaf);
}

bool plan_wants(const struct push *push, const struct point *point)
{
	return plan_is_asked(push, point) || is_others(push, point);
}

bool plan_meets_old(const struct push *push, const struct part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_taken(push->copy, parts[i].to->leaf))
			return true;
	return false;
}

/* Returns true if the copy has a snapshot of our own that is newer than the base. */
static bool is_ahead(const struct push *push, const struct point *base)
{
	const CopyState *copy = push->copy;

	for (size_t i = 0; copy && base && i < copy->n_snapshots; i++) {
		const CopySnapshot *snapshot = copy->snapshots[i];
		if (snapshot->guid == base->guid)
			return false;
		if (!strncmp(snapshot->name, HISTORY_OWN, strlen(HISTORY_OWN)))
			return true;
	}
	return false;
}

/* Check that the copy can follow the volume: base is the newest point of both. */
static int check_base(const struct push *push, const struct point *base, struct error *err)
{
	const char *id = push->volume->id, *to = push->to;

	if (is_ahead(push, base))
		return fail(
			err, ERR_FAILED_PRECONDITION,
			"the copy is at a snapshot that the volume lacks: the volume was rolled "
			"back, a snapshot of zcsi was destroyed, or this node had a copy of the "
			"volume that never got it; if the copy is not needed, run 'zcsi copy drop "
			"%s %s' and 'zcsi copy add %s %s'",
			id, to, id, to);
	if (push->copy && push->copy->n_snapshots && !base)
		return fail(
			err, ERR_FAILED_PRECONDITION,
			"the copy and the volume have no snapshot in common any more; if the "
			"copy is not needed, run 'zcsi copy drop %s %s' and 'zcsi copy add %s %s'",
			id, to, id, to);
	return 0;
}

/*
 * Returns true for a snapshot of our own that another copy has, or may have. If the node of this
 * copy becomes the owner, its streams to the other copy can begin only at this snapshot.
 */
static bool is_for_another(const struct push *push, const struct history *history,
			   const struct point *point)
{
	return point->own && pins_need(push->needs + 1, push->n_needs - 1, history, point);
}

/*
 * Make a stream for each snapshot, not one by `zfs send -I` for all. So each is confirmed, gets its
 * properties, and becomes the bookmark, where the next push begins if a tool has destroyed the
 * snapshot; and snapshots of our own that no other copy needs are not sent.
 */
int plan_make(struct push *push, const struct history *history, const struct point *last,
	      struct part **ret, size_t *ret_n, struct error *err)
{
	const struct point *base = history_base(history, push->copy);
	const struct point *at = history_after(history, base);

	*ret = arena_alloc(push->arena, history->n * sizeof(**ret));
	*ret_n = 0;
	if (check_base(push, base, err) < 0)
		return -1;
	for (; at <= last; at++) {
		struct part *part = &(*ret)[*ret_n];
		if ((base && at->guid == base->guid) ||
		    (at != last && !plan_wants(push, at) && !is_for_another(push, history, at)))
			continue;
		*part = (struct part){.base = base, .to = at};
		if (part_estimate(push, part, err) < 0)
			return -1;
		++*ret_n;
		base = at;
	}
	return 0;
}

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

ThinCopyRequest *plan_thin(struct arena *arena, const CopyState *copy,
			   const struct history *history)
{
	const uint64_t *guids = guids_of(arena, history);
	ThinCopyRequest *request = new_thin_copy_request(arena);
	bool older = false;

	request->snapshots = arena_alloc(arena, PLAN_THIN_MOST * sizeof(CopySnapshot *));
	for (size_t i = 0; copy && i < copy->n_snapshots; i++) {
		CopySnapshot *snapshot = copy->snapshots[i];
		if (bsearch(&snapshot->guid, guids, history->n, sizeof(*guids), by_guid))
			older = true;
		else if (older && snapshot->ours && !snapshot->kept &&
			 request->n_snapshots < PLAN_THIN_MOST)
			request->snapshots[request->n_snapshots++] = snapshot;
	}
	return request;
}
