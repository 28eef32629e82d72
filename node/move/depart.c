/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Giving a volume to another node: the steps of step.c, each after a new look at the pool.
 *
 * Invariant: from the last snapshot on, calls for the volume are refused (node/host/moves.h), and
 * its copies are locked, so nothing is pushed and nothing thinned. The volume is renamed only after
 * the proof that nothing uses it, followed by a check that nothing was written after its last
 * snapshot. Once the volume is a copy, only the other node can end the move.
 */
#include "node/move/depart.h"

#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "node/attach/complete.h"
#include "node/attach/device.h"
#include "node/catalog/change.h"
#include "node/copy/history.h"
#include "node/export/exports.h"
#include "node/host/moves.h"
#include "node/move/give_up.h"
#include "node/stream/keyed.h"
#include "node/move/offer.h"
#include "node/move/ready.h"
#include "node/move/rules.h"
#include "node/move/sending.h"
#include "node/record/ownership.h"
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
	closing->failed =
		ready_check(node, &arena, depart->id, depart->to, closing->err) < 0 ||
		catalog_get(node->catalog, now_ms() + FIND_MS, &arena, depart->id, &volume,
			    closing->err) < 0 ||
		exports_apply(&arena, node, volume, now_ms() + WAIT_MS, closing->err) < 0 ||
		complete_volume(&arena, volume, closing->err) < 0;
}

/* The steps of a move */

static int mark(struct depart *depart, const struct place *place, struct error *err)
{
	const char *name = history_snapshot_name(&depart->arena, place->name, wall_us());
	struct zfs_properties properties = {.n = 0};

	zfs_property(&properties, "zcsi:moving",
		     mark_format(&depart->arena, depart->to, place->epoch + 1));
	return zfs_snapshot(&name, 1, &properties, err);
}

static int send(struct depart *depart, const struct place *place, struct error *err)
{
	if (sending_last(depart, depart->to, err) < 0 || offer_volume(depart, place, true, err) < 0)
		return -1;
	sending_last_to_others(depart, place->name);
	depart->arrived = true;
	return 0;
}

static int show(struct depart *depart, const struct place *place, struct error *err)
{
	if (device_show(place->name, err) < 0)
		return -1;
	depart->shown = true;
	return 0;
}

/* Remove the volume from the catalog; controllers then see that its name is free here. */
static void drop(const struct depart *depart)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	catalog_drop(depart->node->catalog, dataset_name(&arena, parent_of(depart), depart->id));
}

static int promote_other(struct depart *depart, const struct place *place, struct error *err)
{
	if (offer_volume(depart, place, false, err) < 0)
		return -1;
	depart->promoted = true;
	moves_open(depart->node->moves, depart->id);
	drop(depart);
	return 0;
}

/*
 * Give the copy the epoch of the move. The record of the move, which names that epoch, is then
 * invalid, so this host never takes the volume back at that epoch. The caller has locked the copy;
 * before the lock, a stream or a failover may have given the copy a later epoch.
 */
static int unmark_locked(struct depart *depart, struct error *err)
{
	struct zfs_properties properties = {.n = 0};
	struct place place;

	if (place_read(&depart->arena, parent_of(depart), depart->id, &place, err) < 0)
		return -1;
	if (place.role != PLACE_COPY || depart_next(depart, &place) != MOVE_UNMARK)
		return 0;
	zfs_property(&properties, "zcsi:epoch",
		     arena_printf(&depart->arena, "%" PRId64, place.epoch + 1));
	return zfs_set(place.name, &properties, err);
}

static int unmark_copy(struct depart *depart, const struct place *place, struct error *err)
{
	struct catalog *catalog = depart->node->catalog;
	const char *key = replica_key(&depart->arena, place->name);

	if (catalog_lock_key(catalog, now_ms() + WAIT_MS, key, err) < 0)
		return -1;
	int failed = unmark_locked(depart, err);
	catalog_unlock_key(catalog, key);
	return failed;
}

/* Remove the record of the move. */
static int unmark(struct depart *depart, const struct place *place, struct error *err)
{
	if (place->role == PLACE_PRIMARY)
		return zfs_inherit(place_marked(place)->name, "zcsi:moving", err);
	return unmark_copy(depart, place, err);
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
	case MOVE_HIDE:
		depart->unusable = true; /* or will be, if zfs is hung */
		return device_hide(place->name, err);
	case MOVE_GIVE_UP:
		depart->unusable = true;
		return give_up(depart, place, err);
	case MOVE_PROMOTE:
		return promote_other(depart, place, err);
	case MOVE_SHOW:
		return show(depart, place, err);
	case MOVE_UNMARK:
		return unmark(depart, place, err);
	default:
		return fail_for_person(depart, place, err);
	}
}

/* The order of the steps */

/*
 * Returns the state of the device. A zvol that is still hidden after device_show inherits
 * volmode=none from its parent, which is for the operator to change.
 */
static enum place_device device_of(const struct depart *depart, const struct place *place)
{
	return depart->shown && place->device == DEVICE_HIDDEN ? DEVICE_NONE : place->device;
}

enum move_step depart_next(const struct depart *depart, const struct place *place)
{
	const struct place_snapshot *end = place_marked(place);
	bool marked = end && strcmp(end->to, depart->to) == 0;
	const struct move_view view = {
		.role = place->role,
		.device = device_of(depart, place),
		.cancelled = depart->stays,
		.marked = marked,
		.ends = marked && (place->role == PLACE_COPY ? !place_written_after(place, end)
							     : place_ends_with(place, end)),
		.arrived = depart->arrived,
		.promoted = depart->promoted,
	};

	return move_next(&view);
}

static void stay(struct depart *depart, const struct error *why)
{
	depart->stays = true;
	depart->why = *why;
}

/* Note the place of the volume, which another program may have changed. */
static void note(struct depart *depart, const struct place *place)
{
	struct error why;

	depart->role = place->role;
	depart->unusable = place->role == PLACE_COPY || device_of(depart, place) == DEVICE_HIDDEN;
	if (place->role == PLACE_COPY && !*depart->given_up) {
		*depart->given_up = true;
		drop(depart);
	}
	if (place->role == PLACE_PRIMARY && *depart->cancelled && !depart->stays) {
		fail(&why, ERR_CANCELLED, "the move was cancelled");
		stay(depart, &why);
	}
}

/* Read the place and carry out the next step. Returns 1; 0 at the end; or -1 with *err. */
static int take_step(struct depart *depart, struct error *err)
{
	struct place place;

	arena_fini(&depart->arena);
	arena_init(&depart->arena, SIZE_MAX);
	if (place_read(&depart->arena, parent_of(depart), depart->id, &place, err) < 0)
		return -1;
	note(depart, &place);
	enum move_step step = depart_next(depart, &place);
	if (step == MOVE_END)
		return 0;
	return carry_out(depart, &place, step, err) < 0 ? -1 : 1;
}

/*
 * Returns true if another step follows an error. The first error while the volume is here cancels
 * the move. As long as the volume may be unusable here, a failed step is tried again.
 */
static bool goes_on(struct depart *depart, const struct error *err)
{
	if (depart->role != PLACE_PRIMARY || depart->stays)
		return depart->unusable && depart->retries(depart->arg, err);
	stay(depart, err);
	return true;
}

static int take_steps(struct depart *depart, struct error *err)
{
	int more;

	do
		more = take_step(depart, err);
	while (more > 0 || (more < 0 && goes_on(depart, err)));
	bool stayed = depart->role == PLACE_PRIMARY && !depart->promoted;
	if (stayed)
		*err = depart->why;
	/* No record of a move is left: the other node has the volume, or gave it away. */
	return more == 0 && !stayed ? 0 : -1;
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
	return take_steps_locked(depart, err);
}

int depart_run(struct depart *depart, struct error *err)
{
	arena_init(&depart->arena, SIZE_MAX);
	depart->role = *depart->given_up ? PLACE_COPY : PLACE_PRIMARY;
	depart->unusable = *depart->given_up;
	int failed = *depart->given_up ? take_steps(depart, err) : move_from_here(depart, err);
	/* If zcsi-node is stopping, the next zcsi-node makes the volume usable. */
	if (!failed || !depart->unusable)
		moves_open(depart->node->moves, depart->id);
	arena_fini(&depart->arena);
	return failed;
}
