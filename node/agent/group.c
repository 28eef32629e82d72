/* SPDX-License-Identifier: MPL-2.0 */
/*
 * SnapshotGroup and GetSnapshotGroup of zcsi.v1.Agent.
 *
 * Invariant: all snapshots of a group were taken at one instant, by one `zfs snapshot`. A call for
 * a group that lost a snapshot fails: a new snapshot would be of a later instant, and replacing the
 * group would destroy the remaining snapshots.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/volume/escape.h"
#include "node/agent/agent.h"
#include "node/agent/origin.h"
#include "node/agent/promise.h"
#include "node/attach/complete.h"
#include "node/service.h"

struct members {
	struct dataset **rows;
	size_t n;
};

static int check(const SnapshotGroupRequest *req, struct error *err)
{
	if (agent_text(req->group, "group", err) < 0)
		return -1;
	if (!req->n_ids || req->n_ids > AGENT_PAGE_MAX)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "group snapshot '%s' has %zu volumes; give 1 to %d", req->group,
			    req->n_ids, AGENT_PAGE_MAX);
	for (size_t i = 0; i < req->n_ids; i++) {
		if (agent_text(req->ids[i], "ids", err) < 0)
			return -1;
		for (size_t k = 0; k < i; k++)
			if (!strcmp(req->ids[k], req->ids[i]))
				return fail(err, ERR_INVALID_ARGUMENT,
					    "group snapshot '%s' has volume '%s' twice; give it "
					    "once",
					    req->group, req->ids[i]);
	}
	return 0;
}

static int find_members(struct rpc_call *call, const SnapshotGroupRequest *req, struct members *ret,
			struct error *err)
{
	ret->n = req->n_ids;
	ret->rows = arena_alloc(&call->arena, req->n_ids * sizeof(*ret->rows));
	for (size_t i = 0; i < req->n_ids; i++)
		if (node_find(call, req->ids[i], &ret->rows[i], err) < 0)
			return -1;
	return 0;
}

static int find_group(struct rpc_call *call, const char *group, struct snapshot_list *ret,
		      struct error *err)
{
	struct node *node = call->app;

	return catalog_group(node->catalog, call->deadline, &call->arena, group, ret, err);
}

/* Returns the key under which a group is promised (node/host/claims.h). */
static const char *group_key(struct rpc_call *call, const char *group)
{
	return arena_printf(&call->arena, "group %s", group);
}

static bool has_member(const struct members *members, const struct snapshot *snapshot)
{
	for (size_t i = 0; i < members->n; i++)
		if (snapshot_is_of(snapshot, members->rows[i]->name))
			return true;
	return false;
}

/* Check that the snapshots of an existing group are those of the requested volumes. */
static int check_same(const char *group, const struct members *members,
		      const struct snapshot_list *list, struct error *err)
{
	for (size_t i = 0; i < list->n; i++)
		if (!has_member(members, list->rows[i]))
			return fail(err, ERR_ALREADY_EXISTS,
				    "group snapshot '%s' exists and contains the snapshot '%s', "
				    "which is of none of these volumes; use another name",
				    group, list->rows[i]->id);
	if (list->n == members->n)
		return 0;
	return fail(err, ERR_ALREADY_EXISTS,
		    "group snapshot '%s' exists with %zu of %zu snapshots, and new ones would be "
		    "of a later instant; delete it or use another name",
		    group, list->n, members->n);
}

/* Returns the size of all members, or 0 if the sizes differ. */
static int64_t common_size(const struct members *members)
{
	for (size_t i = 1; i < members->n; i++)
		if (members->rows[i]->size != members->rows[0]->size)
			return 0;
	return members->rows[0]->size;
}

/*
 * Take the snapshots with one program. It sets the same properties on all of them, so zcsi:size is
 * set only if all sizes are equal.
 */
static int run_snapshot(struct rpc_call *call, const char *group, const struct members *members,
			const char *const *names, struct error *err)
{
	struct zfs_properties properties = {.n = 0};
	int64_t size = common_size(members);

	zfs_property(&properties, "zcsi:version", DATASET_VERSION);
	zfs_property(&properties, "zcsi:snapshot", escape_text(&call->arena, group));
	zfs_property(&properties, "zcsi:group", escape_text(&call->arena, group));
	if (size)
		zfs_property(&properties, "zcsi:size",
			     arena_printf(&call->arena, "%" PRId64, size));
	for (size_t i = 0; i < members->n; i++)
		if (complete_volume(&call->arena, members->rows[i], err) < 0)
			return -1;
	return zfs_snapshot(names, members->n, &properties, err);
}

/* Add the new snapshots to the catalog. */
static void put_in_catalog(struct rpc_call *call, const char *group, const struct members *members,
			   const char *const *names)
{
	struct node *node = call->app;

	for (size_t i = 0; i < members->n; i++) {
		const struct dataset *dataset = members->rows[i];
		const struct snapshot made = {
			.id = snapshot_id(&call->arena, dataset->id, strchr(names[i], '@') + 1),
			.name = (char *)group,
			.group = (char *)group,
			.dataset_id = dataset->id,
			.zfs_name = (char *)names[i],
			.creation = time(NULL),
			.size = common_size(members),
			.has_key = dataset->has_key,
		};
		catalog_put_snapshot(node->catalog, &made);
	}
}

/*
 * Read all volumes and snapshots of the group again: the error of zfs may not name the one because
 * of which it failed.
 */
static int reread_all(struct rpc_call *call, const struct members *members,
		      const char *const *names, struct error *err)
{
	for (size_t i = 0; i < members->n; i++)
		if (agent_reread(call, members->rows[i]->name, err) < 0 ||
		    agent_reread(call, names[i], err) < 0)
			return -1;
	return 0;
}

static int take(struct rpc_call *call, const char *group, const struct members *members,
		struct error *err)
{
	const char **names = arena_alloc(&call->arena, members->n * sizeof(*names));
	struct snapshot_list found;
	struct error problem;

	for (size_t i = 0; i < members->n; i++)
		names[i] = snapshot_group_zfs_name(&call->arena, members->rows[i]->name, group);
	if (run_snapshot(call, group, members, names, err) == 0) {
		put_in_catalog(call, group, members, names);
		return 0;
	}
	if (err->code == ERR_ALREADY_EXISTS || err->code == ERR_NOT_FOUND ||
	    err->code == ERR_UNAVAILABLE) {
		if (reread_all(call, members, names, &problem) < 0) {
			*err = problem;
			return -1;
		}
		if (find_group(call, group, &found, &problem) == 0)
			return 0;
	}
	return fail_context(err, "group snapshot '%s' cannot be taken", group);
}

static int by_text(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/*
 * Take the snapshots with the origin keys of all volumes locked, so none of the volumes moves to
 * another node, which would not get its snapshot. The keys are sorted: two calls cannot deadlock.
 */
static int take_locked(struct rpc_call *call, const SnapshotGroupRequest *req,
		       struct members *members, struct error *err)
{
	struct catalog *catalog = ((struct node *)call->app)->catalog;
	const char **keys = arena_alloc(&call->arena, req->n_ids * sizeof(*keys));
	size_t locked = 0;
	int failed = 0;

	for (size_t i = 0; i < req->n_ids; i++)
		keys[i] = origin_key(&call->arena, node_dataset_name(call, req->ids[i]));
	qsort(keys, req->n_ids, sizeof(*keys), by_text);
	for (; locked < req->n_ids && !failed; locked += !failed)
		failed = catalog_lock_key(catalog, call->deadline, keys[locked], err);
	if (!failed)
		failed = find_members(call, req, members, err);
	if (!failed)
		failed = take(call, req->group, members, err);
	while (locked > 0)
		catalog_unlock_key(catalog, keys[--locked]);
	return failed;
}

static int find_or_take(struct rpc_call *call, const SnapshotGroupRequest *req,
			struct snapshot_list *ret, struct error *err)
{
	struct members members;

	if (find_members(call, req, &members, err) < 0)
		return -1;
	if (find_group(call, req->group, ret, err) < 0) {
		const char *key = group_key(call, req->group);
		if (err->code != ERR_NOT_FOUND || promise_begin(call, key, req->claim, err) < 0)
			return -1;
		int failed = take_locked(call, req, &members, err);
		promise_end(call, key, req->claim);
		if (failed || find_group(call, req->group, ret, err) < 0)
			return -1;
	}
	return check_same(req->group, &members, ret, err);
}

static DatasetSnapshot **messages(struct arena *arena, const struct snapshot_list *list)
{
	DatasetSnapshot **rows = arena_alloc(arena, list->n * sizeof(*rows));

	for (size_t i = 0; i < list->n; i++)
		rows[i] = agent_snapshot(arena, list->rows[i]);
	return rows;
}

int snapshot_group(struct rpc_call *call, const SnapshotGroupRequest *req,
		   SnapshotGroupResponse *rsp, struct error *err)
{
	struct snapshot_list list;

	if (check(req, err) < 0 || find_or_take(call, req, &list, err) < 0)
		return -1;
	rsp->n_snapshots = list.n;
	rsp->snapshots = messages(&call->arena, &list);
	return 0;
}

int get_snapshot_group(struct rpc_call *call, const GetSnapshotGroupRequest *req,
		       GetSnapshotGroupResponse *rsp, struct error *err)
{
	struct snapshot_list list;

	if (request_text(req->group, "group", err) < 0 ||
	    node_need_pool(call, "group", req->group, err) < 0)
		return -1;
	const struct promise_wish wish = {.key = group_key(call, req->group),
					  .kind = NAME_GROUP,
					  .name = req->group,
					  .claim = req->claim,
					  .target = req->target};
	if (find_group(call, req->group, &list, err) < 0)
		return promise_give(call, &wish, &rsp->promised, &rsp->promise, err);
	rsp->n_snapshots = list.n;
	rsp->snapshots = messages(&call->arena, &list);
	return 0;
}
