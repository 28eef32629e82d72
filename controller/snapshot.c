/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Snapshots of one volume: take, describe, delete.
 *
 * A name belongs to one snapshot in the whole cluster. All agents are searched for it before a
 * snapshot is taken, and the snapshot is taken only while every agent promises to take none of that
 * name for an earlier claim (claim.h). Invariant: the agent decides, by comparing the datasets,
 * whether an existing snapshot is of the volume that has the id now or of an earlier one.
 */
#include "controller/snapshot.h"

#include <stddef.h>
#include <string.h>

#include "common/volume/map.h"
#include "controller/claim.h"
#include "controller/request/parameters.h"
#include "controller/roster_absent.h"
#include "controller/service.h"
#include "controller/request/field.h"

static int find(struct rpc_call *call, GetDatasetSnapshotRequest *request, search_fn *ask,
		const struct agent *place, struct snapshot_owner *ret, struct error *err)
{
	bool by_id = *request->id;
	const char *asked = by_id ? request->id : request->name;
	const struct search search = {
		.method = "GetDatasetSnapshot",
		.request = &request->base,
		.what = arena_printf(&call->arena, "snapshot '%s'", asked),
		.kind = by_id ? NAME_SNAPSHOT_ID : NAME_SNAPSHOT,
		.name = asked,
		.claim = &request->claim,
		.promised = offsetof(GetDatasetSnapshotResponse, promised),
		.place = place,
		.target = &request->target,
		.promise = offsetof(GetDatasetSnapshotResponse, promise),
	};
	const struct answer *answer;

	*ret = (struct snapshot_owner){0};
	if (ask(call, &search, &answer, err) < 0)
		return -1;
	if (!answer)
		return 0;
	const GetDatasetSnapshotResponse *response = answer->response;
	DatasetSnapshot *snapshot = response->snapshot;
	if (!snapshot || strcmp(by_id ? snapshot->id : snapshot->name, asked) != 0)
		return fail(err, ERR_INTERNAL, "agent '%s' was asked for %s and returned another",
			    agent_endpoint(answer->agent), search.what);
	*ret = (struct snapshot_owner){.agent = answer->agent, .snapshot = snapshot};
	return 0;
}

int snapshot_find(struct rpc_call *call, const char *snapshot_id, struct snapshot_owner *ret,
		  struct error *err)
{
	GetDatasetSnapshotRequest *request = new_get_dataset_snapshot_request(&call->arena);

	request->id = arena_strdup(&call->arena, snapshot_id);
	return find(call, request, hosts_search, NULL, ret, err);
}

int snapshot_get(struct rpc_call *call, const char *snapshot_id, struct snapshot_owner *ret,
		 struct error *err)
{
	if (snapshot_find(call, snapshot_id, ret, err) < 0)
		return -1;
	if (!ret->snapshot)
		return fail(err, ERR_NOT_FOUND, "snapshot '%s' does not exist", snapshot_id);
	return 0;
}

int snapshot_claim(struct rpc_call *call, const char *name, const struct agent *place,
		   struct snapshot_owner *ret, uint64_t *ret_claim, struct error *err)
{
	GetDatasetSnapshotRequest *request = new_get_dataset_snapshot_request(&call->arena);

	request->name = arena_strdup(&call->arena, name);
	int result = find(call, request, hosts_claim, place, ret, err);
	*ret_claim = request->claim;
	return result;
}

int snapshot_destroy(struct rpc_call *call, const struct agent *agent, const char *snapshot_id,
		     struct error *err)
{
	DestroyDatasetSnapshotRequest *request = new_destroy_dataset_snapshot_request(&call->arena);
	DestroyDatasetSnapshotResponse *response;

	request->id = arena_strdup(&call->arena, snapshot_id);
	return agent_destroy_dataset_snapshot(call, agent, request, &response, err);
}

bool snapshot_taken_of(const DatasetSnapshot *snapshot, const Dataset *dataset)
{
	size_t length = strlen(dataset->name);
	bool known = snapshot->dataset_guid && dataset->guid;

	/*
	 * A snapshot whose volume was deleted is in the trash, even if another volume has that
	 * volume's id now.
	 */
	return strncmp(snapshot->zfs_name, dataset->name, length) == 0 &&
	       snapshot->zfs_name[length] == '@' &&
	       (!known || snapshot->dataset_guid == dataset->guid);
}

Google__Protobuf__Timestamp *snapshot_time(struct arena *arena, int64_t seconds)
{
	Google__Protobuf__Timestamp *time = arena_alloc(arena, sizeof(*time));

	google__protobuf__timestamp__init(time);
	time->seconds = seconds;
	return time;
}

Snapshot *snapshot_of(struct arena *arena, const DatasetSnapshot *snapshot)
{
	Snapshot *message = new_snapshot(arena);

	message->snapshot_id = arena_strdup(arena, snapshot->id);
	message->source_volume_id = arena_strdup(arena, snapshot->dataset_id);
	message->size_bytes = snapshot->size;
	message->creation_time = snapshot_time(arena, snapshot->creation);
	message->ready_to_use = true; /* a ZFS snapshot is complete when it exists */
	message->group_snapshot_id = arena_strdup(arena, snapshot->group);
	return message;
}

static int fail_taken(const DatasetSnapshot *snapshot, const char *volume_id, struct error *err)
{
	if (*snapshot->group)
		return fail(err, ERR_ALREADY_EXISTS,
			    "snapshot '%s' already exists, as a member of group snapshot '%s'",
			    snapshot->name, snapshot->group);
	return fail(err, ERR_ALREADY_EXISTS,
		    "snapshot '%s' already exists with another source_volume_id, '%s'; the "
		    "request asks for '%s'",
		    snapshot->name, snapshot->dataset_id, volume_id);
}

static int take(struct rpc_call *call, const CreateSnapshotRequest *req, const struct agent *agent,
		uint64_t claim, DatasetSnapshot **ret, struct error *err)
{
	SnapshotDatasetRequest *request = new_snapshot_dataset_request(&call->arena);
	SnapshotDatasetResponse *response;

	request->id = req->source_volume_id;
	request->name = req->name;
	request->claim = claim;
	roster_add_name(agents_roster(call), agent, NAME_SNAPSHOT, req->name);
	if (agent_snapshot_dataset(call, agent, request, &response, err) < 0)
		return -1;
	if (!response->snapshot || strcmp(response->snapshot->dataset_id, req->source_volume_id))
		return fail(err, ERR_INTERNAL,
			    "agent '%s' took snapshot '%s' but its answer lacks it: try again",
			    agent_endpoint(agent), req->name);
	*ret = response->snapshot;
	roster_add_name(agents_roster(call), agent, NAME_SNAPSHOT_ID, (*ret)->id);
	return 0;
}

static int find_or_take(struct rpc_call *call, const CreateSnapshotRequest *req,
			DatasetSnapshot **ret, struct error *err)
{
	struct snapshot_owner found;
	struct error missing;
	struct owner volume = {0};
	uint64_t claim;

	int unknown = owner_find(call, req->source_volume_id, &volume, &missing);
	if (snapshot_claim(call, req->name, volume.agent, &found, &claim, err) < 0)
		return -1;
	if (found.snapshot && (*found.snapshot->group ||
			       strcmp(found.snapshot->dataset_id, req->source_volume_id) != 0))
		return fail_taken(found.snapshot, req->source_volume_id, err);
	if (unknown) {
		*err = missing;
		return -1;
	}
	if (!found.snapshot && !volume.dataset)
		return fail(err, ERR_NOT_FOUND, "volume '%s' does not exist",
			    req->source_volume_id);
	if (found.snapshot && volume.dataset && found.agent != volume.agent)
		return fail(err, ERR_ALREADY_EXISTS,
			    "snapshot '%s' already exists, of an earlier volume '%s' that was on "
			    "another node",
			    req->name, req->source_volume_id);
	*ret = found.snapshot;
	/*
	 * The agent compares an existing snapshot with the volume. If the volume was deleted since,
	 * return the snapshot, so that a repeated call gets the same answer as the first.
	 */
	return volume.dataset ? take(call, req, volume.agent, claim, ret, err) : 0;
}

int create_snapshot(struct rpc_call *call, const CreateSnapshotRequest *req,
		    CreateSnapshotResponse *rsp, struct error *err)
{
	DatasetSnapshot *snapshot = NULL;

	if (field_check_name("name", req->name, err) < 0 ||
	    field_check_present("source_volume_id", req->source_volume_id, err) < 0 ||
	    parameters_check_none(map_of(&call->arena, req, parameters), "a snapshot", err) < 0)
		return -1;
	while (find_or_take(call, req, &snapshot, err) < 0)
		if (!claim_again(err, call->deadline))
			return -1;
	rsp->snapshot = snapshot_of(&call->arena, snapshot);
	return 0;
}

int delete_snapshot(struct rpc_call *call, const DeleteSnapshotRequest *req,
		    DeleteSnapshotResponse *rsp, struct error *err)
{
	struct snapshot_owner owner;

	(void)rsp;
	if (field_check_present("snapshot_id", req->snapshot_id, err) < 0 ||
	    snapshot_find(call, req->snapshot_id, &owner, err) < 0)
		return -1;
	return owner.snapshot ? snapshot_destroy(call, owner.agent, req->snapshot_id, err) : 0;
}

int get_snapshot(struct rpc_call *call, const GetSnapshotRequest *req, GetSnapshotResponse *rsp,
		 struct error *err)
{
	struct snapshot_owner owner;

	if (field_check_present("snapshot_id", req->snapshot_id, err) < 0 ||
	    snapshot_get(call, req->snapshot_id, &owner, err) < 0)
		return -1;
	rsp->snapshot = snapshot_of(&call->arena, owner.snapshot);
	return 0;
}
