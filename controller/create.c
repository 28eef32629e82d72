/* SPDX-License-Identifier: MPL-2.0 */
/*
 * CreateVolume: check everything, look for the name everywhere, else place and make it; a clone
 * is made where its source is.
 *
 * Invariant: whatever way a dataset was come by, found or just made, it is compared with the
 * request before it is answered; so a repeat, a race of two controllers on one pool, and a name
 * taken by something else all end at the same comparison.
 */
#include <inttypes.h>
#include <string.h>

#include "controller/capability.h"
#include "controller/hosts.h"
#include "controller/parameters.h"
#include "controller/placement.h"
#include "controller/service.h"
#include "controller/size.h"
#include "controller/source.h"
#include "controller/text.h"
#include "controller/volume.h"

struct wanted {
	const char *name;
	struct size_range range;
	struct parameters parameters;
	struct source source;
	const TopologyRequirement *where;
};

static int parse(struct rpc_call *call, const CreateVolumeRequest *req, struct wanted *ret,
		 struct error *err)
{
	if (text_check_name("name", req->name, err) < 0)
		return -1;
	if (capabilities_check(req->n_volume_capabilities, req->volume_capabilities, err) < 0 ||
	    capabilities_support(req->n_volume_capabilities, req->volume_capabilities, err) < 0)
		return -1;
	if (source_parse(req->volume_content_source, &ret->source, err) < 0 ||
	    size_range_parse(req->capacity_range, &ret->range, err) < 0)
		return -1;
	ret->name = req->name;
	ret->where = req->accessibility_requirements;
	return parameters_parse(&call->arena, map_of(&call->arena, req, parameters),
				map_of(&call->arena, req, mutable_parameters), &ret->parameters,
				err);
}

static int compare_source(struct arena *arena, const struct wanted *wanted, const Dataset *dataset,
			  struct error *err)
{
	struct source source = source_of(dataset);

	if (source_equal(&source, &wanted->source))
		return 0;
	return fail(err, ERR_ALREADY_EXISTS,
		    "volume '%s' already exists and its volume_content_source is %s; asked for is "
		    "%s",
		    wanted->name, source_name(arena, &source), source_name(arena, &wanted->source));
}

static int compare(struct arena *arena, const struct wanted *wanted, const Dataset *dataset,
		   const GetHostResponse *owner, struct error *err)
{
	if (!size_range_fits(&wanted->range, dataset->size))
		return fail(err, ERR_ALREADY_EXISTS,
			    "volume '%s' already exists and its capacity_bytes, %" PRId64
			    ", is not within the capacity_range asked for (required_bytes=%" PRId64
			    ", limit_bytes=%" PRId64 ")",
			    wanted->name, dataset->size, wanted->range.required,
			    wanted->range.limit);
	const char *difference =
		parameters_difference(arena, dataset->parameters, wanted->parameters.text);
	if (difference)
		return fail(err, ERR_ALREADY_EXISTS,
			    "volume '%s' already exists with other parameters: %s", wanted->name,
			    difference);
	if (compare_source(arena, wanted, dataset, err) < 0)
		return -1;
	if (!placement_allowed(arena, owner, wanted->where))
		return fail(err, ERR_ALREADY_EXISTS,
			    "volume '%s' already exists on node '%s', which is in none of the "
			    "topologies that accessibility_requirements asks for",
			    wanted->name, owner->node_id);
	return 0;
}

/* Those asked for, and the reservation of a thick volume. */
static void set_properties(struct arena *arena, const struct parameters *parameters,
			   CreateDatasetRequest *request)
{
	size_t n = parameters->n_properties;

	request->properties = arena_alloc(arena, (n + 1) * sizeof(*request->properties));
	for (size_t i = 0; i < n; i++)
		request->properties[i] = parameters->properties[i];
	if (parameters->thick) {
		request->properties[n] = new_property(arena);
		request->properties[n]->name = arena_strdup(arena, "refreservation");
		request->properties[n]->value = arena_printf(arena, "%" PRId64, request->size);
		n++;
	}
	request->n_properties = n;
}

static int make(struct rpc_call *call, const struct wanted *wanted, const struct agent *agent,
		int64_t size, Dataset **ret, struct error *err)
{
	CreateDatasetRequest *request = new_create_dataset_request(&call->arena);
	CreateDatasetResponse *response;

	request->id = arena_strdup(&call->arena, wanted->name);
	request->size = size;
	request->parameters = wanted->parameters.text;
	request->source_snapshot = arena_strdup(&call->arena, wanted->source.snapshot);
	request->source_dataset = arena_strdup(&call->arena, wanted->source.volume);
	set_properties(&call->arena, &wanted->parameters, request);
	if (agent_create_dataset(call, agent, request, &response, err) < 0)
		return -1;
	*ret = response->dataset;
	return 0;
}

static int place_and_make(struct rpc_call *call, const struct wanted *wanted, struct host *ret_host,
			  Dataset **ret, struct error *err)
{
	const struct host *host;
	struct hosts hosts;

	if (hosts_all(call, &hosts, err) < 0)
		return -1;
	if (placement_choose(&call->arena, &hosts, wanted->name, wanted->where, &host, err) < 0)
		return -1;
	*ret_host = *host;
	return make(call, wanted, host->agent, size_range_choose(&wanted->range), ret, err);
}

/* A clone shares its source's blocks, so it is in the same pool. */
static int clone_source(struct rpc_call *call, const struct wanted *wanted, struct host *ret_host,
			Dataset **ret, struct error *err)
{
	const struct agent *agent;
	int64_t source_size, size;

	if (source_find(call, &wanted->source, &agent, &source_size, err) < 0 ||
	    size_range_choose_from(&wanted->range, source_size, &size, err) < 0 ||
	    host_of(call, agent, ret_host, err) < 0)
		return -1;
	if (!placement_allowed(&call->arena, ret_host->says, wanted->where))
		return fail(err, ERR_RESOURCE_EXHAUSTED,
			    "volume '%s' can only be on node '%s', where its source is, and that "
			    "is in none of the topologies that accessibility_requirements asks for",
			    wanted->name, ret_host->says->node_id);
	return make(call, wanted, agent, size, ret, err);
}

static int find_or_make(struct rpc_call *call, const struct wanted *wanted, struct host *ret_host,
			Dataset **ret, struct error *err)
{
	struct owner owner;

	if (owner_find(call, wanted->name, &owner, err) < 0)
		return -1;
	if (!owner.dataset)
		return source_given(&wanted->source)
			       ? clone_source(call, wanted, ret_host, ret, err)
			       : place_and_make(call, wanted, ret_host, ret, err);
	*ret = owner.dataset;
	return host_of(call, owner.agent, ret_host, err);
}

int create_volume(struct rpc_call *call, const CreateVolumeRequest *req, CreateVolumeResponse *rsp,
		  struct error *err)
{
	struct wanted wanted;
	struct host host = {0};
	Dataset *dataset = NULL;

	if (parse(call, req, &wanted, err) < 0)
		return -1;
	if (find_or_make(call, &wanted, &host, &dataset, err) < 0)
		return -1;
	if (!dataset)
		return fail(err, ERR_INTERNAL,
			    "agent '%s' made volume '%s' but did not describe it: repeat the call",
			    agent_endpoint(host.agent), wanted.name);
	if (compare(&call->arena, &wanted, dataset, host.says, err) < 0)
		return -1;
	rsp->volume = volume_of(&call->arena, dataset, host.says);
	return 0;
}
