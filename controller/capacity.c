/* SPDX-License-Identifier: MPL-2.0 */
/*
 * GetCapacity: the space of the pools that placement would choose from. Volumes are thin, so this
 * is the number of bytes that could still be written; the unused size of existing volumes is not
 * subtracted, unless a pool has a limit of the sizes of its volumes, --overcommit of zcsi-node.
 *
 * A thin volume may be larger than its pool, so maximum_volume_size is what that limit leaves, and
 * not the free space: an orchestrator that compares sizes, as Kubernetes does, would not request a
 * larger volume at all.
 *
 * Invariant: the pools counted here are those that CreateVolume with the same fields would accept.
 */
#include <string.h>
#include <strings.h>

#include "common/volume/map.h"
#include "common/volume/plugin.h"
#include "controller/agents_ask.h"
#include "controller/capability.h"
#include "controller/request/capacity_range.h"
#include "controller/hosts.h"
#include "controller/request/parameters.h"
#include "controller/placement.h"
#include "controller/service.h"
#include "controller/volume.h"

static Google__Protobuf__Int64Value *int64_value(struct arena *arena, int64_t number)
{
	Google__Protobuf__Int64Value *value = arena_alloc(arena, sizeof(*value));

	google__protobuf__int64_value__init(value);
	value->value = number;
	return value;
}

/* The restrictions of the request: the pools of hosts that match them are counted. */
struct counted {
	const Topology *topology;
	struct where where;
	bool thick;
	bool is_found; /* the request names a node, whose agent has answered a roll call */
};

static bool counts(struct rpc_call *call, const GetHostResponse *host,
		   const struct counted *counted)
{
	return placement_pinned(host, &counted->where) &&
	       placement_reaches(&call->arena, host, counted->topology);
}

/* Returns the node that the parameters or the topology name, or NULL. */
static const char *node_of(struct rpc_call *call, const struct counted *counted)
{
	if (counted->where.node || !counted->topology)
		return counted->where.node;
	struct map segments = map_of(&call->arena, counted->topology, segments);
	for (size_t i = 0; i < segments.n; i++)
		if (strcasecmp(segments.pairs[i].key, PLUGIN_TOPOLOGY_KEY) == 0)
			return segments.pairs[i].value;
	return NULL;
}

/* Returns true if the request names a node, and an agent was that node's when it last answered. */
static bool is_found(struct rpc_call *call, const struct counted *counted)
{
	const char *node = node_of(call, counted);
	const struct said said = agents_said(call);

	for (size_t i = 0; node && i < said.n; i++)
		if (strcmp(said.list[i]->node_id, node) == 0)
			return true;
	return false;
}

/*
 * Ask only the hosts that may count, so that no call waits for another host that is down. An agent
 * that has not answered since this controller was started may be on any host, but for the node of
 * another agent: of two agents of one node one is refused. So it is left out if the request names
 * such a node. Without a node in the request it may count, and "no capacity" would be a guess.
 */
static bool may_count(struct rpc_call *call, const GetHostResponse *said, const void *arg)
{
	const struct counted *counted = arg;

	return said ? counts(call, said, counted) : !counted->is_found;
}

static int64_t smaller(int64_t one, int64_t other)
{
	return one < other ? one : other;
}

/* Returns the size of the largest volume that the host would create. */
static int64_t largest_on(const GetHostResponse *host, bool thick)
{
	int64_t largest = smaller(placement_room(host, NULL), VOLUME_SIZE_MAX);

	return thick ? smaller(largest, host->available) : largest;
}

static int count_space(struct rpc_call *call, struct counted *counted, GetCapacityResponse *rsp,
		       struct error *err)
{
	struct hosts hosts;
	int64_t largest = 0;

	counted->is_found = is_found(call, counted);
	if (hosts_chosen(call, may_count, counted, &hosts, err) < 0)
		return -1;
	for (size_t i = 0; i < hosts.n; i++) {
		const GetHostResponse *host = hosts.list[i].says;
		if (!placement_usable(host) || placement_refusal(host, &counted->where) ||
		    !counts(call, host, counted))
			continue;
		rsp->available_capacity += smaller(host->available, placement_room(host, NULL));
		if (largest_on(host, counted->thick) > largest)
			largest = largest_on(host, counted->thick);
	}
	rsp->maximum_volume_size = int64_value(&call->arena, largest);
	return 0;
}

int get_capacity(struct rpc_call *call, const GetCapacityRequest *req, GetCapacityResponse *rsp,
		 struct error *err)
{
	struct parameters parameters;
	struct error unsupported;
	const char *format;

	if (req->n_volume_capabilities &&
	    capabilities_check(req->n_volume_capabilities, req->volume_capabilities, err) < 0)
		return -1;
	if (parameters_parse(&call->arena, map_of(&call->arena, req, parameters), (struct map){0},
			     &parameters, err) < 0)
		return -1;
	/* An unsupported capability is not an error: no capacity is available for it. */
	if (capabilities_support(req->n_volume_capabilities, req->volume_capabilities, &format,
				 &unsupported) < 0)
		return 0;
	const char *attach = parameters_value(&call->arena, parameters.text, ATTACH_KEY);
	struct counted counted = {.topology = req->accessible_topology,
				  .thick = parameters.thick,
				  .where = {.node = parameters.node,
					    .pool = parameters.pool,
					    .local = !strcmp(attach, ATTACH_LOCAL),
					    .exported = !strcmp(attach, ATTACH_NFS),
					    .zvol = format_on_zvol(format),
					    .encrypted = parameters.encrypted}};
	return count_space(call, &counted, rsp, err);
}
