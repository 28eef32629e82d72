/* SPDX-License-Identifier: MPL-2.0 */
/*
 * RollbackDataset of zcsi.v1.Agent: a volume becomes what it was at a snapshot.
 *
 * `zfs rollback` would destroy all newer snapshots. Here the volume gets a new dataset, a clone of
 * the snapshot, and the former one goes to the trash with the newer snapshots (swap.h).
 *
 * Invariant: a volume is rolled back only while nothing uses it, and if its newest snapshot has all
 * that was written to it. No snapshot is destroyed, and each keeps its id.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "node/agent/origin.h"
#include "node/agent/trash.h"
#include "node/change/alone.h"
#include "node/change/properties.h"
#include "node/change/swap.h"
#include "node/host/moves.h"
#include "node/record/publication.h"
#include "node/service.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_run.h"

/* A rollback that runs: the volume as ZFS has just shown it, and where it goes back to. */
struct rollback {
	struct rpc_call *call;
	struct dataset *volume;
	const struct snapshot *target;
	struct swap swap;
};

static int check_unused(struct rpc_call *call, const struct dataset *volume, size_t children,
			struct error *err)
{
	const struct node *node = call->app;

	if (*volume->members)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it has copies on other nodes, which cannot go back: drop them with "
			    "'zcsi copy drop %s NODE', and add them again afterwards",
			    volume->id);
	if (volume->has_key)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it is encrypted, and ZFS renames no clone that has the key of another "
			    "dataset: create a volume from the snapshot, and use that");
	if (publication_check_none(&call->arena, volume, node->id, err) < 0)
		return -1;
	return alone_check(call, volume, children, err);
}

/* Reading the newest snapshot */

/* *ret_newest is the newest snapshot of the volume, or its origin if it has none, in the arena. */
static int read_newest(struct arena *arena, const char *name, char **ret_newest, struct error *err)
{
	const char *list[] = {"zfs", "list", "-H", "-d",        "1",  "-t", "snapshot",
			      "-o",  "name", "-S", "createtxg", name, NULL};
	const char *get[] = {"zfs", "get", "-H", "-o", "value", "origin", name, NULL};
	const struct exec exec = {.argv = list, .max_output = ZFS_LIST_OUTPUT_MAX};
	auto_free char *listed = NULL, *origin = NULL;

	if (zfs_run_once(&exec, &listed, err) < 0)
		return -1;
	if (!*listed && zfs_run_once(&(struct exec){.argv = get}, &origin, err) < 0)
		return -1;
	const char *found = *listed ? listed : origin;
	*ret_newest = arena_printf(arena, "%.*s", (int)strcspn(found, "\n"), found);
	return 0;
}

/*
 * *ret is true if something was written since the newest snapshot. A clone counts as written from
 * the beginning, with a small number of bytes, which is in its SWAP_PROPERTY.
 */
static int read_written(const char *name, bool *ret, struct error *err)
{
	static const char both[] = "written," SWAP_PROPERTY;
	const char *argv[] = {"zfs", "get", "-Hp", "-o", "value", both, name, NULL};
	auto_free char *out = NULL;

	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0)
		return -1;
	char *mark = out;
	const char *written = strsep(&mark, "\n");
	const char *plus = mark ? strchr(mark, '+') : NULL;
	*ret = strcmp(written, "0") != 0 &&
	       !(plus && strtoull(plus + 1, NULL, 10) == strtoull(written, NULL, 10));
	return 0;
}

/* Making the clone */

/* Make room for the clone, which could not be made with *err. Returns 0 to have it tried again. */
static int make_room(const struct rollback *rollback, struct error *err)
{
	const struct node *node = rollback->call->app;
	const char *trash = dataset_trash(&rollback->call->arena, catalog_parent(node->catalog));

	if (err->code == ERR_ALREADY_EXISTS)
		return swap_discard(&rollback->swap, err);
	if (err->code == ERR_RESOURCE_EXHAUSTED && rollback->volume->reserved)
		return fail_context(err, "it is thick, and the pool needs its size a second time; "
					 "make it thin first");
	if (err->code != ERR_UNAVAILABLE)
		return -1;
	return zfs_create_folder(trash, err) < 0 && err->code != ERR_ALREADY_EXISTS ? -1 : 0;
}

/*
 * Record on the new clone the bytes that ZFS counts as written there, though nothing was written.
 */
static int record_written(const struct rollback *rollback, struct error *err)
{
	struct zfs_properties properties = {.n = 0};
	const char *argv[] = {"zfs", "get", "-Hp", "-o", "value", "written", rollback->swap.clone,
			      NULL};
	auto_free char *out = NULL;

	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0)
		return -1;
	zfs_property(&properties, SWAP_PROPERTY,
		     arena_printf(&rollback->call->arena, "%" PRIu64 "+%" PRIu64,
				  rollback->volume->guid, (uint64_t)strtoull(out, NULL, 10)));
	return zfs_set(rollback->swap.clone, &properties, err);
}

static int clone_locked(const struct rollback *rollback, struct error *err)
{
	struct zfs_properties properties = {.n = 0};
	const char *from = rollback->target->zfs_name, *clone = rollback->swap.clone;

	/* The filesystem on a zvol gets a UUID of its own, like that of any clone. */
	if (properties_read(&rollback->call->arena, rollback->swap.name, "zcsi:formatted",
			    &properties, err) < 0)
		return -1;
	zfs_property(&properties, SWAP_PROPERTY,
		     arena_printf(&rollback->call->arena, "%" PRIu64, rollback->volume->guid));
	if (zfs_clone(from, clone, &properties, err) == 0)
		return 0;
	return make_room(rollback, err) < 0 ? -1 : zfs_clone(from, clone, &properties, err);
}

/*
 * Make the clone. If an earlier rollback has put the dataset of the snapshot into the trash, the
 * origin key of that dataset is locked too.
 */
static int make_clone(const struct rollback *rollback, struct error *err)
{
	struct catalog *catalog = ((struct node *)rollback->call->app)->catalog;
	const char *key = origin_key(&rollback->call->arena, rollback->target->zfs_name);

	if (snapshot_is_of(rollback->target, rollback->volume->name))
		return clone_locked(rollback, err);
	if (catalog_lock_key(catalog, rollback->call->deadline, key, err) < 0)
		return -1;
	int failed = clone_locked(rollback, err);
	catalog_unlock_key(catalog, key);
	return failed;
}

/* The exchange of the two datasets */

/* Report both datasets to the catalog. The next scan adds the unknown values of the new one. */
static void report(const struct rollback *rollback, const struct snapshot_list *snapshots)
{
	struct catalog *catalog = ((struct node *)rollback->call->app)->catalog;
	struct dataset former = *rollback->volume, made = former;

	made.guid = 0;
	made.creation = time(NULL);
	made.deleted = made.keep = 0;
	made.formatted = false;
	made.snapshots = 0;
	if (former.reserved && trash_release_reservation(rollback->swap.former))
		former.reserved = 0;
	catalog_move(catalog, &former, rollback->swap.former, snapshots);
	catalog_put(catalog, &made);
}

static int replace(const struct rollback *rollback, struct error *err)
{
	struct rpc_call *call = rollback->call;
	const struct node *node = call->app;
	const char *id = rollback->volume->id;
	struct snapshot_list snapshots;
	bool missing;

	catalog_snapshots_of(node->catalog, &call->arena, rollback->volume, &snapshots);
	moves_close(node->moves, id, NULL);
	int failed = swap_exchange(call, &rollback->swap, rollback->volume, &missing, err);
	if (!failed)
		report(rollback, &snapshots);
	if (!missing)
		moves_open(node->moves, id);
	return failed;
}

static int carry_out(const struct rollback *rollback, struct error *err)
{
	struct arena *arena = &rollback->call->arena;
	struct error ignored;

	if ((rollback->volume->renaming && agent_end_rename(arena, rollback->volume, err) < 0) ||
	    make_clone(rollback, err) < 0)
		return -1;
	if (record_written(rollback, err) == 0 && replace(rollback, err) == 0)
		return 0;
	swap_discard(&rollback->swap, &ignored);
	return -1;
}

static int take_snapshots_back(const struct rollback *rollback, struct error *err)
{
	struct rpc_call *call = rollback->call;
	struct catalog *catalog = ((struct node *)call->app)->catalog;

	if (swap_promote(catalog, &call->arena, call->deadline, rollback->swap.name,
			 rollback->volume->id, err) == 0)
		return 0;
	return fail_context(err, "it is as in the snapshot, but has not got its earlier snapshots "
				 "back; run the command again");
}

static int roll_back(struct rollback *rollback, const RollbackDatasetRequest *req,
		     RollbackDatasetResponse *rsp, struct error *err)
{
	struct arena *arena = &rollback->call->arena;
	const struct node *node = rollback->call->app;
	const char *parent = catalog_parent(node->catalog);
	bool written;
	size_t children;
	char *newest;

	rollback->volume = agent_prove(arena, parent, rollback->volume, &children, err);
	if (!rollback->volume ||
	    check_unused(rollback->call, rollback->volume, children, err) < 0 ||
	    read_newest(arena, rollback->volume->name, &newest, err) < 0 ||
	    read_written(rollback->volume->name, &written, err) < 0)
		return -1;
	rollback->swap = swap_of(arena, parent, rollback->volume->name, rollback->volume->guid);
	rsp->already = !written && strcmp(newest, rollback->target->zfs_name) == 0;
	rsp->unkept = written;
	if (req->check)
		return 0;
	if (rsp->already)
		return take_snapshots_back(rollback, err);
	if (written)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "something was written since its newest snapshot: take one with 'zcsi "
			    "snapshot %s' first",
			    req->id);
	if (carry_out(rollback, err) < 0)
		return -1;
	rsp->former = strrchr(rollback->swap.former, '/') + 1;
	return take_snapshots_back(rollback, err);
}

static int find(struct rpc_call *call, const RollbackDatasetRequest *req, struct dataset **ret,
		struct snapshot **ret_target, struct error *err)
{
	const struct node *node = call->app;

	if (node_find(call, req->id, ret, err) < 0 ||
	    catalog_snapshot(node->catalog, call->deadline, &call->arena, req->snapshot_id,
			     ret_target, err) < 0)
		return -1;
	if (ssh_server() || !zfs_is_the_kernels())
		return fail(err, ERR_FAILED_PRECONDITION,
			    "a rollback needs OpenZFS on the host of zcsi-node: create a volume "
			    "from the snapshot instead");
	if (strcmp((*ret_target)->dataset_id, req->id) == 0 &&
	    (*ret_target)->format == (*ret)->format)
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT, "snapshot '%s' is not of this volume",
		    req->snapshot_id);
}

int rollback_dataset(struct rpc_call *call, const RollbackDatasetRequest *req,
		     RollbackDatasetResponse *rsp, struct error *err)
{
	struct catalog *catalog = ((struct node *)call->app)->catalog;
	struct rollback rollback = {.call = call};
	struct snapshot *target;

	if (request_text(req->id, "id", err) < 0 ||
	    request_text(req->snapshot_id, "snapshot_id", err) < 0 ||
	    find(call, req, &rollback.volume, &target, err) < 0)
		return -1;
	rollback.target = target;
	const char *key = origin_key(&call->arena, rollback.volume->name);
	if (catalog_lock_key(catalog, call->deadline, key, err) < 0)
		return -1;
	int failed = roll_back(&rollback, req, rsp, err);
	catalog_unlock_key(catalog, key);
	return failed ? fail_context(err, "volume '%s' is not rolled back", req->id) : 0;
}
