/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The pushes of a move: those before the volume is closed, and that of its last snapshot.
 *
 * Invariant: a push runs with the copies locked, so no other push destroys a snapshot that it
 * needs. After each push pusher_forget drops the pusher's record of the copy, because even a push
 * that failed may have added a snapshot to it.
 */
#include "node/move/sending.h"

#include <string.h>

#include "common/clock.h"
#include "node/catalog/catalog.h"
#include "node/copy/history.h"
#include "node/copy/pins.h"
#include "node/copy/pusher.h"
#include "node/stream/copies.h"

#define FIND_MS  10000
#define SHORT_MS 10000 /* a push that took less is the last one before the volume is closed */
#define PUSHES   5     /* at most, while the volume can still be used */

/*
 * Have the push keep all snapshots since the bookmark of each copy, because only the bookmarks show
 * here what the copies have.
 */
static void add_needs(const struct node *node, struct push *push)
{
	const struct members *members = &push->members;

	members_parse(push->arena, push->volume->members, &push->members);
	push->needs = arena_alloc(push->arena, (members->n + 1) * sizeof(*push->needs));
	push->needs[push->n_needs++].bookmark =
		history_bookmark(push->arena, push->volume->name, push->to);
	for (size_t i = 0; i < members->n; i++)
		if (strcmp(members->nodes[i], node->id) != 0 &&
		    strcmp(members->nodes[i], push->to) != 0)
			push->needs[push->n_needs++].bookmark = history_bookmark(
				push->arena, push->volume->name, members->nodes[i]);
}

int sending_begin(struct depart *depart, struct arena *arena, const char *to, struct push *ret,
		  struct error *err)
{
	const struct node *node = depart->node;
	struct dataset *volume;

	if (catalog_get(node->catalog, now_ms() + FIND_MS, arena, depart->id, &volume, err) < 0)
		return -1;
	*ret = (struct push){.node = node,
			     .loop = node->copies->loop,
			     .volume = volume,
			     .to = to,
			     .wanted = now_us(),
			     .arena = arena,
			     .progress = depart->progress};
	add_needs(node, ret);
	depart->progress->begun = 0;
	depart->progress->sent = depart->progress->total = 0;
	return 0;
}

static int fail_cancelled(struct error *err)
{
	return fail(err, ERR_CANCELLED, "the move was cancelled");
}

static int run_push(struct depart *depart, struct push *push, struct error *err)
{
	int64_t ignored;

	depart->transfers(depart->arg, &push->transfer);
	int failed =
		*depart->cancelled ? fail_cancelled(err) : push_run_locked(push, &ignored, err);
	depart->transfers(depart->arg, NULL);
	pusher_forget(depart->node->copies->pusher, push->volume->name, push->to);
	depart->progress->begun = 0;
	if (!failed && push->rules.paused)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it was paused meanwhile; run 'zcsi resume %s' first", depart->id);
	return failed;
}

int sending_lock(const struct depart *depart, struct push *push, int64_t deadline,
		 struct error *err)
{
	while (push_lock(push, err) < 0) {
		if (*depart->cancelled)
			return fail_cancelled(err);
		if (time_left_ms(deadline) == 0)
			return fail(err, ERR_ABORTED,
				    "a push to another of its copies runs; try again when 'zcsi "
				    "copies %s' shows the end of it",
				    depart->id);
	}
	return 0;
}

/*
 * Returns true if the copy has all that was written until less than SHORT_MS ago. So it is when the
 * push that begins at the volume's last detach has just ended.
 */
static bool is_fresh(const struct depart *depart, const struct push *push)
{
	size_t n;
	const struct pushed *copies =
		pusher_copies(depart->node->copies->pusher, push->arena, push->volume->name, &n);

	for (size_t i = 0; i < n; i++) {
		int64_t age = wall_us() - copies[i].synced;
		if (strcmp(copies[i].to, push->to) == 0)
			return copies[i].synced && !copies[i].failed && age >= 0 &&
			       age < SHORT_MS * 1000;
	}
	return false;
}

static int push_once(struct depart *depart, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct push push;

	if (sending_begin(depart, &arena, depart->to, &push, err) < 0 ||
	    sending_lock(depart, &push, NO_DEADLINE, err) < 0)
		return -1;
	int failed = is_fresh(depart, &push) ? 0 : run_push(depart, &push, err);
	push_unlock(&push);
	return failed;
}

int sending_catch_up(struct depart *depart, struct error *err)
{
	for (int i = 0; i < PUSHES; i++) {
		int64_t begun = now_ms();
		if (push_once(depart, err) < 0)
			return -1;
		if (now_ms() - begun < SHORT_MS)
			break;
	}
	return 0;
}

int sending_last(struct depart *depart, const char *to, struct error *err)
{
	struct push push;

	if (sending_begin(depart, &depart->arena, to, &push, err) < 0)
		return -1;
	push.frozen = true;
	return run_push(depart, &push, err);
}

void sending_last_to_others(struct depart *depart, const char *dataset)
{
	struct error err;
	size_t n;
	const struct pushed *copies =
		pusher_copies(depart->node->copies->pusher, &depart->arena, dataset, &n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(copies[i].to, depart->to) != 0 && copies[i].synced && !copies[i].failed)
			sending_last(depart, copies[i].to, &err);
}
