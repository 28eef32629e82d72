/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The return of a host whose volume another node took over.
 *
 * Invariant: data that only this host has is kept until a person drops it. The volume becomes a
 * copy only if nothing was written since a snapshot that the new owner has, and if all later
 * snapshots are those that zcsi took for copies and backups. Writes in the intent log alone count:
 * the log is replayed first (node/attach/complete.h). The property `written` also counts each
 * import of the pool, and each mount, of a volume that was ever synced. So if it is not 0, a stream
 * is looked at, which has data only. An encrypted volume is put aside then, because its log cannot
 * be replayed without the key. One `zfs rename` makes the volume, which has the epoch of the new
 * owner by then, a copy, or puts it aside. A host that stops before the rename finds the volume
 * again and goes on.
 */
#include "node/owner/aside.h"

#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "node/agent/origin.h"
#include "node/attach/complete.h"
#include "node/attach/device.h"
#include "node/attach/unused.h"
#include "node/catalog/change.h"
#include "node/copy/history.h"
#include "node/export/exports.h"
#include "node/move/ask.h"
#include "node/move/take.h"
#include "node/owner/diverged.h"
#include "node/owner/split.h"
#include "node/record/ownership.h"
#include "node/replica/replica.h"
#include "node/stream/own_call.h"
#include "node/zfs/send_flags.h"
#include "node/zfs/zfs.h"

#define WAIT_MS  30000 /* for other calls that lock the volume */
#define ASIDE_MS 10000 /* for the answer of the new owner */
#define GUIDS    8192

static bool is_own(const struct place_snapshot *snapshot)
{
	const char *leaf = strchr(snapshot->name, '@') + 1;

	return (!strncmp(leaf, HISTORY_OWN, strlen(HISTORY_OWN)) ||
		!strncmp(leaf, SNAPSHOT_BACKUP, strlen(SNAPSHOT_BACKUP))) &&
	       !snapshot->cloned;
}

enum aside_how aside_judge(const struct place *place, uint64_t base)
{
	const struct place_snapshot *common = base ? place_snapshot(place, base) : NULL;

	if (!common)
		return ASIDE_KEEP;
	for (const struct place_snapshot *at = common + 1; at < place->snapshots + place->n; at++)
		if (!is_own(at))
			return ASIDE_KEEP;
	return place_written_after(place, common) > 0 ? ASIDE_LOOK : ASIDE_COPY;
}

/*
 * *ret is false if writes may be left in the intent log, as in that of an encrypted volume, whose
 * key zcsi does not have here.
 */
static int replay(struct arena *arena, const struct dataset *volume, bool *ret, struct error *err)
{
	*ret = !volume->has_key && complete_volume(arena, volume, err) == 0;
	return *ret || volume->has_key || err->code == ERR_FAILED_PRECONDITION ? 0 : -1;
}

/*
 * Decide what ASIDE_LOOK leaves open. ZFS goes on to count something as written to the copy until
 * the next push has reached it.
 */
static int look(const struct place *place, uint64_t base, bool replayed, enum aside_how *ret,
		struct error *err)
{
	const char *common = place_snapshot(place, base)->name;
	bool differs = true;

	if (replayed && !place->encrypted && send_differs(common, place->name, &differs, err) < 0)
		return -1;
	*ret = differs ? ASIDE_KEEP : ASIDE_COPY;
	return 0;
}

/* Ask the new owner. *ret is the guid of the newest snapshot that it has too; 0: none. */
static int find_common(const struct node *node, struct arena *arena, const char *id,
		       const char *owner, const struct place *place, uint64_t *ret,
		       struct error *err)
{
	FindBaseRequest *request = new_find_base_request(arena);
	const FindBaseResponse *response;

	request->id = arena_strdup(arena, id);
	request->lineage = (char *)place->members.lineage;
	request->node_id = arena_strdup(arena, node->id);
	request->guids = arena_alloc(arena, (place->n + 1) * sizeof(*request->guids));
	for (size_t i = place->n; i-- > 0 && request->n_guids < GUIDS;)
		request->guids[request->n_guids++] = place->snapshots[i].guid;
	if (ask_node_until(node, owner, arena, "FindBase", &request->base, now_ms() + ASIDE_MS,
			   &response, err) < 0)
		return fail_context(err, "node '%s', which took it over", owner);
	*ret = response->guid;
	return 0;
}

/* Destroy the snapshots after the one that both nodes have: nothing was written after that one. */
static int destroy_later(const struct place *place, uint64_t base, struct error *err)
{
	for (size_t i = place->n; i-- > 0 && place->snapshots[i].guid != base;)
		if (zfs_destroy(place->snapshots[i].name, err) < 0 && err->code != ERR_NOT_FOUND)
			return -1;
	return 0;
}

static int rename_volume(const struct node *node, const struct place *place, const char *name,
			 struct error *err)
{
	auto_call struct rpc_call call = own_call(node, now_ms() + WAIT_MS);

	return take_rename(&call, place, name, err);
}

/*
 * Give the volume the epoch of the new owner before it is a copy. A copy with the former epoch
 * would permit the move that its last record names, and a failover to it would use the new owner's
 * epoch a second time.
 */
static int take_epoch(struct arena *arena, const struct place *place, const struct dataset *volume,
		      struct error *err)
{
	int64_t epoch = ownership_parse(arena, volume->owner).newer_epoch;
	struct zfs_properties properties = {.n = 0};

	zfs_property(&properties, "zcsi:epoch", arena_printf(arena, "%" PRId64, epoch));
	return zfs_set(place->name, &properties, err);
}

/* Make the volume a copy, which can receive the streams of the new owner. */
static int become_copy(const struct node *node, struct arena *arena, const struct place *place,
		       const struct dataset *volume, uint64_t base, struct error *err)
{
	const char *parent = catalog_parent(node->catalog);
	const char *name = replica_name(arena, parent, volume->id);
	struct zfs_properties properties = {.n = 0};

	if (replica_make_folder(arena, parent, REPLICA_FOLDER, err) < 0 ||
	    destroy_later(place, base, err) < 0 || take_epoch(arena, place, volume, err) < 0 ||
	    rename_volume(node, place, name, err) < 0)
		return -1;
	catalog_drop(node->catalog, volume->name);
	log_info("superseded volume is made a copy", log_str("volume", volume->id));
	zfs_property(&properties, "zcsi:owner", "-");
	return zfs_set(name, &properties, err);
}

/* End the reservation of a volume that is put aside, because nothing is going to write to it. */
static int release(const struct place *place, struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	if (!place->reserved)
		return 0;
	zfs_property(&properties, "refreservation", "none");
	return zfs_set(place->name, &properties, err);
}

/*
 * Rename the volume to its name and epoch below DIVERGED_FOLDER. If an earlier volume of the same
 * name was put aside at the same epoch, add the lineage, which differs.
 */
static int rename_apart(const struct node *node, struct arena *arena, const struct place *place,
			const char **ret, struct error *err)
{
	*ret = arena_printf(arena, "%s/" DIVERGED_FOLDER "%s-%" PRId64,
			    catalog_parent(node->catalog), strrchr(place->name, '/'), place->epoch);
	if (rename_volume(node, place, *ret, err) == 0)
		return 0;
	if (err->code != ERR_ALREADY_EXISTS)
		return -1;
	*ret = arena_printf(arena, "%s-%s", *ret, place->members.lineage);
	return rename_volume(node, place, *ret, err);
}

/*
 * Put the volume aside. If the new owner has one of its snapshots, first make a copy at that
 * snapshot.
 */
static int keep(const struct node *node, struct arena *arena, const struct place *place,
		const struct dataset *volume, uint64_t base, struct error *err)
{
	const char *parent = catalog_parent(node->catalog), *name;
	const struct place_snapshot *common = base ? place_snapshot(place, base) : NULL;

	if (replica_make_folder(arena, parent, DIVERGED_FOLDER, err) < 0 ||
	    release(place, err) < 0 ||
	    (common && split_begin(arena, parent, volume, common, err) < 0) ||
	    rename_apart(node, arena, place, &name, err) < 0)
		return -1;
	catalog_drop(node->catalog, volume->name);
	log_warn("superseded volume has data of its own and is put aside until 'zcsi diverged "
		 "drop'",
		 log_str("volume", volume->id), log_str("dataset", name));
	diverged_look(node);
	return 0;
}

static int step_locked(const struct node *node, struct arena *arena, const struct dataset *volume,
		       struct error *err)
{
	const char *owner = ownership_parse(arena, volume->owner).newer;
	enum aside_how how;
	struct place place;
	uint64_t base;
	bool replayed;

	if (exports_apply(arena, node, volume, now_ms() + WAIT_MS, err) < 0 ||
	    unused_check(arena, volume, err) < 0 || replay(arena, volume, &replayed, err) < 0 ||
	    (volume->format->zvol && device_hide(volume->name, err) < 0) ||
	    device_check_gone(volume->name, err) < 0 ||
	    place_read(arena, catalog_parent(node->catalog), volume->id, &place, err) < 0)
		return -1;
	if (place.role != PLACE_PRIMARY)
		return fail(err, ERR_ABORTED, "'%s' is gone", volume->name);
	if (find_common(node, arena, volume->id, owner, &place, &base, err) < 0)
		return -1;
	how = aside_judge(&place, base);
	if (how == ASIDE_LOOK && look(&place, base, replayed, &how, err) < 0)
		return -1;
	return how == ASIDE_COPY ? become_copy(node, arena, &place, volume, base, err)
				 : keep(node, arena, &place, volume, base, err);
}

int aside_step(const struct node *node, struct arena *arena, struct dataset *volume,
	       struct error *err)
{
	const char *key = origin_key(arena, volume->name);

	if (catalog_lock_key(node->catalog, now_ms() + WAIT_MS, key, err) < 0)
		return -1;
	int failed = step_locked(node, arena, volume, err);
	catalog_unlock_key(node->catalog, key);
	return failed;
}
