/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Describing and deleting a volume. create.c creates, change.c changes and publish.c publishes
 * volumes.
 *
 * Invariant: all answers describe a volume with the same function, from its dataset.
 */
#include "controller/volume.h"

#include <inttypes.h>
#include <string.h>

#include "common/volume/name.h"
#include "common/volume/plugin.h"
#include "controller/request/parameters.h"
#include "controller/service.h"
#include "controller/source.h"
#include "controller/request/field.h"

#define LAGS 3 /* a copy lags if it is behind by more than LAGS times what is allowed */

static Topology *topology_of(struct arena *arena, const GetHostResponse *host)
{
	Topology *topology = new_topology(arena);

	for (size_t i = 0; i < host->n_topology; i++)
		map_put(arena, topology, segments, host->topology[i]->key,
			host->topology[i]->value);
	return topology;
}

/*
 * Add where the volume can be used: at its own node, and, if it moves when it is published, at the
 * nodes of its copies, for which the node id alone is given.
 */
static void add_topology(struct arena *arena, const Dataset *dataset, const GetHostResponse *owner,
			 Volume *volume)
{
	size_t copies = dataset->follows ? dataset->n_copies : 0;
	Topology **list = arena_alloc(arena, (copies + 1) * sizeof(*list));

	list[0] = topology_of(arena, owner);
	for (size_t i = 0; i < copies; i++) {
		list[i + 1] = new_topology(arena);
		map_put(arena, list[i + 1], segments, PLUGIN_TOPOLOGY_KEY,
			dataset->copies[i]->node_id);
	}
	volume->accessible_topology = list;
	volume->n_accessible_topology = copies + 1;
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
	if (strcmp(attach, ATTACH_LOCAL) == 0 && !dataset->follows_anywhere)
		add_topology(arena, dataset, owner, volume);
	return volume;
}

char **volume_published_nodes(struct arena *arena, const Dataset *dataset)
{
	char **nodes = arena_alloc(arena, dataset->n_published * sizeof(*nodes));

	for (size_t i = 0; i < dataset->n_published; i++)
		nodes[i] = dataset->published[i]->node_id;
	return nodes;
}

/* Returns why a copy is not up to date, and what to do. */
static const char *copy_trouble(struct arena *arena, const Dataset *dataset,
				const DatasetCopy *copy)
{
	if (*copy->error)
		return arena_printf(arena, "%s; then run 'zcsi sync %s'", copy->error, dataset->id);
	return arena_printf(arena, "%s; 'zcsi copies %s' shows when it is complete",
			    copy->running ? "a push runs" : "it waits for its turn", dataset->id);
}

/* Returns what is wrong with a copy, if the volume has another copy that is complete; or NULL. */
static const char *copy_lag(struct arena *arena, const Dataset *dataset, const DatasetCopy *copy)
{
	if (!copy->known || (!copy->complete && !*copy->error))
		return NULL;
	if (!copy->complete)
		return arena_printf(arena, "the copy on node '%s' is not complete: %s",
				    copy->node_id, copy_trouble(arena, dataset, copy));
	if (copy->behind <= LAGS * copy->every)
		return NULL;
	return arena_printf(arena,
			    "the copy on node '%s' is %" PRId64 " s behind, and %" PRId64
			    " s are allowed: %s",
			    copy->node_id, copy->behind, copy->every,
			    copy_trouble(arena, dataset, copy));
}

/* Returns what is wrong if none of the copies is complete, or NULL. */
static const char *copies_missing(struct arena *arena, const Dataset *dataset,
				  const struct host *host)
{
	const char *text = "";

	for (size_t i = 0; i < dataset->n_copies; i++) {
		const DatasetCopy *copy = dataset->copies[i];
		if (!copy->known || copy->complete)
			return NULL;
		text = arena_printf(arena, "%s; node '%s': %s", text, copy->node_id,
				    copy_trouble(arena, dataset, copy));
	}
	return arena_printf(arena, "only node '%s' has all data, no copy is complete%s",
			    host->says->node_id, text);
}

static struct condition copies_condition(struct arena *arena, const struct volume_facts *facts)
{
	const Dataset *dataset = facts->dataset;
	const char *lags = NULL;

	if (!dataset->n_copies)
		return (struct condition){.reason = NULL};
	const char *missing = copies_missing(arena, dataset, facts->host);
	if (missing)
		return (struct condition){VOLUME_HEALTH_ERROR_TYPE_DEGRADED, "NoReplica",
					  arena_strdup(arena, missing)};
	for (size_t i = 0; i < dataset->n_copies; i++) {
		const char *lag = copy_lag(arena, dataset, dataset->copies[i]);
		if (lag)
			lags = lags ? arena_printf(arena, "%s; %s", lags, lag) : lag;
	}
	return (struct condition){VOLUME_HEALTH_ERROR_TYPE_DEGRADED, lags ? "Lagging" : NULL,
				  lags ? arena_strdup(arena, lags) : NULL};
}

/* Returns the condition of the volume on its own host. */
static struct condition own_condition(struct arena *arena, const struct volume_facts *facts)
{
	const GetHostResponse *host = facts->host->says;

	if (facts->other_host)
		return (struct condition){
			VOLUME_HEALTH_ERROR_TYPE_DEGRADED, "ExistsTwice",
			arena_printf(arena,
				     "it exists twice, on nodes '%s' and '%s': calls for it fail "
				     "until one of the two is renamed ('zfs rename') or destroyed",
				     host->node_id, facts->other_host->says->node_id)};
	if (*host->problem)
		return (struct condition){VOLUME_HEALTH_ERROR_TYPE_INACCESSIBLE, "PoolUnavailable",
					  arena_strdup(arena, host->problem)};
	return copies_condition(arena, facts);
}

static bool has_put_aside(const GetHostResponse *host, uint64_t volume)
{
	for (size_t i = 0; i < host->n_diverged; i++)
		if (host->diverged[i] == volume)
			return true;
	return false;
}

/* Returns the condition "Diverged" if nodes have put aside data that the volume does not have. */
static struct condition aside_condition(struct arena *arena, const struct volume_facts *facts)
{
	const uint64_t volume = name_hash(NAME_VOLUME, facts->dataset->id);
	const char *nodes = NULL;

	for (size_t i = 0; i < facts->said.n; i++) {
		const GetHostResponse *host = facts->said.list[i];
		if (has_put_aside(host, volume))
			nodes = nodes ? arena_printf(arena, "%s, '%s'", nodes, host->node_id)
				      : arena_printf(arena, "'%s'", host->node_id);
	}
	if (!nodes)
		return (struct condition){.reason = NULL};
	return (struct condition){
		VOLUME_HEALTH_ERROR_TYPE_DEGRADED, "Diverged",
		arena_printf(
			arena,
			"data that is not in the volume is kept on node %s, since another "
			"node took it over: 'zcsi diverged list %s' prints its name; take what "
			"you need of it, then destroy it with 'zcsi diverged drop NAME'",
			nodes, facts->dataset->id)};
}

struct conditions volume_conditions(struct arena *arena, const struct volume_facts *facts)
{
	const struct condition all[CONDITIONS_MAX] = {own_condition(arena, facts),
						      aside_condition(arena, facts)};
	struct conditions conditions = {.n = 0};

	for (size_t i = 0; i < CONDITIONS_MAX; i++)
		if (all[i].reason)
			conditions.list[conditions.n++] = all[i];
	return conditions;
}

VolumeCondition *volume_condition_message(struct arena *arena, const struct volume_facts *facts)
{
	VolumeCondition *message = new_volume_condition(arena);
	const struct conditions conditions = volume_conditions(arena, facts);
	const char *text = "the dataset exists and its pool is ready";

	for (size_t i = 0; i < conditions.n; i++)
		text = i ? arena_printf(arena, "%s; %s", text, conditions.list[i].message)
			 : conditions.list[i].message;
	message->abnormal = conditions.n > 0;
	message->message = arena_strdup(arena, text);
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
	rsp->status->volume_condition =
		volume_condition_message(arena, &(struct volume_facts){.dataset = owner.dataset,
								       .host = &host,
								       .said = agents_said(call)});
	return 0;
}
