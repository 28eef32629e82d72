/* SPDX-License-Identifier: MPL-2.0 */
/*
 * RenameDataset of zcsi.v1.Agent: a volume gets another id.
 *
 * First zcsi:volume gets both ids, "old,new". Then one `zfs rename` gives the volume, and with it
 * all its snapshots, the new id, because the name of the dataset decides which of the two counts
 * (node/record/volume_parse.c). Then zcsi:volume gets the new id alone. After a crash this last
 * step is done later (end_renames.h).
 *
 * Invariant: at every moment the volume has exactly one of the two ids, and the ids of all its
 * snapshots begin with it. The volume gets the new id only while that is promised to the caller's
 * claim, and nothing uses the volume.
 */
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/volume/escape.h"
#include "node/agent/origin.h"
#include "node/agent/promise.h"
#include "node/agent/trash.h"
#include "node/change/alone.h"
#include "node/host/size_limits.h"
#include "node/record/publication.h"
#include "node/record/volume_parse.h"
#include "node/schedule/keeper.h"
#include "node/service.h"
#include "node/zfs/key.h"
#include "node/zfs/zfs_run.h"

/* The id before the last rename, by which a repeated call is known. */
#define RENAMED "zcsi:renamed"

/* A rename that runs: the volume as ZFS has just shown it, and the dataset that it becomes. */
struct rename {
	struct rpc_call *call;
	const struct dataset *volume;
	const char *id, *name;
};

/* Checks before a rename */

static int check_unused(struct rpc_call *call, const struct dataset *volume, size_t children,
			struct error *err)
{
	struct publication_list published;

	publication_parse(&call->arena, volume->published, &published);
	if (*volume->members)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it has copies on other nodes, which keep its name: drop them with "
			    "'zcsi copy drop %s NODE', and add them again afterwards",
			    volume->id);
	if (published.n)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it is attached to node '%s'; stop the job that uses it there, or run "
			    "'zcsi unpublish %s %s'",
			    published.rows[0].node_id, volume->id, published.rows[0].node_id);
	return alone_check(call, volume, children, err);
}

/* ZFS renames no encrypted dataset that has the key of another one. */
static int check_key(const struct dataset *volume, struct error *err)
{
	struct key key;

	if (!volume->has_key)
		return 0;
	if (key_read(volume->name, &key, err) < 0)
		return -1;
	if (strcmp(key.root, volume->name) == 0)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "it is an encrypted clone with the key of '%s', and ZFS renames no such "
		    "dataset: create a volume of the new name from a snapshot of this one",
		    key.root);
}

/* A rollback leaves later snapshots in the trash, where they keep the id of the volume. */
static int check_trash(struct rpc_call *call, const struct dataset *volume, struct error *err)
{
	const struct node *node = call->app;
	struct dataset_list trash;
	struct snapshot_list snapshots;

	if (catalog_await(node->catalog, call->deadline, err) < 0)
		return -1;
	catalog_trashed(node->catalog, &call->arena, &trash);
	for (size_t i = 0; i < trash.n; i++) {
		if (strcmp(trash.rows[i]->id, volume->id) != 0)
			continue;
		catalog_snapshots_of(node->catalog, &call->arena, trash.rows[i], &snapshots);
		if (snapshots.n)
			return fail(err, ERR_FAILED_PRECONDITION,
				    "the trash has snapshots of a volume '%s', which would keep "
				    "that name: destroy '%s' and the like first, with 'zcsi "
				    "snapshot %s --drop'",
				    volume->id, snapshots.rows[0]->id, snapshots.rows[0]->id);
	}
	return 0;
}

/* Check a snapshot, "pool/parent/vol@leaf", or a bookmark, with '#'. */
static int check_point(const struct rename *rename, const char *point, struct error *err)
{
	const char *leaf = strpbrk(point, "@#") + 1;

	if (leaf[-1] == '#' && !strncmp(leaf, SNAPSHOT_BACKUP, strlen(SNAPSHOT_BACKUP))) {
		const char *node = leaf + strlen(SNAPSHOT_BACKUP);
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it has a backup on node '%s', which keeps its name: drop that with "
			    "'zcsi backup drop %s %s', and add one again afterwards",
			    node, rename->volume->id, node);
	}
	if (strlen(rename->name) + 1 + strlen(leaf) > DATASET_NAME_MAX)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "the new name is too long for its snapshot '%s': choose a shorter one",
			    leaf);
	return 0;
}

/* Check that no backup is made of the volume, and that ZFS can rename all its snapshots. */
static int check_history(const struct rename *rename, struct error *err)
{
	const char *types = zfs_is_the_kernels() ? "snapshot,bookmark" : "snapshot";
	const char *argv[] = {"zfs", "list", "-H", "-d",   "1",
			      "-t",  types,  "-o", "name", rename->volume->name,
			      NULL};
	const struct exec exec = {.argv = argv, .max_output = ZFS_LIST_OUTPUT_MAX};
	auto_free char *out = NULL;
	char *state;

	if (zfs_run_once(&exec, &out, err) < 0)
		return -1;
	for (char *at = strtok_r(out, "\n", &state); at; at = strtok_r(NULL, "\n", &state))
		if (strpbrk(at, "@#") && check_point(rename, at, err) < 0)
			return -1;
	return 0;
}

/* The steps of a rename */

/* Record both ids, of which the present one counts until the dataset is renamed. */
static int begin(const struct rename *rename, struct error *err)
{
	struct arena *arena = &rename->call->arena;
	const struct dataset *volume = rename->volume;
	struct zfs_properties properties = {.n = 0};

	zfs_property(&properties, RENAMED, escape_text(arena, volume->id));
	zfs_property(&properties, "zcsi:volume", volume_ids(arena, volume->id, rename->id));
	return zfs_set(volume->name, &properties, err);
}

/* Remove the new id from zcsi:volume after a rename that failed. */
static void give_up(const struct rename *rename)
{
	const struct node *node = rename->call->app;
	struct error err;

	if (agent_end_rename(&rename->call->arena, rename->volume, &err) == 0)
		return;
	log_warn("cannot remove the record of a failed rename, retrying after the pool is reread",
		 log_str("volume", rename->volume->id), log_str("error", err.text));
	catalog_rescan_soon(node->catalog);
}

/* Returns the volume as it is after the rename, but for the name of its dataset. */
static struct dataset renamed(const struct rename *rename)
{
	struct dataset volume = *rename->volume;

	volume.id = (char *)rename->id;
	volume.renaming = false;
	return volume;
}

static int carry_out(const struct rename *rename, struct error *err)
{
	struct catalog *catalog = ((struct node *)rename->call->app)->catalog;
	struct dataset volume = renamed(rename), now = volume;
	struct snapshot_list snapshots;
	auto_close int turn = -1;
	struct error late;

	catalog_snapshots_of(catalog, &rename->call->arena, rename->volume, &snapshots);
	if (trash_lock(rename->call, rename->volume, &turn, err) < 0)
		return -1;
	if (begin(rename, err) < 0 || trash_rename(rename->call, &volume, rename->name, err) < 0) {
		give_up(rename);
		return -1;
	}
	now.name = (char *)rename->name;
	now.renaming = agent_end_rename(&rename->call->arena, &now, &late) < 0;
	if (now.renaming)
		log_warn("cannot remove the record of a volume's former name",
			 log_str("volume", rename->id), log_str("error", late.text));
	volume.renaming = now.renaming;
	catalog_rename(catalog, &volume, rename->id, rename->name, &snapshots);
	return 0;
}

static int rename_within_limits(const struct rename *rename, struct error *err)
{
	struct pledge pledge = {.id = rename->id,
				.former = rename->volume->id,
				.size = size_limits_promise(rename->volume)};

	if (size_limits_begin(rename->call, &pledge, err) < 0)
		return -1;
	int failed = carry_out(rename, err);
	size_limits_end(rename->call, &pledge);
	return failed;
}

static int rename_locked(struct rename *rename, const RenameDatasetRequest *req, struct error *err)
{
	struct rpc_call *call = rename->call;
	const struct node *node = call->app;
	size_t children;

	rename->volume = agent_prove(&call->arena, catalog_parent(node->catalog), rename->volume,
				     &children, err);
	if (!rename->volume || check_unused(call, rename->volume, children, err) < 0 ||
	    check_key(rename->volume, err) < 0 || check_trash(call, rename->volume, err) < 0 ||
	    check_history(rename, err) < 0)
		return -1;
	if (req->check)
		return 0;
	if (promise_begin(call, req->new_id, req->claim, err) < 0)
		return -1;
	int failed = rename_within_limits(rename, err);
	promise_end(call, req->new_id, req->claim);
	return failed;
}

static int rename_volume(struct rpc_call *call, const RenameDatasetRequest *req,
			 struct dataset *volume, struct error *err)
{
	const struct node *node = call->app;
	struct rename rename = {.call = call,
				.volume = volume,
				.id = req->new_id,
				.name = node_dataset_name(call, req->new_id)};
	const char *key = origin_key(&call->arena, volume->name);

	if (!req->claim && !req->check)
		return fail(err, ERR_INVALID_ARGUMENT, "volume '%s' is renamed without a claim",
			    req->id);
	if (catalog_lock_key(node->catalog, call->deadline, key, err) < 0)
		return -1;
	int failed = rename_locked(&rename, req, err);
	catalog_unlock_key(node->catalog, key);
	if (failed)
		return -1;
	keeper_look(node->keeper);
	return 0;
}

/* A call that is repeated after the rename */

/* *ret is true if the volume had this id before its last rename. */
static int was_named(const struct dataset *volume, const char *id, bool *ret, struct error *err)
{
	const char *argv[] = {"zfs", "get",   "-H",    "-s",         "local",
			      "-o",  "value", RENAMED, volume->name, NULL};
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	auto_free char *out = NULL;

	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0)
		return -1;
	*ret = strcmp(out, arena_printf(&arena, "%s\n", escape_text(&arena, id))) == 0;
	return 0;
}

/*
 * Handle a volume that is missing, as *err says: if the volume with the new id had the missing id
 * before its last rename, the rename was carried out already, and *ret_already is true.
 */
static int find_renamed(struct rpc_call *call, const RenameDatasetRequest *req, bool *ret_already,
			struct error *err)
{
	struct dataset *volume;
	struct error other;

	if (err->code != ERR_NOT_FOUND || node_find(call, req->new_id, &volume, &other) < 0)
		return -1;
	if (was_named(volume, req->id, ret_already, &other) < 0) {
		*err = other;
		return -1;
	}
	return *ret_already ? 0 : -1;
}

int rename_dataset(struct rpc_call *call, const RenameDatasetRequest *req,
		   RenameDatasetResponse *rsp, struct error *err)
{
	struct dataset *volume;
	bool already = false;

	if (request_text(req->id, "id", err) < 0 || agent_text(req->new_id, "new_id", err) < 0)
		return -1;
	if (strcmp(req->id, req->new_id) == 0)
		return fail(err, ERR_INVALID_ARGUMENT, "volume '%s' has that name", req->id);
	int failed = node_find(call, req->id, &volume, err);
	failed = failed ? find_renamed(call, req, &already, err)
			: rename_volume(call, req, volume, err);
	if (failed)
		return fail_context(err, "volume '%s' is not renamed", req->id);
	rsp->already = already;
	if (req->check && !already)
		return 0;
	if (node_find(call, req->new_id, &volume, err) < 0)
		return -1;
	rsp->dataset = agent_dataset(call, volume);
	return 0;
}
