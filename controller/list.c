/* SPDX-License-Identifier: MPL-2.0 */
/*
 * ListVolumes and ListSnapshots: the requests to the agents, and the conversion of their entries to
 * CSI's. merge.c merges the lists.
 *
 * Invariant: an entry is converted by the same functions as in all other answers.
 */
#include "controller/list.h"

#include <string.h>

#include "controller/service.h"
#include "controller/snapshot.h"
#include "controller/volume.h"

static const ProtobufCMessage *ask_datasets(struct arena *arena, const struct filter *filter,
					    const char *after, int32_t max)
{
	ListDatasetsRequest *request = new_list_datasets_request(arena);

	(void)filter;
	request->after = arena_strdup(arena, after);
	request->max = max;
	return &request->base;
}

static const void *dataset_at(const void *response, size_t at, const char **ret_id)
{
	const ListDatasetsResponse *page = response;

	if (at >= page->n_datasets)
		return NULL;
	*ret_id = page->datasets[at]->id;
	return page->datasets[at];
}

static bool more_datasets(const void *response)
{
	const ListDatasetsResponse *page = response;

	return page->more;
}

static bool is_taken_over(const void *entry)
{
	return *((const Dataset *)entry)->taken_over_by;
}

const struct list_kind list_of_volumes = {
	.method = "ListDatasets",
	.what = "volumes",
	.rpc = "ListVolumes",
	.ask = ask_datasets,
	.entry = dataset_at,
	.more = more_datasets,
	.former = is_taken_over,
};

static const ProtobufCMessage *ask_snapshots(struct arena *arena, const struct filter *filter,
					     const char *after, int32_t max)
{
	ListDatasetSnapshotsRequest *request = new_list_dataset_snapshots_request(arena);

	request->after = arena_strdup(arena, after);
	request->max = max;
	request->dataset_id = arena_strdup(arena, filter->dataset_id ? filter->dataset_id : "");
	return &request->base;
}

static const void *snapshot_at(const void *response, size_t at, const char **ret_id)
{
	const ListDatasetSnapshotsResponse *page = response;

	if (at >= page->n_snapshots)
		return NULL;
	*ret_id = page->snapshots[at]->id;
	return page->snapshots[at];
}

static bool more_snapshots(const void *response)
{
	const ListDatasetSnapshotsResponse *page = response;

	return page->more;
}

const struct list_kind list_of_snapshots = {
	.method = "ListDatasetSnapshots",
	.what = "snapshots",
	.rpc = "ListSnapshots",
	.ask = ask_snapshots,
	.entry = snapshot_at,
	.more = more_snapshots,
};

static ListVolumesResponse_Entry *volume_entry(struct arena *arena, const struct listed *listed,
					       struct said said)
{
	ListVolumesResponse_Entry *entry = new_list_volumes_response_entry(arena);
	const Dataset *dataset = listed->entry;

	entry->volume = volume_of(arena, dataset, listed->host->says);
	entry->status = new_list_volumes_response_volume_status(arena);
	entry->status->n_published_node_ids = dataset->n_published;
	entry->status->published_node_ids = volume_published_nodes(arena, dataset);
	entry->status->volume_condition = volume_condition_message(
		arena, &(struct volume_facts){dataset, listed->host, listed->other_host, said});
	return entry;
}

int list_volumes(struct rpc_call *call, const ListVolumesRequest *req, ListVolumesResponse *rsp,
		 struct error *err)
{
	const struct filter all = {.partial = agents_partial_lists(call)};
	struct page page;

	if (merge_page(call, &list_of_volumes, &all, req->max_entries, req->starting_token, &page,
		       err) < 0)
		return -1;
	const struct said said = agents_said(call);
	rsp->entries = arena_alloc(&call->arena, page.n * sizeof(*rsp->entries));
	for (size_t i = 0; i < page.n; i++)
		rsp->entries[rsp->n_entries++] = volume_entry(&call->arena, &page.list[i], said);
	rsp->next_token = page.next_token;
	return 0;
}

static ListSnapshotsResponse_Entry *snapshot_entry(struct arena *arena,
						   const DatasetSnapshot *snapshot)
{
	ListSnapshotsResponse_Entry *entry = new_list_snapshots_response_entry(arena);

	entry->snapshot = snapshot_of(arena, snapshot);
	return entry;
}

/* List the snapshot with the requested id, if it exists and matches the requested volume. */
static int list_one(struct rpc_call *call, const ListSnapshotsRequest *req,
		    ListSnapshotsResponse *rsp, struct error *err)
{
	struct snapshot_owner owner;
	const char *after;

	if (req->max_entries < 0)
		return fail(err, ERR_INVALID_ARGUMENT, "max_entries %d is negative",
			    (int)req->max_entries);
	if (merge_token(&call->arena, &list_of_snapshots, req->starting_token, &after, err) < 0 ||
	    snapshot_find(call, req->snapshot_id, &owner, err) < 0)
		return -1;
	if (!owner.snapshot || strcmp(owner.snapshot->id, after) <= 0 ||
	    (*req->source_volume_id &&
	     strcmp(owner.snapshot->dataset_id, req->source_volume_id) != 0))
		return 0;
	rsp->n_entries = 1;
	rsp->entries = arena_alloc(&call->arena, sizeof(*rsp->entries));
	rsp->entries[0] = snapshot_entry(&call->arena, owner.snapshot);
	return 0;
}

int list_snapshots(struct rpc_call *call, const ListSnapshotsRequest *req,
		   ListSnapshotsResponse *rsp, struct error *err)
{
	const struct filter filter = {.dataset_id = req->source_volume_id,
				      .partial = agents_partial_lists(call)};
	struct page page;

	if (*req->snapshot_id)
		return list_one(call, req, rsp, err);
	if (merge_page(call, &list_of_snapshots, &filter, req->max_entries, req->starting_token,
		       &page, err) < 0)
		return -1;
	rsp->entries = arena_alloc(&call->arena, page.n * sizeof(*rsp->entries));
	for (size_t i = 0; i < page.n; i++)
		rsp->entries[rsp->n_entries++] = snapshot_entry(&call->arena, page.list[i].entry);
	rsp->next_token = page.next_token;
	return 0;
}
