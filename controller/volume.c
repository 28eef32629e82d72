/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Describing and deleting a volume. create.c creates, change.c changes and publish.c publishes
 * volumes.
 *
 * Invariant: all answers describe a volume with the same function, from its dataset.
 */
#include "controller/volume.h"

#include <string.h>

#include "controller/parameters.h"
#include "controller/service.h"
#include "controller/source.h"
#include "controller/field.h"

static Topology **topology_of(struct arena *arena, const GetHostResponse *host)
{
	Topology **list = arena_alloc(arena, sizeof(*list));

	list[0] = new_topology(arena);
	for (size_t i = 0; i < host->n_topology; i++)
		map_put(arena, list[0], segments, host->topology[i]->key, host->topology[i]->value);
	return list;
}

const char *volume_attach(struct arena *arena, const Dataset *dataset)
{
	return parameters_value(arena, dataset->parameters, ATTACH_KEY);
}

bool volume_is_foreign(const struct map *context)
{
	return map_get(context, "node_attach_driver");
}

Volume *volume_of(struct arena *arena, const Dataset *dataset, const GetHostResponse *owner)
{
	const struct source source = source_of(dataset);
	const char *attach = volume_attach(arena, dataset);
	Volume *volume = new_volume(arena);

	volume->volume_id = arena_strdup(arena, dataset->id);
	volume->capacity_bytes = dataset->size;
	map_put(arena, volume, volume_context, ATTACH_KEY, attach);
	volume->content_source = source_message(arena, &source);
	/* A volume without accessible_topology can be used on every node. */
	if (strcmp(attach, ATTACH_LOCAL) == 0) {
		volume->n_accessible_topology = 1;
		volume->accessible_topology = topology_of(arena, owner);
	}
	return volume;
}

char **volume_published_nodes(struct arena *arena, const Dataset *dataset)
{
	char **nodes = arena_alloc(arena, dataset->n_published * sizeof(*nodes));

	for (size_t i = 0; i < dataset->n_published; i++)
		nodes[i] = dataset->published[i]->node_id;
	return nodes;
}

struct condition volume_condition(struct arena *arena, const struct host *host,
				  const struct host *twin)
{
	if (twin)
		return (struct condition){
			VOLUME_HEALTH_ERROR_TYPE_DEGRADED, "ExistsTwice",
			arena_printf(arena,
				     "it exists twice, on nodes '%s' and '%s': calls for it fail "
				     "until one of the two is renamed ('zfs rename') or destroyed",
				     host->says->node_id, twin->says->node_id)};
	if (*host->says->problem)
		return (struct condition){VOLUME_HEALTH_ERROR_TYPE_INACCESSIBLE, "PoolUnavailable",
					  arena_strdup(arena, host->says->problem)};
	return (struct condition){.reason = NULL};
}

VolumeCondition *volume_condition_message(struct arena *arena, const struct host *host,
					  const struct host *twin)
{
	VolumeCondition *message = new_volume_condition(arena);
	const struct condition condition = volume_condition(arena, host, twin);

	message->abnormal = condition.reason != NULL;
	message->message =
		condition.reason ? condition.message
				 : arena_strdup(arena, "the dataset exists and its pool is ready");
	return message;
}

int delete_volume(struct rpc_call *call, const DeleteVolumeRequest *req, DeleteVolumeResponse *rsp,
		  struct error *err)
{
	DestroyDatasetRequest *request = new_destroy_dataset_request(&call->arena);
	DestroyDatasetResponse *response;
	struct owner owner;

	(void)rsp;
	if (field_check_present("volume_id", req->volume_id, err) < 0)
		return -1;
	if (owner_search(call, req->volume_id, &owner, err) < 0)
		return -1;
	if (!owner.dataset)
		return 0;
	request->id = owner.dataset->id;
	return agent_destroy_dataset(call, owner.agent, request, &response, err);
}

int controller_get_volume(struct rpc_call *call, const ControllerGetVolumeRequest *req,
			  ControllerGetVolumeResponse *rsp, struct error *err)
{
	struct arena *arena = &call->arena;
	struct owner owner;
	struct host host;

	if (field_check_present("volume_id", req->volume_id, err) < 0 ||
	    owner_get(call, req->volume_id, &owner, err) < 0 ||
	    host_of(call, owner.agent, &host, err) < 0)
		return -1;
	rsp->volume = volume_of(arena, owner.dataset, host.says);
	rsp->status = new_controller_get_volume_response_volume_status(arena);
	rsp->status->n_published_node_ids = owner.dataset->n_published;
	rsp->status->published_node_ids = volume_published_nodes(arena, owner.dataset);
	rsp->status->volume_condition = volume_condition_message(arena, &host, NULL);
	return 0;
}
