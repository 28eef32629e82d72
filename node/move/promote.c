/* SPDX-License-Identifier: MPL-2.0 */
/*
 * GetMove and Promote of zcsi.v1.Replica: the former owner of a volume, and the next one.
 *
 * Invariant: a copy becomes the volume only after this node itself has heard from the former owner,
 * one of the nodes that are recorded with the copy, that it has given the volume up for this node,
 * at this epoch, with a snapshot that the copy ends with. That comes from the owner's pool. One
 * `zfs rename` makes it the volume; a zvol has a device only after that. An epoch is used once: a
 * node that has given the volume up takes it only at a later epoch.
 */
#include <inttypes.h>
#include <string.h>

#include "common/log.h"
#include "node/attach/device.h"
#include "node/attach/family.h"
#include "node/attach/unused.h"
#include "node/catalog/catalog.h"
#include "node/copy/history.h"
#include "node/copy/pins.h"
#include "node/host/moves.h"
#include "node/move/ask.h"
#include "node/move/rules.h"
#include "node/replica/replica.h"
#include "node/service.h"
#include "node/zfs/zfs.h"

/*
 * Read the place of a volume, after the moves of an earlier zcsi-node are known and no zfs that it
 * started runs any more: catalog_get waits for that. The volume need not be in the catalog.
 */
static int read_settled(struct rpc_call *call, const char *id, struct place *ret, struct error *err)
{
	const struct node *node = call->app;
	struct dataset *volume;

	if (request_text(id, "id", err) < 0 || node_need_pool(call, "volume", id, err) < 0 ||
	    moves_wait(node->moves, call->deadline, err) < 0)
		return -1;
	if (catalog_get(node->catalog, call->deadline, &call->arena, id, &volume, err) < 0 &&
	    err->code != ERR_NOT_FOUND)
		return -1;
	return place_read(&call->arena, catalog_parent(node->catalog), id, ret, err);
}

/* The former owner */

int get_move(struct rpc_call *call, const GetMoveRequest *req, GetMoveResponse *rsp,
	     struct error *err)
{
	const char *const caller[] = {req->node_id};
	const struct node *node = call->app;
	const struct place_snapshot *end;
	struct place place;

	if (request_text(req->node_id, "node_id", err) < 0 ||
	    replica_check_caller(call->caller, caller, 1, req->id, err) < 0 ||
	    read_settled(call, req->id, &place, err) < 0 ||
	    rules_given_up(node->id, &place, req, &end, err) < 0)
		return -1;
	rsp->epoch = end->epoch;
	rsp->guid = end->guid;
	rsp->lineage = arena_strdup(&call->arena, place.members.lineage);
	return 0;
}

/* The next owner */

static int check_unused(struct arena *arena, const struct place *place, struct error *err)
{
	const char *format = place->device == DEVICE_NONE ? FORMAT_ZFS : FORMAT_BLOCK;
	const struct dataset copy = {.name = (char *)place->name, .format = format_find(format)};

	if (unused_check(arena, &copy, err) == 0)
		return 0;
	return fail_context(err, "'%s'", place->name);
}

/* Ask the former owner. Before it gives the volume up, it is enough that it answers. */
static int ask_owner(struct rpc_call *call, const PromoteRequest *req, struct error *err)
{
	const struct node *node = call->app;
	GetMoveRequest *request = new_get_move_request(&call->arena);
	const GetMoveResponse *says;

	request->id = req->id;
	request->node_id = arena_strdup(&call->arena, node->id);
	if (ask_node(node, req->from_node_id, &call->arena, "GetMove", &request->base, &says, err) <
	    0) {
		if (req->check && err->code == ERR_FAILED_PRECONDITION)
			return 0;
		return fail_context(err, "node '%s', which is to confirm it", req->from_node_id);
	}
	if (says->epoch == req->epoch && says->guid == req->guid &&
	    strcmp(says->lineage, req->lineage) == 0)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "node '%s' has given it up at epoch %" PRId64 ", not %" PRId64
		    ", or with another snapshot",
		    req->from_node_id, says->epoch, req->epoch);
}

/*
 * Reserve the space that the owner has reserved, before it gives the volume up. The pushes reserve
 * it for a filesystem, and do not end a reservation.
 */
static int reserve(const struct place *place, const PromoteRequest *req, struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	if (req->reserved ? place->device == DEVICE_NONE : !place->reserved)
		return 0;
	zfs_property(&properties, "refreservation", req->reserved ? "auto" : "none");
	return zfs_set(place->name, &properties, err);
}

/*
 * Make the bookmarks of the other copies, from which this node continues them. A copy without one
 * may have to be made anew, so no failure ends the move.
 */
static void mark_copies(struct arena *arena, const struct place *place, const PromoteRequest *req)
{
	struct history history;
	struct error err;

	if (!req->n_copies)
		return;
	if (history_read(arena, place->name, &history, &err) < 0) {
		log_warn("cannot read where the copies are", log_str("dataset", place->name),
			 log_str("error", err.text));
		return;
	}
	for (size_t i = 0; i < req->n_copies; i++) {
		const CopyPoint *copy = req->copies[i];
		const struct point *has = history_snapshot(&history, copy->guid);
		const char *name = history_bookmark(arena, place->name, copy->node_id);
		if (has && pins_arrived(arena, &history, name, has, 0, &err) < 0)
			log_warn("cannot bookmark what a copy has", log_str("bookmark", name),
				 log_str("error", err.text));
	}
}

/*
 * The volume counts as used, so it is never taken for one that was made by mistake. A zvol gets a
 * volmode=none of its own, by which the pool shows after the rename that its device is missing.
 */
static int accept_epoch(struct arena *arena, const struct place *place, int64_t epoch,
			struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	zfs_property(&properties, "zcsi:epoch", arena_printf(arena, "%" PRId64, epoch));
	zfs_property(&properties, "zcsi:published", "-");
	if (place->device != DEVICE_NONE)
		zfs_property(&properties, "volmode", "none");
	return zfs_set(place->name, &properties, err);
}

/* The lock of an encrypted volume is named after it, so the name must not change meanwhile. */
static int rename_copy(struct rpc_call *call, const struct place *place, const char *name,
		       struct error *err)
{
	struct family family;

	if (!place->encrypted)
		return zfs_rename(place->name, name, err);
	if (family_lock(call, place->name, &family, err) < 0)
		return -1;
	int failed = zfs_rename(place->name, name, err);
	family_unlock(call, &family);
	return failed;
}

/* Give the volume its device, and report it to the catalog. */
static int finish(struct rpc_call *call, const char *name, bool hidden, struct error *err)
{
	const struct node *node = call->app;

	if (hidden && device_show(name, err) < 0)
		return -1;
	return catalog_reread(node->catalog, call->deadline, name, err);
}

static int take_over(struct rpc_call *call, const struct place *place, const PromoteRequest *req,
		     struct error *err)
{
	const struct node *node = call->app;
	const char *parent = catalog_parent(node->catalog);
	const char *name = dataset_name(&call->arena, parent, req->id);
	struct error ignored;
	struct place now;

	mark_copies(&call->arena, place, req);
	if (accept_epoch(&call->arena, place, req->epoch, err) < 0 ||
	    device_check_gone(place->name, err) < 0)
		return -1;
	if (rename_copy(call, place, name, err) < 0 &&
	    (place_read(&call->arena, parent, req->id, &now, &ignored) < 0 ||
	     now.role != PLACE_PRIMARY))
		return -1;
	return finish(call, name, place->device != DEVICE_NONE, err);
}

static int promote_copy(struct rpc_call *call, const PromoteRequest *req, struct error *err)
{
	const struct node *node = call->app;
	struct place place;

	if (read_settled(call, req->id, &place, err) < 0)
		return -1;
	if (place.role == PLACE_PRIMARY && place.epoch >= req->epoch &&
	    strcmp(place.members.lineage, req->lineage) == 0)
		return finish(call, place.name, place.device == DEVICE_HIDDEN, err);
	if (rules_take(node->id, &place, req, err) < 0 ||
	    check_unused(&call->arena, &place, err) < 0 || ask_owner(call, req, err) < 0)
		return -1;
	return req->check ? reserve(&place, req, err) : take_over(call, &place, req, err);
}

int promote(struct rpc_call *call, const PromoteRequest *req, PromoteResponse *rsp,
	    struct error *err)
{
	const char *const caller[] = {req->from_node_id};
	const struct node *node = call->app;

	(void)rsp;
	if (request_text(req->from_node_id, "from_node_id", err) < 0 ||
	    replica_check_caller(call->caller, caller, 1, req->id, err) < 0)
		return -1;
	if (promote_copy(call, req, err) == 0)
		return 0;
	return fail_context(err, "volume '%s' cannot be taken by node '%s'", req->id, node->id);
}
