/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The step of a move that makes the volume a copy.
 *
 * Invariant: the volume is renamed only after the proof that nothing uses it, followed by a check
 * that nothing was written after its last snapshot. ZFS would rename a filesystem that is mounted
 * in another namespace, and a zvol whose device is open. No other call that renames the volume,
 * clones it or loads its key runs meanwhile.
 */
#include "node/move/give_up.h"

#include "common/clock.h"
#include "node/agent/origin.h"
#include "node/attach/device.h"
#include "node/attach/family.h"
#include "node/attach/unused.h"
#include "node/catalog/change.h"
#include "node/replica/replica.h"
#include "node/stream/own_call.h"
#include "node/zfs/zfs.h"

#define FIND_MS 10000
#define WAIT_MS 30000 /* for other calls that lock the volume */

/* Rename the volume, unless it is in use or was changed. The caller holds its locks. */
static int give_up_locked(struct depart *depart, struct error *err)
{
	const char *name =
		replica_name(&depart->arena, catalog_parent(depart->node->catalog), depart->id);
	struct dataset *volume;
	struct place place;

	if (catalog_get(depart->node->catalog, now_ms() + FIND_MS, &depart->arena, depart->id,
			&volume, err) < 0 ||
	    unused_check(&depart->arena, volume, err) < 0 ||
	    device_check_gone(volume->name, err) < 0 ||
	    place_read(&depart->arena, catalog_parent(depart->node->catalog), depart->id, &place,
		       err) < 0)
		return -1;
	if (depart_next(depart, &place) != MOVE_GIVE_UP)
		return 0;
	return zfs_rename(place.name, name, err);
}

/*
 * Rename an encrypted volume with its family locked: that lock is named after the volume, so no
 * other call may hold it while the name changes.
 */
static int give_up_with_key(struct depart *depart, const struct place *place, struct error *err)
{
	auto_call struct rpc_call call = own_call(depart->node, now_ms() + WAIT_MS);
	struct family family;

	if (!place->encrypted)
		return give_up_locked(depart, err);
	if (family_lock(&call, place->name, &family, err) < 0)
		return -1;
	int failed = give_up_locked(depart, err);
	family_unlock(&call, &family);
	return failed;
}

int give_up(struct depart *depart, const struct place *place, struct error *err)
{
	struct catalog *catalog = depart->node->catalog;
	const char *key = origin_key(&depart->arena, place->name);

	if (replica_make_folder(&depart->arena, catalog_parent(depart->node->catalog),
				REPLICA_FOLDER, err) < 0 ||
	    catalog_lock_key(catalog, now_ms() + WAIT_MS, key, err) < 0)
		return -1;
	int failed = give_up_with_key(depart, place, err);
	catalog_unlock_key(catalog, key);
	return failed;
}
