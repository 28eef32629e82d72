/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The snapshot methods of the agents in memory. scripted_agents.c includes this file.
 */
#include "tests/unit/controller/scripted_methods.h"

#include <stdlib.h>

DatasetSnapshot *add_snapshot(struct client *client, const Dataset *of, const char *name)
{
	DatasetSnapshot *snapshot = new_dataset_snapshot(&call.arena);

	snapshot->id = arena_printf(&call.arena, "%s@%s", of->id, name);
	snapshot->name = arena_strdup(&call.arena, name);
	snapshot->dataset_id = of->id;
	snapshot->dataset_guid = of->guid;
	snapshot->zfs_name = arena_printf(&call.arena, "%s@%s", of->name, name);
	snapshot->size = of->size;
	snapshot->format = of->format;
	snapshot->guid = next_guid();
	snapshot->creation = 1700000000 + (int64_t)snapshot->guid;
	client->snapshots[client->n_snapshots++] = snapshot;
	return snapshot;
}

int do_get_dataset_snapshot(const struct client_call *begun, GetDatasetSnapshotResponse **ret,
			    struct error *err)
{
	const GetDatasetSnapshotRequest *request = begun->request;
	struct client *client = begun->client;

	assert_true(!*request->id != !*request->name);
	if (client->lookup != ERR_OK)
		return fail(err, client->lookup, "cannot look");
	*ret = new_get_dataset_snapshot_response(begun->arena);
	for (size_t i = 0; i < client->n_snapshots; i++) {
		DatasetSnapshot *snapshot = client->snapshots[i];
		(*ret)->snapshot = snapshot;
		if (strcmp(*request->id ? snapshot->id : snapshot->name,
			   *request->id ? request->id : request->name) == 0)
			return 0;
	}
	(*ret)->snapshot = NULL;
	if (!promise(client, request->claim, &(*ret)->promised, err))
		return 0;
	if (!request->target)
		return -1;
	err->code = ERR_OK;
	(*ret)->promise = promise_for(client, begun->arena, request->target);
	return 0;
}

/* Like a real agent, return an existing snapshot of that name only if it was taken of this dataset,
 * not of an earlier one with the same id. */
int do_snapshot_dataset(const struct client_call *begun, SnapshotDatasetResponse **ret,
			struct error *err)
{
	const SnapshotDatasetRequest *request = begun->request;
	struct client *client = begun->client;
	const Dataset *dataset = dataset_of(client, request->id);

	if (!dataset)
		return fail(err, ERR_NOT_FOUND, "not here");
	client->snapshotted++;
	*ret = new_snapshot_dataset_response(begun->arena);
	for (size_t i = 0; i < client->n_snapshots; i++) {
		(*ret)->snapshot = client->snapshots[i];
		if (strcmp((*ret)->snapshot->name, request->name) == 0)
			return (*ret)->snapshot->dataset_guid == dataset->guid
				       ? 0
				       : fail(err, ERR_ALREADY_EXISTS, "of an earlier dataset");
	}
	if (keep(client, request->claim, err) < 0)
		return -1;
	(*ret)->snapshot = add_snapshot(client, dataset, request->name);
	return 0;
}

int do_snapshot_group(const struct client_call *begun, SnapshotGroupResponse **ret,
		      struct error *err)
{
	const SnapshotGroupRequest *request = begun->request;

	if (keep(begun->client, request->claim, err) < 0)
		return -1;
	begun->client->grouped++;
	*ret = new_snapshot_group_response(begun->arena);
	(*ret)->snapshots = arena_alloc(begun->arena, request->n_ids * sizeof(DatasetSnapshot *));
	for (size_t i = 0; i < request->n_ids; i++) {
		const Dataset *dataset = dataset_of(begun->client, request->ids[i]);
		assert_non_null(dataset);
		(*ret)->snapshots[i] = add_snapshot(begun->client, dataset, request->group);
		(*ret)->snapshots[i]->group = request->group;
		(*ret)->n_snapshots++;
	}
	return 0;
}

int do_get_snapshot_group(const struct client_call *begun, GetSnapshotGroupResponse **ret,
			  struct error *err)
{
	const GetSnapshotGroupRequest *request = begun->request;
	struct client *client = begun->client;

	if (client->lookup != ERR_OK)
		return fail(err, client->lookup, "cannot look");
	*ret = new_get_snapshot_group_response(begun->arena);
	(*ret)->snapshots = arena_alloc(begun->arena, DATASETS_MAX * sizeof(DatasetSnapshot *));
	for (size_t i = 0; i < client->n_snapshots; i++)
		if (strcmp(client->snapshots[i]->group, request->group) == 0)
			(*ret)->snapshots[(*ret)->n_snapshots++] = client->snapshots[i];
	if ((*ret)->n_snapshots || !promise(client, request->claim, &(*ret)->promised, err))
		return 0;
	if (!request->target)
		return -1;
	err->code = ERR_OK;
	(*ret)->promise = promise_for(client, begun->arena, request->target);
	return 0;
}

static int snapshots_by_id(const void *a, const void *b)
{
	const DatasetSnapshot *left, *right;

	memcpy(&left, a, sizeof(left));
	memcpy(&right, b, sizeof(right));
	return strcmp(left->id, right->id);
}

static bool is_listed(const DatasetSnapshot *snapshot, const ListDatasetSnapshotsRequest *request)
{
	return strcmp(snapshot->id, request->after) > 0 &&
	       (!*request->dataset_id || !strcmp(snapshot->dataset_id, request->dataset_id));
}

int do_list_dataset_snapshots(const struct client_call *begun, ListDatasetSnapshotsResponse **ret,
			      struct error *err)
{
	const ListDatasetSnapshotsRequest *request = begun->request;
	struct client *client = begun->client;
	size_t max = request->max ? (size_t)request->max : 1000;

	assert_in_range(request->max, 0, 1000);
	if (client->lookup != ERR_OK)
		return fail(err, client->lookup, "cannot look");
	qsort(client->snapshots, client->n_snapshots, sizeof(client->snapshots[0]),
	      snapshots_by_id);
	*ret = new_list_dataset_snapshots_response(begun->arena);
	(*ret)->snapshots = arena_alloc(begun->arena, max * sizeof(DatasetSnapshot *));
	for (size_t i = 0; i < client->n_snapshots; i++) {
		if (!is_listed(client->snapshots[i], request))
			continue;
		if ((*ret)->n_snapshots == max) {
			(*ret)->more = true;
			break;
		}
		(*ret)->snapshots[(*ret)->n_snapshots++] = client->snapshots[i];
	}
	return 0;
}

int do_destroy_dataset_snapshot(const struct client_call *begun,
				DestroyDatasetSnapshotResponse **ret, struct error *err)
{
	const DestroyDatasetSnapshotRequest *request = begun->request;
	struct client *client = begun->client;

	for (size_t i = 0; i < client->n_snapshots; i++) {
		if (strcmp(client->snapshots[i]->id, request->id) != 0)
			continue;
		client->snapshots[i] = client->snapshots[--client->n_snapshots];
		client->snapshots_destroyed++;
		*ret = new_destroy_dataset_snapshot_response(begun->arena);
		return 0;
	}
	return fail(err, ERR_NOT_FOUND, "not here");
}
