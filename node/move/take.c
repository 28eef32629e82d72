/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The steps from a copy to the volume.
 *
 * Invariant: the epoch is recorded before one `zfs rename` makes the copy the volume; a zvol has a
 * device only after the rename.
 */
#include "node/move/take.h"

#include <inttypes.h>

#include "common/log.h"
#include "node/attach/device.h"
#include "node/attach/family.h"
#include "node/attach/unused.h"
#include "node/catalog/catalog.h"
#include "node/copy/history.h"
#include "node/copy/pins.h"
#include "node/host/moves.h"
#include "node/host/owner.h"
#include "node/zfs/zfs.h"

/* catalog_get waits until no zfs runs that an earlier zcsi-node has started. */
int take_read(struct rpc_call *call, const char *id, struct place *ret, struct error *err)
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

int take_check_unused(struct arena *arena, const struct place *place, struct error *err)
{
	const char *format = place->device == DEVICE_NONE ? FORMAT_ZFS : FORMAT_BLOCK;
	const struct dataset copy = {.name = (char *)place->name, .format = format_find(format)};

	if (unused_check(arena, &copy, err) == 0)
		return 0;
	return fail_context(err, "'%s'", place->name);
}

/*
 * Make the bookmarks of the other copies, from which the pushes of this node go on. A failure does
 * not end the move: at worst a copy without a bookmark has to be made anew.
 */
static void mark_copies(struct arena *arena, const struct place *place, const struct take *take)
{
	size_t others = place->members.n > 2 ? place->members.n - 2 : 0;
	struct history history;
	struct error err;

	if (!take->n_copies)
		return;
	if (history_read(arena, place->name, &history, &err) < 0) {
		log_warn("cannot read the snapshots of a volume", log_str("dataset", place->name),
			 log_str("error", err.text));
		return;
	}
	for (size_t i = 0; i < take->n_copies; i++) {
		const CopyPoint *copy = take->copies[i];
		const struct point *has = history_snapshot(&history, copy->guid);
		const char *name = history_bookmark(arena, place->name, copy->node_id);
		if (has && pins_arrived(arena, &history, name, has, others, &err) < 0)
			log_warn("cannot bookmark the newest snapshot of a copy",
				 log_str("bookmark", name), log_str("error", err.text));
	}
}

/*
 * Set the epoch and the owner. zcsi:published makes the volume count as used, so it is never given
 * up as one that was made by mistake. A zvol gets a volmode=none of its own, by which the pool
 * shows after the rename that its device is missing.
 */
static int accept_epoch(struct rpc_call *call, const struct take *take, const struct place *place,
			struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	if (take->accepted)
		zfs_property(&properties, "zcsi:accepted", take->accepted);
	zfs_property(&properties, "zcsi:epoch",
		     arena_printf(&call->arena, "%" PRId64, take->epoch));
	zfs_property(&properties, "zcsi:published", "-");
	if (place->encrypted)
		zfs_property(&properties, "zcsi:staged", "-");
	zfs_property(&properties, "zcsi:owner",
		     take->owner ? take->owner : owner_text(call->app, &call->arena, ""));
	if (take->lost)
		zfs_property(&properties, "zcsi:failover", take->lost);
	if (place->device != DEVICE_NONE)
		zfs_property(&properties, "volmode", "none");
	return zfs_set(place->name, &properties, err);
}

/*
 * Rename an encrypted volume with its family locked: that lock is named after the volume, so no
 * other call may hold it while the name changes.
 */
int take_rename(struct rpc_call *call, const struct place *place, const char *name,
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

int take_finish(struct rpc_call *call, const char *name, bool hidden, struct error *err)
{
	const struct node *node = call->app;

	if (hidden && device_show(name, err) < 0)
		return -1;
	return catalog_reread(node->catalog, call->deadline, name, err);
}

int take_over(struct rpc_call *call, const struct take *take, const struct place *place,
	      struct error *err)
{
	const struct node *node = call->app;
	const char *parent = catalog_parent(node->catalog);
	const char *name = dataset_name(&call->arena, parent, take->id);
	struct error ignored;
	struct place now;

	mark_copies(&call->arena, place, take);
	if (accept_epoch(call, take, place, err) < 0 || device_check_gone(place->name, err) < 0)
		return -1;
	if (take_rename(call, place, name, err) < 0 &&
	    (place_read(&call->arena, parent, take->id, &now, &ignored) < 0 ||
	     now.role != PLACE_PRIMARY))
		return -1;
	return take_finish(call, name, place->device != DEVICE_NONE, err);
}
