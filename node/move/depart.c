/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Giving a volume to another node: the steps of step.c, each after a new look at the pool.
 *
 * Invariant: from the last snapshot on, calls for the volume are refused (node/host/moves.h), and
 * its copies are locked, so nothing is pushed and nothing thinned. The volume is renamed only after
 * the proof that nothing uses it, followed by the look that nothing was written. Once it is a copy,
 * only the other node can end the move.
 */
#include "node/move/depart.h"

#include <string.h>

#include "common/clock.h"
#include "node/agent/origin.h"
#include "node/attach/family.h"
#include "node/attach/unused.h"
#include "node/catalog/change.h"
#include "node/copy/history.h"
#include "node/export/exports.h"
#include "node/host/moves.h"
#include "node/move/ask.h"
#include "node/move/keyed.h"
#include "node/move/ready.h"
#include "node/move/rules.h"
#include "node/move/sending.h"
#include "node/move/step.h"
#include "node/replica/replica.h"
#include "node/zfs/zfs.h"

#define FIND_MS 10000
#define WAIT_MS 30000 /* for other calls that lock the volume */

static const char *parent_of(const struct depart *depart)
{
	return catalog_parent(depart->node->catalog);
}

struct closing {
	const struct depart *depart;
	int failed;
	struct error *err;
};

/* Close the volume, and check once more that it is not in use. Runs as a call for the volume. */
static void close_volume(void *arg)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct closing *closing = arg;
	const struct depart *depart = closing->depart;
	const struct node *node = depart->node;
	struct dataset *volume;

	moves_close(node->moves, depart->id, depart->to);
	closing->failed = ready_check(node, &arena, depart->id, depart->to, closing->err) < 0 ||
			  catalog_get(node->catalog, now_ms() + FIND_MS, &arena, depart->id,
				      &volume, closing->err) < 0 ||
			  exports_apply(&arena, node, volume, now_ms() + WAIT_MS, closing->err) < 0;
	if (closing->failed)
		moves_open(node->moves, depart->id);
}

/* The steps */

static int mark(struct depart *depart, const struct place *place, struct error *err)
{
	const char *name = history_snapshot_name(&depart->arena, place->name, wall_us());
	struct zfs_properties properties = {.n = 0};

	zfs_property(&properties, "zcsi:moving",
		     place_mark(&depart->arena, depart->to, place->epoch + 1));
	return zfs_snapshot(&name, 1, &properties, err);
}

static CopyPoint *copy_point(struct arena *arena, const char *node, uint64_t guid)
{
	CopyPoint *point = new_copy_point(arena);

	point->node_id = arena_strdup(arena, node);
	point->guid = guid;
	return point;
}

/*
 * Tell what the other copies have, which only the bookmarks here show. Of two nodes the next owner
 * sees that itself.
 */
static int add_copies(struct depart *depart, const struct place *place, PromoteRequest *request,
		      struct error *err)
{
	const struct members *members = &place->members;
	struct arena *arena = &depart->arena;
	struct history history;

	if (members->n < 3)
		return 0;
	if (history_read(arena, place->name, &history, err) < 0)
		return -1;
	request->copies = arena_alloc(arena, (members->n + 1) * sizeof(*request->copies));
	request->copies[request->n_copies++] = copy_point(arena, depart->node->id, request->guid);
	for (size_t i = 0; i < members->n; i++) {
		const char *name = history_bookmark(arena, place->name, members->nodes[i]);
		const struct point *has = history_named(&history, name);
		if (has && strcmp(members->nodes[i], depart->to) != 0)
			request->copies[request->n_copies++] =
				copy_point(arena, members->nodes[i], has->guid);
	}
	return 0;
}

static int ask_to_promote(struct depart *depart, const struct place *place, bool check,
			  struct error *err)
{
	const struct place_snapshot *end = place_marked(place);
	PromoteRequest *request = new_promote_request(&depart->arena);
	const PromoteResponse *response;

	request->id = arena_strdup(&depart->arena, depart->id);
	request->from_node_id = arena_strdup(&depart->arena, depart->node->id);
	request->epoch = end->epoch;
	request->guid = end->guid;
	request->lineage = (char *)place->members.lineage;
	request->check = check;
	if (!check && add_copies(depart, place, request, err) < 0)
		return -1;
	return ask_node(depart->node, depart->to, &depart->arena, "Promote", &request->base,
			&response, err);
}

static int send(struct depart *depart, const struct place *place, struct error *err)
{
	if (sending_last(depart, depart->to, err) < 0 ||
	    ask_to_promote(depart, place, true, err) < 0)
		return -1;
	sending_last_to_others(depart, place->name);
	depart->arrived = true;
	return 0;
}

static struct move_view view_of(const struct depart *depart, const struct place *place)
{
	const struct place_snapshot *end = place_marked(place);
	bool marked = end && strcmp(end->to, depart->to) == 0;

	return (struct move_view){
		.role = place->role,
		.cancelled = depart->cancels,
		.marked = marked,
		.ends = marked && (place->role == PLACE_COPY ? !place_written_after(place, end)
							     : place_ends_with(place, end)),
		.arrived = depart->arrived,
		.promoted = depart->promoted,
	};
}

/* Rename the volume, unless it is in use or was changed. The caller holds its locks. */
static int give_up_locked(struct depart *depart, struct error *err)
{
	const char *name = replica_name(&depart->arena, parent_of(depart), depart->id);
	struct dataset *volume;
	struct place place;

	if (catalog_get(depart->node->catalog, now_ms() + FIND_MS, &depart->arena, depart->id,
			&volume, err) < 0 ||
	    unused_check(&depart->arena, volume, err) < 0 ||
	    place_read(&depart->arena, parent_of(depart), depart->id, &place, err) < 0)
		return -1;
	const struct move_view view = view_of(depart, &place);
	if (move_next(&view) != MOVE_GIVE_UP)
		return 0;
	return zfs_rename(place.name, name, err);
}

/* The lock of an encrypted volume is named after it, so the name must not change meanwhile. */
static int give_up_with_key(struct depart *depart, const struct place *place, struct error *err)
{
	struct rpc_call call = {.app = (void *)depart->node, .deadline = now_ms() + WAIT_MS};
	struct family family;
	int failed;

	if (!place->encrypted)
		return give_up_locked(depart, err);
	arena_init(&call.arena, SIZE_MAX);
	failed = family_lock(&call, place->name, &family, err);
	if (!failed) {
		failed = give_up_locked(depart, err);
		family_unlock(&call, &family);
	}
	arena_fini(&call.arena);
	return failed;
}

static int give_up(struct depart *depart, const struct place *place, struct error *err)
{
	struct catalog *catalog = depart->node->catalog;
	const char *key = origin_key(&depart->arena, place->name);

	if (replica_make_folder(&depart->arena, parent_of(depart), err) < 0 ||
	    catalog_lock_key(catalog, now_ms() + WAIT_MS, key, err) < 0)
		return -1;
	int failed = give_up_with_key(depart, place, err);
	catalog_unlock_key(catalog, key);
	return failed;
}

/* Tell the catalog that the volume is not here, and so controllers that the names have changed. */
static void drop(const struct depart *depart)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	catalog_drop(depart->node->catalog, dataset_name(&arena, parent_of(depart), depart->id));
}

static int promote_other(struct depart *depart, const struct place *place, struct error *err)
{
	if (ask_to_promote(depart, place, false, err) < 0)
		return -1;
	depart->promoted = true;
	moves_open(depart->node->moves, depart->id);
	drop(depart);
	return 0;
}

/* A copy gets the epoch instead: then this host never takes the volume back at that epoch. */
static int unmark(struct depart *depart, const struct place *place, struct error *err)
{
	const struct place_snapshot *end = place_marked(place);
	struct zfs_properties properties = {.n = 0};

	if (place->role == PLACE_PRIMARY)
		return zfs_inherit(end->name, "zcsi:moving", err);
	zfs_property(&properties, "zcsi:epoch",
		     arena_printf(&depart->arena, "%lld", (long long)end->epoch));
	return zfs_set(place->name, &properties, err);
}

static int fail_for_person(const struct depart *depart, const struct place *place,
			   struct error *err)
{
	if (place->role == PLACE_NONE)
		return fail(err, ERR_FAILED_PRECONDITION, "the pool has nothing of it any more");
	return rules_fail_written(depart->node->id, place, place_marked(place), err);
}

static int carry_out(struct depart *depart, const struct place *place, enum move_step step,
		     struct error *err)
{
	switch (step) {
	case MOVE_MARK:
		depart->arrived = false;
		return mark(depart, place, err);
	case MOVE_SEND:
		return send(depart, place, err);
	case MOVE_GIVE_UP:
		return give_up(depart, place, err);
	case MOVE_PROMOTE:
		return promote_other(depart, place, err);
	case MOVE_UNMARK:
		return unmark(depart, place, err);
	default:
		return fail_for_person(depart, place, err);
	}
}

/* The volume is a copy now, whoever has renamed it. */
static void note_given_up(struct depart *depart)
{
	if (*depart->given_up)
		return;
	*depart->given_up = true;
	drop(depart);
}

/*
 * Look, and carry out a step. Returns 1 after a step, 0 at the end, or -1 with *err: try again if
 * *ret_role is PLACE_COPY.
 */
static int take_step(struct depart *depart, enum place_role *ret_role, struct error *err)
{
	struct place place;

	arena_fini(&depart->arena);
	arena_init(&depart->arena, SIZE_MAX);
	if (place_read(&depart->arena, parent_of(depart), depart->id, &place, err) < 0)
		return -1;
	*ret_role = place.role;
	if (place.role == PLACE_COPY)
		note_given_up(depart);
	const struct move_view view = view_of(depart, &place);
	enum move_step step = move_next(&view);
	if (step == MOVE_END)
		return 0;
	if (carry_out(depart, &place, step, err) == 0)
		return 1;
	/* A rename that hangs may still happen. */
	if (step == MOVE_GIVE_UP && err->code == ERR_UNAVAILABLE)
		*ret_role = PLACE_COPY;
	return -1;
}

/*
 * Carry out the steps to the end. An error while the volume is here makes it stay here. Once it is
 * given up, or if the pool cannot be read, the step is tried again.
 */
static int take_steps(struct depart *depart, struct error *err)
{
	enum place_role role = *depart->given_up ? PLACE_COPY : PLACE_PRIMARY;
	struct error why = {0};
	int more;

	while ((more = take_step(depart, &role, err)) != 0) {
		bool cancels = depart->cancels;
		if (more < 0 && role == PLACE_NONE) {
			moves_open(depart->node->moves, depart->id);
			return -1;
		}
		if (more < 0 && role == PLACE_COPY) {
			if (!depart->retries(depart->arg, err))
				return -1;
			continue;
		}
		if (more < 0 && cancels)
			break;
		depart->cancels |= more < 0 || (*depart->cancelled && role == PLACE_PRIMARY);
		if (depart->cancels && !cancels && more > 0)
			fail(err, ERR_CANCELLED, "the move was cancelled");
		if (depart->cancels && !cancels)
			why = *err;
	}
	/* A copy without a record: the other node has the volume, or one that it was given to. */
	moves_open(depart->node->moves, depart->id);
	if (role == PLACE_COPY)
		return 0;
	*err = why;
	return -1;
}

/* Take the steps with the copies locked. */
static int take_steps_locked(struct depart *depart, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct push push;

	if (sending_begin(depart, &arena, depart->to, &push, err) < 0 ||
	    sending_lock(depart, &push, now_ms() + WAIT_MS, err) < 0)
		return -1;
	int failed = take_steps(depart, err);
	push_unlock(&push);
	return failed;
}

static int move_from_here(struct depart *depart, struct error *err)
{
	struct closing closing = {.depart = depart, .err = err};

	if (sending_catch_up(depart, err) < 0)
		return -1;
	keyed_run(depart->node->copies, depart->id, close_volume, &closing);
	if (closing.failed)
		return -1;
	int failed = take_steps_locked(depart, err);
	if (failed && !*depart->given_up)
		moves_open(depart->node->moves, depart->id);
	return failed;
}

int depart_run(struct depart *depart, struct error *err)
{
	arena_init(&depart->arena, SIZE_MAX);
	int failed = *depart->given_up ? take_steps(depart, err) : move_from_here(depart, err);
	arena_fini(&depart->arena);
	return failed;
}
