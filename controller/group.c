/* SPDX-License-Identifier: MPL-2.0 */
/*
 * csi.v1.GroupController: snapshots of several volumes, taken at the same moment.
 *
 * A group is the set of snapshots that record its name, which is also its id. Invariant: the
 * members of a group are all taken in one transaction of one pool, or none is. They are taken only
 * while every agent promises to take no group of that name for an earlier claim (claim.h).
 */
#include <stddef.h>
#include <string.h>

#include "common/volume/map.h"
#include "controller/claim.h"
#include "controller/request/parameters.h"
#include "controller/roster_absent.h"
#include "controller/service.h"
#include "controller/snapshot.h"
#include "controller/request/field.h"

/* The snapshots of a group. n is 0 if the group does not exist. */
struct members {
	const struct agent *agent;
	DatasetSnapshot *const *list;
	size_t n;
};

static int ask(struct rpc_call *call, GetSnapshotGroupRequest *request, search_fn *search_by,
	       const struct agent *place, struct members *ret, struct error *err)
{
	const struct search search = {
		.method = "GetSnapshotGroup",
		.request = &request->base,
		.what = arena_printf(&call->arena, "group snapshot '%s'", request->group),
		.kind = NAME_GROUP,
		.name = request->group,
		.claim = &request->claim,
		.promised = offsetof(GetSnapshotGroupResponse, promised),
		.place = place,
		.target = &request->target,
		.promise = offsetof(GetSnapshotGroupResponse, promise),
	};
	const struct answer *answer;

	*ret = (struct members){0};
	if (search_by(call, &search, &answer, err) < 0)
		return -1;
	if (!answer)
		return 0;
	const GetSnapshotGroupResponse *response = answer->response;
	*ret = (struct members){answer->agent, response->snapshots, response->n_snapshots};
	if (!ret->n || strcmp(ret->list[0]->group, request->group) != 0)
		return fail(err, ERR_INTERNAL, "agent '%s' was asked for %s and returned another",
			    agent_endpoint(answer->agent), search.what);
	return 0;
}

static int find_members(struct rpc_call *call, const char *group, struct members *ret,
			struct error *err)
{
	GetSnapshotGroupRequest *request = new_get_snapshot_group_request(&call->arena);

	request->group = arena_strdup(&call->arena, group);
	return ask(call, request, hosts_search, NULL, ret, err);
}

static int claim_group(struct rpc_call *call, const char *group, const struct agent *place,
		       struct members *ret, uint64_t *ret_claim, struct error *err)
{
	GetSnapshotGroupRequest *request = new_get_snapshot_group_request(&call->arena);

	request->group = arena_strdup(&call->arena, group);
	int result = ask(call, request, hosts_claim, place, ret, err);
	*ret_claim = request->claim;
	return result;
}

static bool contains(char *const *list, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], id) == 0)
			return true;
	return false;
}

static VolumeGroupSnapshot *group_of(struct arena *arena, const char *id,
				     DatasetSnapshot *const *members, size_t n)
{
	VolumeGroupSnapshot *group = new_volume_group_snapshot(arena);
	int64_t creation = 0;

	group->group_snapshot_id = arena_strdup(arena, id);
	group->snapshots = arena_alloc(arena, n * sizeof(*group->snapshots));
	for (size_t i = 0; i < n; i++) {
		group->snapshots[group->n_snapshots++] = snapshot_of(arena, members[i]);
		if (members[i]->creation > creation)
			creation = members[i]->creation;
	}
	group->creation_time = snapshot_time(arena, creation);
	group->ready_to_use = true;
	return group;
}

static int check_create(struct arena *arena, const CreateVolumeGroupSnapshotRequest *req,
			struct error *err)
{
	if (field_check_name("name", req->name, err) < 0)
		return -1;
	if (req->n_source_volume_ids == 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "source_volume_ids is missing: at least one is needed");
	for (size_t i = 0; i < req->n_source_volume_ids; i++) {
		const char *id = req->source_volume_ids[i];
		if (field_check_present("source_volume_ids", id, err) < 0)
			return -1;
		if (contains(req->source_volume_ids, i, id))
			return fail(err, ERR_INVALID_ARGUMENT,
				    "source_volume_ids has volume '%s' twice", id);
	}
	return parameters_check_none(map_of(arena, req, parameters), "a group snapshot", err);
}

/*
 * Fail unless the members of the existing group are of the requested volumes. A snapshot of a
 * deleted volume whose id another volume has now is not of the requested volume.
 */
static int check_same(struct rpc_call *call, const CreateVolumeGroupSnapshotRequest *req,
		      const struct members *members, struct error *err)
{
	bool same = members->n == req->n_source_volume_ids;

	for (size_t i = 0; i < members->n; i++) {
		const DatasetSnapshot *snapshot = members->list[i];
		struct owner owner = {0};
		same = same && contains(req->source_volume_ids, req->n_source_volume_ids,
					snapshot->dataset_id);
		if (same && owner_find(call, snapshot->dataset_id, &owner, err) < 0)
			return -1;
		same = same && (!owner.dataset || snapshot_taken_of(snapshot, owner.dataset));
		if (!same)
			return fail(err, ERR_ALREADY_EXISTS,
				    "group snapshot '%s' already exists with other "
				    "source_volume_ids: snapshot '%s' is one of its %zu",
				    req->name, snapshot->id, members->n);
	}
	return 0;
}

/* *ret is the agent that has all source volumes. Fails if they are on different agents. */
static int find_owner(struct rpc_call *call, const CreateVolumeGroupSnapshotRequest *req,
		      const struct agent **ret, struct error *err)
{
	struct owner first = {0}, next;

	*ret = NULL;
	for (size_t i = 0; i < req->n_source_volume_ids; i++) {
		if (owner_get(call, req->source_volume_ids[i], &next, err) < 0)
			return -1;
		if (first.agent && next.agent != first.agent)
			return fail(err, ERR_FAILED_PRECONDITION,
				    "volumes '%s' and '%s' are in two pools, at agents '%s' and "
				    "'%s', and ZFS snapshots one pool at a time: group volumes of "
				    "one pool",
				    first.dataset->id, next.dataset->id,
				    agent_endpoint(first.agent), agent_endpoint(next.agent));
		first = i ? first : next;
	}
	*ret = first.agent;
	return 0;
}

static int take(struct rpc_call *call, const CreateVolumeGroupSnapshotRequest *req,
		const struct agent *agent, uint64_t claim, VolumeGroupSnapshot **ret,
		struct error *err)
{
	SnapshotGroupRequest *request = new_snapshot_group_request(&call->arena);
	SnapshotGroupResponse *response;

	request->group = req->name;
	request->claim = claim;
	request->n_ids = req->n_source_volume_ids;
	request->ids = req->source_volume_ids;
	roster_add_name(agents_roster(call), agent, NAME_GROUP, req->name);
	if (agent_snapshot_group(call, agent, request, &response, err) < 0)
		return -1;
	if (response->n_snapshots != req->n_source_volume_ids)
		return fail(err, ERR_INTERNAL,
			    "agent '%s' took group snapshot '%s' but its answer lacks it: try "
			    "again",
			    agent_endpoint(agent), req->name);
	*ret = group_of(&call->arena, req->name, response->snapshots, response->n_snapshots);
	return 0;
}

static int find_or_take(struct rpc_call *call, const CreateVolumeGroupSnapshotRequest *req,
			VolumeGroupSnapshot **ret, struct error *err)
{
	const struct agent *agent;
	struct members members;
	struct error nowhere;
	uint64_t claim;

	int unknown = find_owner(call, req, &agent, &nowhere);
	if (claim_group(call, req->name, agent, &members, &claim, err) < 0)
		return -1;
	if (members.n == 0 && unknown) {
		*err = nowhere;
		return -1;
	}
	if (members.n == 0)
		return take(call, req, agent, claim, ret, err);
	if (check_same(call, req, &members, err) < 0)
		return -1;
	*ret = group_of(&call->arena, req->name, members.list, members.n);
	return 0;
}

int create_volume_group_snapshot(struct rpc_call *call, const CreateVolumeGroupSnapshotRequest *req,
				 CreateVolumeGroupSnapshotResponse *rsp, struct error *err)
{
	if (check_create(&call->arena, req, err) < 0)
		return -1;
	while (find_or_take(call, req, &rsp->group_snapshot, err) < 0)
		if (!claim_again(err, call->deadline))
			return -1;
	return 0;
}

static int fail_mismatch(const char *group, const char *id, const char *what, struct error *err)
{
	return fail(err, ERR_INVALID_ARGUMENT,
		    "snapshot_ids are not those of group snapshot '%s': snapshot '%s' is %s", group,
		    id, what);
}

/* Fail unless the list of ids contains every member. */
static int check_all_named(const char *group, const struct members *members, char *const *ids,
			   size_t n, struct error *err)
{
	for (size_t i = 0; i < members->n; i++)
		if (!contains(ids, n, members->list[i]->id))
			return fail_mismatch(group, members->list[i]->id,
					     "a member and not among them", err);
	return 0;
}

static bool is_member(const struct members *members, const char *id)
{
	for (size_t i = 0; i < members->n; i++)
		if (strcmp(members->list[i]->id, id) == 0)
			return true;
	return false;
}

/*
 * Check the snapshot ids of a deletion. They may contain snapshots that an interrupted deletion has
 * already destroyed; all that exist must be members of the group.
 */
static int check_deletion(struct rpc_call *call, const DeleteVolumeGroupSnapshotRequest *req,
			  const struct members *members, struct error *err)
{
	for (size_t i = 0; i < req->n_snapshot_ids; i++) {
		struct snapshot_owner owner;
		if (is_member(members, req->snapshot_ids[i]))
			continue;
		if (snapshot_find(call, req->snapshot_ids[i], &owner, err) < 0)
			return -1;
		if (owner.snapshot)
			return fail_mismatch(req->group_snapshot_id, req->snapshot_ids[i],
					     "no member", err);
	}
	return check_all_named(req->group_snapshot_id, members, req->snapshot_ids,
			       req->n_snapshot_ids, err);
}

int delete_volume_group_snapshot(struct rpc_call *call, const DeleteVolumeGroupSnapshotRequest *req,
				 DeleteVolumeGroupSnapshotResponse *rsp, struct error *err)
{
	struct members members;

	(void)rsp;
	if (field_check_present("group_snapshot_id", req->group_snapshot_id, err) < 0 ||
	    find_members(call, req->group_snapshot_id, &members, err) < 0)
		return -1;
	if (members.n == 0)
		return 0;
	if (check_deletion(call, req, &members, err) < 0)
		return -1;
	for (size_t i = 0; i < members.n; i++)
		if (snapshot_destroy(call, members.agent, members.list[i]->id, err) < 0)
			return -1;
	return 0;
}

int get_volume_group_snapshot(struct rpc_call *call, const GetVolumeGroupSnapshotRequest *req,
			      GetVolumeGroupSnapshotResponse *rsp, struct error *err)
{
	const char *group = req->group_snapshot_id;
	struct members members;

	if (field_check_present("group_snapshot_id", group, err) < 0 ||
	    find_members(call, group, &members, err) < 0)
		return -1;
	if (members.n == 0)
		return fail(err, ERR_NOT_FOUND, "group snapshot '%s' does not exist", group);
	for (size_t i = 0; i < req->n_snapshot_ids; i++)
		if (!is_member(&members, req->snapshot_ids[i]))
			return fail_mismatch(group, req->snapshot_ids[i], "no member", err);
	if (check_all_named(group, &members, req->snapshot_ids, req->n_snapshot_ids, err) < 0)
		return -1;
	rsp->group_snapshot = group_of(&call->arena, group, members.list, members.n);
	return 0;
}
