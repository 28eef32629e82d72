/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A push: streams from the newest point that both hosts have, to each snapshot of the volume that
 * the copy lacks, the last of which is a new one of our own.
 *
 * Invariant: only the guid of a snapshot, as the other node reads it from its pool, shows that a
 * stream has arrived. The last snapshot that arrived stays on this host, as itself or as a
 * bookmark, until the next one has arrived, so there always is a point to begin from. Nothing is
 * rolled back. After a push, old snapshots of the copy are destroyed (plan_thin); the push still
 * succeeds if that fails.
 */
#include "node/copy/push.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/volume/escape.h"
#include "node/attach/complete.h"
#include "node/catalog/change.h"
#include "node/copy/header.h"
#include "node/copy/history.h"
#include "node/copy/part.h"
#include "node/copy/pins.h"
#include "node/copy/plan.h"
#include "node/host/owner.h"
#include "node/record/ownership.h"
#include "node/stream/program.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_run.h"

#define ASK_MS  10000      /* the timeout of a call to the other node */
#define LOCK_MS 5000       /* to wait while another push of the volume runs, or a copy is dropped */
#define MOVED   (16 << 20) /* bytes sent; more than can be in transit, so some have arrived */

/* Calls of zcsi.v1.Replica, to the other node */

static int ask(struct push *push, const char *method, const ProtobufCMessage *request, void *ret,
	       struct error *err)
{
	return client_finish(client_begin(push->transfer.client, push->arena,
					  &zcsi__v1__replica__descriptor, method, request,
					  now_ms() + ASK_MS),
			     ret, err);
}

/*
 * Call GetCopy, and set push->copy and push->available; all: list more old snapshots of the copy.
 */
static int ask_for_copy(struct push *push, bool all, struct error *err)
{
	GetCopyRequest *request = new_get_copy_request(push->arena);
	GetCopyResponse *response;

	request->id = push->volume->id;
	request->all = all;
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

/* The steps of a push */

/* Set the copy's need: the newest common snapshot, and the end of its interrupted stream. */
static void learn(struct push *push, const struct history *history)
{
	const struct point *base = history_base(history, push->copy);
	struct pins_need *need = push->needs;

	need->heard = true;
	need->has = base ? base->guid : 0;
	need->to = push->copy && *push->copy->token ? part_of_token(push, &push->rest) : 0;
}

/* Record that a snapshot has arrived, then move the copy's bookmark to it, which may fail. */
static int arrived(struct push *push, const struct history *history, const struct point *point,
		   struct error *err)
{
	size_t others = push->members.n > 2 ? push->members.n - 2 : 0;

	push->needs->has = push->arrived = point->guid;
	push->needs->to = 0;
	return pins_arrived(push->arena, history, push->needs->bookmark, point, others, err);
}

/*
 * Continue an interrupted stream. If its snapshot is gone, or zfs cannot continue, the next stream
 * makes the other node discard its part of the interrupted one.
 */
static int resume(struct push *push, const struct history *history, struct error *err)
{
	const struct point *to = history_snapshot(history, push->needs->to);

	push->header->discard = true;
	if (!to)
		return 0;
	push->progress->total += (uint64_t)push->rest;
	push->header->discard = false;
	if (part_send_rest(push, to, err) == 0)
		return arrived(push, history, to, err);
	push->progress->total = push->progress->sent;
	push->header->discard = err->code != ERR_UNAVAILABLE;
	return push->header->discard ? ask_for_copy(push, false, err) : -1;
}

/* *ret_name is the snapshot that was taken, and *ret has no guid yet. */
static int take_snapshot(const struct push *push, const char **ret_name, struct push_taken *ret,
			 struct error *err)
{
	struct zfs_properties none = {.n = 0};

	*ret = (struct push_taken){.at = now_us(), .time = wall_us()};
	*ret_name = history_snapshot_name(push->arena, push->volume->name, ret->time);
	if (complete_volume(push->arena, push->volume, err) < 0)
		return -1;
	return zfs_snapshot(ret_name, 1, &none, err);
}

/*
 * Returns true if the push can end with this snapshot, the newest one of ours. For a requested push
 * only the monotonic clock is read, because the wall clock may have been set since. A snapshot from
 * the future does not count as young: the clock was set back.
 */
static bool is_enough(const struct push *push, const struct history *history,
		      const struct point *own)
{
	const struct push_taken *taken = &push->taken;

	if (!own || push->frozen)
		return own;
	for (const struct point *at = own + 1; at < history->points + history->n; at++)
		if (plan_wants(push, at))
			return false;
	int64_t age = time(NULL) - own->creation;
	if (!push->wanted)
		return age >= 0 && age < push->members.every / 2;
	return taken->guid == own->guid && taken->at >= push->wanted &&
	       now_us() - taken->at < push->members.every * 1000000;
}

/* Read the history. *ret_last is our own snapshot with which the push ends, taken if needed. */
static int prepare(struct push *push, struct history *ret, const struct point **ret_last,
		   struct error *err)
{
	const char *dataset = push->volume->name, *name;
	struct push_taken taken;

	if (history_read(push->arena, dataset, ret, err) < 0)
		return -1;
	*ret_last = history_newest_own(ret);
	if (is_enough(push, ret, *ret_last))
		return 0;
	if (push->frozen)
		return fail(err, ERR_ABORTED, "the last snapshot of '%s' is gone: try again",
			    push->volume->name);
	if (take_snapshot(push, &name, &taken, err) < 0 ||
	    history_read(push->arena, dataset, ret, err) < 0)
		return -1;
	*ret_last = history_newest_own(ret);
	if (!*ret_last || strcmp((*ret_last)->name, name) != 0)
		return fail(err, ERR_ABORTED,
			    "the snapshot that was just taken of '%s' is gone: try again",
			    push->volume->name);
	taken.guid = (*ret_last)->guid;
	push->taken = taken;
	return 0;
}

/* Returns true if a retry would fail too, because the copy cannot have this snapshot. */
static bool is_refusal(const struct error *err)
{
	return err->code != ERR_UNAVAILABLE && err->code != ERR_RESOURCE_EXHAUSTED;
}

static int ask_to_thin(struct push *push, const struct history *history, struct error *err)
{
	ThinCopyResponse *response;

	if (push->copy && push->copy->more && ask_for_copy(push, true, err) < 0)
		return -1;
	ThinCopyRequest *request = plan_thin(push->arena, push->copy, history);
	request->id = push->volume->id;
	request->lineage = (char *)push->members.lineage;
	request->epoch = push->header->epoch;
	return request->n_snapshots ? ask(push, "ThinCopy", &request->base, &response, err) : 0;
}

/* Destroy old snapshots of the copy (plan_thin). The next push tries again after a failure. */
static void thin(struct push *push, const struct history *history)
{
	struct error err;

	if (ask_to_thin(push, history, &err) < 0)
		log_debug("cannot destroy old snapshots of a copy",
			  log_str("volume", push->volume->id), log_str("node", push->to),
			  log_str("error", err.text));
}

/* Send the records that snapshots of the copy lack, as after a crash of the other zcsi-node. */
static int describe(struct push *push, const struct history *history, struct error *err)
{
	DescribeCopyRequest *request = plan_records(push, history);
	DescribeCopyResponse *response;

	request->id = push->volume->id;
	request->lineage = (char *)push->members.lineage;
	request->epoch = push->header->epoch;
	return request->n_snapshots ? ask(push, "DescribeCopy", &request->base, &response, err) : 0;
}

static int send_missing(struct push *push, const struct history *history, const struct point *last,
			struct error *err)
{
	struct part *parts;
	size_t n;

	if (describe(push, history, err) < 0 || plan_make(push, history, last, &parts, &n, err) < 0)
		return -1;
	/* The copy still has a snapshot that was deleted here, and a new one has its name. */
	if (plan_meets_old(push, parts, n))
		thin(push, history);
	for (size_t i = 0; i < n; i++) {
		const struct point *to = parts[i].to;
		push->needs->to = to->guid;
		if (!to->own && pins_spare(push->arena, history, to, err) < 0)
			return -1;
		if (part_send(push, &parts[i], err) < 0) {
			push->refused = to != last && !to->own && !plan_is_asked(push, to) &&
					is_refusal(err);
			return -1;
		}
		push->header->discard = false;
		if (arrived(push, history, to, err) < 0)
			return -1;
	}
	return 0;
}

/* Send the rest without the snapshots of other tools, one of which the copy did not take. */
static int send_without(struct push *push, const struct history *history, const struct point *last,
			struct error *err)
{
	log_warn("cannot send a snapshot of another tool, sending none of these",
		 log_str("volume", push->volume->id), log_str("node", push->to),
		 log_str("error", err->text));
	push->progress->total = push->progress->sent;
	if (ask_for_copy(push, false, err) < 0)
		return -1;
	push->header->discard = true;
	return send_missing(push, history, last, err);
}

/* Send all that the copy lacks, up to the last snapshot. */
static int send_all(struct push *push, const struct history *history, const struct point *last,
		    struct error *err)
{
	if (push->copy && *push->copy->token && resume(push, history, err) < 0)
		return -1;
	if (send_missing(push, history, last, err) < 0 &&
	    (!push->refused || send_without(push, history, last, err) < 0))
		return -1;
	return push->arrived == last->guid ? 0 : arrived(push, history, last, err);
}

/*
 * A node that was declared lost gets no data before it counts as a member again (owner/outcome.c):
 * it may be the owner after this node is lost.
 */
static int check_counts(struct push *push, struct error *err)
{
	const struct ownership ownership = ownership_parse(push->arena, push->volume->owner);

	if (!ownership_has_lost(&ownership, push->to))
		return 0;
	return fail(err, ERR_UNAVAILABLE,
		    "it was declared lost, and is to count as a member again first: try again");
}

static int run(struct push *push, int64_t *ret_synced, struct error *err)
{
	const struct point *last;
	struct history history;

	if (ask_for_copy(push, false, err) < 0 || check_counts(push, err) < 0 ||
	    header_make(push->arena, catalog_parent(push->node->catalog), push->volume,
			&push->header, &push->flags, err) < 0 ||
	    prepare(push, &history, &last, err) < 0)
		return -1;
	learn(push, &history);
	int failed = send_all(push, &history, last, err);
	pins_thin(&history, push->needs, push->n_needs);
	if (failed)
		return -1;
	thin(push, &history);
	*ret_synced = push->taken.guid == last->guid ? push->taken.time : last->creation * 1000000;
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
	if (program_check(err) < 0)
		return -1;
	if (push->away)
		return fail(err, ERR_UNAVAILABLE, "%s", push->away);
	push->silent =
		peers_dial(peers, push->to, now_ms() + ASK_MS, &push->transfer.client, err) < 0;
	if (push->silent)
		return -1;
	int failed = fn(push, ret_synced, err);
	peers_hang_up(peers, push->transfer.client);
	return failed;
}

int push_lock(struct push *push, struct error *err)
{
	push->key = arena_printf(push->arena, "members %s", push->volume->name);
	if (catalog_lock_key(push->node->catalog, now_ms() + LOCK_MS, push->key, err) < 0)
		return -1;
	if (push->refresh)
		push->refresh(push);
	return 0;
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
			&volume, err) < 0 ||
	    owner_check(push->node, volume, err) < 0)
		return -1;
	push->volume = volume;
	push->rules = push_rules_parse(volume->push);
	if (members_parse(push->arena, volume->members, &push->members) &&
	    members_have(&push->members, push->to))
		return 0;
	return fail(err, ERR_ABORTED, "it is to have no copy any more");
}

/*
 * Call pins_limit for a copy that gets no data. *ret_synced is the time of its bookmark, which is
 * known after a restart of zcsi-node too.
 */
static int look(struct push *push, int64_t *ret_synced, struct error *err)
{
	const char *bookmark = history_bookmark(push->arena, push->volume->name, push->to);
	const struct pins_bounds bounds = {
		.size = push->volume->size, .idle = push->idle, .most = push->rules.pin_limit};
	struct history history;

	if (history_read(push->arena, push->volume->name, &history, err) < 0)
		return -1;
	*ret_synced = history_synced(&history, bookmark);
	pins_limit(push->arena, &history, &bounds);
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
	if (push->needs->heard)
		return 0;
	const struct point *newest = history_newest_own(&history);
	push->needs->heard = !newest;
	push->needs->to = newest ? newest->guid : 0;
	return 0;
}

static int check(struct push *push, int64_t *ret_synced, struct error *err)
{
	(void)ret_synced;
	if (ask_for_copy(push, false, err) < 0)
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
	request->epoch = push->volume->epoch;
	request->deleted =
		dataset_is_trash(catalog_parent(push->node->catalog), push->volume->name);
	return ask(push, "DropCopy", &request->base, &response, err);
}

int push_drop(struct push *push, struct error *err)
{
	return with_client(push, drop, NULL, err);
}
