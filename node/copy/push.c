/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A push: from the newest point that both hosts have, to each snapshot of the volume that the copy
 * lacks, to a new snapshot of our own.
 *
 * Invariant: only the guid of a snapshot, as the other node reads it from its pool, shows that a
 * stream has arrived. The last snapshot that arrived stays on this host until the next one has, as
 * itself or as a bookmark, so there always is a point to begin from. Nothing is rolled back.
 */
#include "node/copy/push.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/volume/escape.h"
#include "node/catalog/change.h"
#include "node/copy/header.h"
#include "node/copy/history.h"
#include "node/copy/part.h"
#include "node/copy/pins.h"
#include "node/stream/program.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_run.h"

#define ASK_MS  10000      /* for a question to the other node */
#define LOCK_MS 5000       /* while the copy is dropped, or another push of the volume runs */
#define MOVED   (16 << 20) /* bytes sent that are more than what is on the way */

/* Questions to the other node */

static int ask(struct push *push, const char *method, const ProtobufCMessage *request, void *ret,
	       struct error *err)
{
	return client_finish(client_begin(push->transfer.client, push->arena,
					  &zcsi__v1__replica__descriptor, method, request,
					  now_ms() + ASK_MS),
			     ret, err);
}

static int ask_for_copy(struct push *push, struct error *err)
{
	GetCopyRequest *request = new_get_copy_request(push->arena);
	GetCopyResponse *response;

	request->id = push->volume->id;
	if (ask(push, "GetCopy", &request->base, &response, err) < 0)
		return -1;
	push->copy = response->copy;
	push->available = response->copy ? response->copy->available : response->available;
	if (!push->copy || strcmp(push->copy->lineage, push->members.lineage) == 0)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "there is '%s', a copy of another volume that had this name; look at it, and "
		    "destroy it there with 'zfs destroy -r %s'",
		    push->copy->name, push->copy->name);
}

/* The steps */

/*
 * Continue an interrupted stream. If its snapshot is gone, or zfs cannot continue, the other node
 * forgets what it has of it with the next stream.
 */
static int resume(struct push *push, const struct history *history, struct error *err)
{
	int64_t size;
	const struct point *to = history_snapshot(history, part_of_token(push, &size));

	push->header->discard = true;
	if (!to)
		return 0;
	push->resumed = to->guid;
	push->progress->total += (uint64_t)size;
	push->header->discard = false;
	if (part_send_rest(push, to, err) == 0)
		return 0;
	push->progress->total = push->progress->sent;
	push->header->discard = err->code != ERR_UNAVAILABLE;
	return push->header->discard ? ask_for_copy(push, err) : -1;
}

char *push_snapshot_name(struct arena *arena, const char *dataset, int64_t time)
{
	const time_t seconds = time / 1000000;
	struct tm utc;
	char text[32];

	gmtime_r(&seconds, &utc);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
	return arena_printf(arena, "%s@" HISTORY_OWN "%s.%06dZ", dataset, text,
			    (int)(time % 1000000));
}

static int take_snapshot(struct push *push, struct error *err)
{
	struct zfs_properties none = {.n = 0};

	push->taken = wall_us();
	const char *name = push_snapshot_name(push->arena, push->volume->name, push->taken);
	return zfs_snapshot(&name, 1, &none, err);
}

static bool is_young(const struct push *push, const struct point *point)
{
	return point && !push->fresh && time(NULL) - point->creation < push->members.every / 2;
}

/* Read the history, with a snapshot of our own that is young enough at its end. */
static int prepare(struct push *push, struct history *ret, struct error *err)
{
	const char *dataset = push->volume->name;

	if (history_read(push->arena, dataset, ret, err) < 0)
		return -1;
	if (push->frozen || is_young(push, history_newest_own(ret)))
		return 0;
	if (take_snapshot(push, err) < 0)
		return -1;
	return history_read(push->arena, dataset, ret, err);
}

/* Returns true for a snapshot that was asked for by CSI, which a copy is to have too. */
static bool is_wanted(const struct push *push, const struct point *point)
{
	if (point->bookmark || point->own)
		return false;
	const struct snapshot *record = part_record(push, point);
	return record && *record->name;
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
			"the copy has data that the volume lost: the volume was rolled back, or a "
			"snapshot of zcsi was destroyed; if that data is not needed, run 'zcsi "
			"copy drop %s %s' and 'zcsi copy add %s %s'",
			id, to, id, to);
	if (push->copy && push->copy->n_snapshots && !base)
		return fail(
			err, ERR_FAILED_PRECONDITION,
			"the copy and the volume have no snapshot in common any more; if the "
			"copy is not needed, run 'zcsi copy drop %s %s' and 'zcsi copy add %s %s'",
			id, to, id, to);
	return 0;
}

/* *ret is the streams that the copy lacks, in the arena. */
static int plan(struct push *push, const struct history *history, const struct point *last,
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
		if ((base && at->guid == base->guid) || (at != last && !is_wanted(push, at)))
			continue;
		*part = (struct part){.base = base, .to = at};
		if (part_estimate(push, part, err) < 0)
			return -1;
		++*ret_n;
		base = at;
	}
	return 0;
}

static int send_missing(struct push *push, const struct history *history, const struct point *last,
			struct error *err)
{
	struct part *parts;
	size_t n;

	if (plan(push, history, last, &parts, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (part_send(push, &parts[i], err) < 0)
			return -1;
		push->header->discard = false;
	}
	return 0;
}

/* Send all that the copy lacks, up to the last snapshot. */
static int send_all(struct push *push, const struct history *history, const struct point *last,
		    struct error *err)
{
	const char *bookmark = history_bookmark(push->arena, push->volume->name, push->to);
	size_t others = push->members.n > 2 ? push->members.n - 2 : 0;

	if (push->copy && *push->copy->token && resume(push, history, err) < 0)
		return -1;
	if (send_missing(push, history, last, err) < 0)
		return -1;
	return pins_arrived(push->arena, history, bookmark, last, others, err);
}

/* After a failure three snapshots of our own stay, so failures do not heap them up. */
static int run(struct push *push, int64_t *ret_synced, struct error *err)
{
	struct history history;

	if (ask_for_copy(push, err) < 0 ||
	    header_make(push->arena, catalog_parent(push->node->catalog), push->volume,
			&push->header, &push->flags, err) < 0 ||
	    prepare(push, &history, err) < 0)
		return -1;
	const struct point *base = history_base(&history, push->copy);
	const struct point *last = history_newest_own(&history);
	if (!last)
		return fail(err, ERR_ABORTED,
			    "the snapshot that was just taken of '%s' is gone: try again",
			    push->volume->name);
	if (send_all(push, &history, last, err) < 0) {
		const uint64_t keep[] = {last->guid, base ? base->guid : 0, push->resumed};
		pins_thin(&history, keep, COUNT(keep));
		return -1;
	}
	pins_thin(&history, &last->guid, 1);
	*ret_synced = push->taken ? push->taken : last->creation * 1000000;
	return 0;
}

static int with_client(struct push *push,
		       int (*fn)(struct push *push, int64_t *ret_synced, struct error *err),
		       int64_t *ret_synced, struct error *err)
{
	struct peers *peers = push->node->peers;

	push->transfer.loop = push->loop;
	push->transfer.rate = (uint64_t)push->rules.bandwidth;
	push->transfer.progress = push->progress;
	if (program_check(err) < 0 ||
	    peers_dial(peers, push->to, now_ms() + ASK_MS, &push->transfer.client, err) < 0)
		return -1;
	int failed = fn(push, ret_synced, err);
	peers_hang_up(peers, push->transfer.client);
	return failed;
}

int push_lock(struct push *push, struct error *err)
{
	push->key = arena_printf(push->arena, "members %s", push->volume->name);
	return catalog_lock_key(push->node->catalog, now_ms() + LOCK_MS, push->key, err);
}

void push_unlock(struct push *push)
{
	catalog_unlock_key(push->node->catalog, push->key);
}

/* Check that the node still is to have a copy, which may have been dropped a moment ago. */
static int check_member(struct push *push, struct error *err)
{
	struct dataset *volume;

	if (catalog_get(push->node->catalog, now_ms() + ASK_MS, push->arena, push->volume->id,
			&volume, err) < 0)
		return -1;
	push->volume = volume;
	push->rules = push_rules_parse(volume->push);
	if (members_parse(push->arena, volume->members, &push->members) &&
	    members_have(&push->members, push->to))
		return 0;
	return fail(err, ERR_ABORTED, "it is to have no copy any more");
}

/*
 * *ret_synced is when the last push took its snapshot: zcsi-node may have been started since. What
 * is kept for a copy that gets nothing is limited.
 */
static int look(struct push *push, int64_t *ret_synced, struct error *err)
{
	const char *bookmark = history_bookmark(push->arena, push->volume->name, push->to);
	struct history history;

	if (history_read(push->arena, push->volume->name, &history, err) < 0)
		return -1;
	*ret_synced = history_synced(&history, bookmark);
	pins_limit(push->arena, &history, push->volume->size, push->idle);
	return 0;
}

int push_run_locked(struct push *push, int64_t *ret_synced, struct error *err)
{
	struct error ignored;

	*ret_synced = 0;
	if (check_member(push, err) < 0)
		return -1;
	if (push->rules.paused)
		return look(push, ret_synced, err);
	int failed = with_client(push, run, ret_synced, err);
	if (failed && push->look)
		look(push, ret_synced, &ignored);
	return failed;
}

bool push_has_moved(const struct push *push)
{
	return push->transfer.sent > MOVED;
}

int push_run(struct push *push, int64_t *ret_synced, struct error *err)
{
	push->busy = push_lock(push, err) < 0;
	if (push->busy)
		return -1;
	int failed = push_run_locked(push, ret_synced, err);
	push_unlock(push);
	return failed;
}

int push_known(struct push *push, int64_t *ret, struct error *err)
{
	const char *bookmark = history_bookmark(push->arena, push->volume->name, push->to);
	struct history history;

	*ret = 0;
	if (history_read(push->arena, push->volume->name, &history, err) < 0)
		return -1;
	*ret = history_synced(&history, bookmark);
	return 0;
}

static int check(struct push *push, int64_t *ret_synced, struct error *err)
{
	(void)ret_synced;
	if (ask_for_copy(push, err) < 0)
		return -1;
	return header_make(push->arena, catalog_parent(push->node->catalog), push->volume,
			   &push->header, &push->flags, err);
}

int push_check(struct push *push, struct error *err)
{
	return with_client(push, check, NULL, err);
}

static int drop(struct push *push, int64_t *ret_synced, struct error *err)
{
	DropCopyRequest *request = new_drop_copy_request(push->arena);
	DropCopyResponse *response;

	(void)ret_synced;
	request->id = push->volume->id;
	request->lineage = (char *)push->members.lineage;
	return ask(push, "DropCopy", &request->base, &response, err);
}

int push_drop(struct push *push, struct error *err)
{
	return with_client(push, drop, NULL, err);
}
