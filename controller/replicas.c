/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Choosing the nodes of copies of a new volume, and of further copies of an existing one: first
 * those whose topology differs most from that of the volume's own node, so that not all copies are
 * lost with one rack or zone, then by available space.
 *
 * Invariant: the choice depends only on the answers of the hosts and the request.
 */
#include "controller/replicas.h"

#include <stdlib.h>
#include <string.h>

#include "common/volume/plugin.h"
#include "controller/placement.h"

struct candidate {
	const GetHostResponse *host;
	size_t differs; /* how many topology segments it does not share with the volume's node */
};

static bool has_segment(const GetHostResponse *host, const Segment *segment)
{
	for (size_t i = 0; i < host->n_topology; i++)
		if (strcmp(host->topology[i]->key, segment->key) == 0)
			return strcmp(host->topology[i]->value, segment->value) == 0;
	return false;
}

/* Count the topology segments that differ, except the one that names the node itself. */
static size_t difference(const GetHostResponse *host, const GetHostResponse *owner)
{
	size_t n = 0;

	for (size_t i = 0; i < host->n_topology; i++)
		n += strcmp(host->topology[i]->key, PLUGIN_TOPOLOGY_KEY) != 0 &&
		     !has_segment(owner, host->topology[i]);
	return n;
}

static int best_first(const void *a, const void *b)
{
	const struct candidate *one = a, *other = b;

	if (one->differs != other->differs)
		return one->differs > other->differs ? -1 : 1;
	if (one->host->available != other->host->available)
		return one->host->available > other->host->available ? -1 : 1;
	return strcmp(one->host->node_id, other->host->node_id);
}

/* The volume, and how many nodes are to have it. */
struct wanted {
	const char *name;          /* the volume's name, for error texts */
	const struct agent *agent; /* the agent of the volume's own node */
	unsigned replicas;
	const char *members; /* as in struct parameters */
	const char *backup;  /* the node of its backup; NULL: none is known */
	const Dataset *has;  /* the volume, which may have copies already; NULL: a new one */
};

bool replicas_have(const Dataset *dataset, const char *node_id)
{
	for (size_t i = 0; i < dataset->n_copies; i++)
		if (strcmp(dataset->copies[i]->node_id, node_id) == 0)
			return true;
	return false;
}

const char *replicas_refusal(const GetHostResponse *host)
{
	if (!*host->dataset)
		return "it has no pool";
	if (*host->no_copies)
		return host->no_copies;
	return *host->problem ? host->problem : NULL;
}

/* Returns why a host takes no copy of this volume, or NULL. */
static const char *objection(const GetHostResponse *host, const GetHostResponse *owner,
			     const struct wanted *wanted)
{
	if (strcmp(host->node_id, owner->node_id) == 0)
		return *host->no_copies ? host->no_copies : "it has the volume itself";
	if (wanted->has && replicas_have(wanted->has, host->node_id))
		return "it has a copy";
	if (wanted->members && !placement_is_member(wanted->members, host->node_id))
		return "it is not among the members";
	if (wanted->backup && strcmp(host->node_id, wanted->backup) == 0)
		return "it has the backup";
	return replicas_refusal(host);
}

static int fail_too_few(struct arena *arena, const struct hosts *hosts,
			const GetHostResponse *owner, const struct wanted *wanted,
			struct error *err)
{
	const char *text = "";

	for (size_t i = 0; i < hosts->n; i++) {
		const GetHostResponse *host = hosts->list[i].says;
		const char *why = host ? objection(host, owner, wanted) : "it does not answer";
		if (why)
			text = arena_printf(
				arena, "%s; node '%s': %s", text,
				host ? host->node_id : agent_endpoint(hosts->list[i].agent), why);
	}
	return fail(err, ERR_RESOURCE_EXHAUSTED,
		    "volume '%s' is to be on %u nodes, and there are fewer that can have it%s",
		    wanted->name, wanted->replicas, text);
}

static const GetHostResponse *answer_of(const struct hosts *hosts, const struct agent *agent)
{
	for (size_t i = 0; i < hosts->n; i++)
		if (hosts->list[i].agent == agent)
			return hosts->list[i].says;
	return NULL;
}

/* *ret is the ids of all nodes that can have a further copy, the best first, after the owner's. */
static int choose(struct rpc_call *call, const struct wanted *wanted, char ***ret, size_t *ret_n,
		  struct error *err)
{
	struct arena *arena = &call->arena;
	struct hosts hosts;
	size_t n = 0, copies = wanted->has ? wanted->has->n_copies : 0;

	if (hosts_some(call, &hosts, err) < 0)
		return -1;
	const GetHostResponse *owner = answer_of(&hosts, wanted->agent);
	if (!owner)
		return fail(err, ERR_UNAVAILABLE, "agent '%s' has stopped answering: try again",
			    agent_endpoint(wanted->agent));
	struct candidate *list = arena_alloc(arena, (hosts.n + 1) * sizeof(*list));
	for (size_t i = 0; i < hosts.n; i++) {
		const GetHostResponse *host = hosts.list[i].says;
		if (host && !objection(host, owner, wanted))
			list[n++] = (struct candidate){host, difference(host, owner)};
	}
	if (1 + copies + n < wanted->replicas || *owner->no_copies)
		return fail_too_few(arena, &hosts, owner, wanted, err);
	qsort(list, n, sizeof(*list), best_first);
	*ret = arena_alloc(arena, (n + 1) * sizeof(**ret));
	(*ret)[0] = owner->node_id;
	for (size_t i = 0; i < n; i++)
		(*ret)[i + 1] = list[i].host->node_id;
	*ret_n = n + 1;
	return 0;
}

int replicas_choose(struct rpc_call *call, const char *name, const struct parameters *parameters,
		    const struct agent *agent, CreateDatasetRequest *request, struct error *err)
{
	const struct wanted wanted = {.name = name,
				      .agent = agent,
				      .replicas = parameters->replicas,
				      .members = parameters->members,
				      .backup = parameters->backup};

	if (parameters->replicas < 2)
		return 0;
	if (choose(call, &wanted, &request->members, &request->n_members, err) < 0)
		return -1;
	request->n_members = parameters->replicas;
	return 0;
}

int replicas_modify(struct rpc_call *call, const struct owner *owner,
		    const struct parameters *parameters, ModifyDatasetRequest *request,
		    struct error *err)
{
	const Dataset *dataset = owner->dataset;
	struct arena *arena = &call->arena;
	const struct wanted wanted = {
		.name = dataset->id,
		.agent = owner->agent,
		.replicas = parameters->replicas,
		.members = parameters_value(arena, dataset->parameters, "members"),
		.backup = parameters_value(arena, dataset->parameters, "backup"),
		.has = dataset};
	char **nodes = NULL;
	size_t n = 0;

	request->replicas = (int32_t)parameters->replicas;
	if (parameters->replicas <= 1 + dataset->n_copies)
		return 0;
	if (choose(call, &wanted, &nodes, &n, err) < 0)
		return -1;
	request->candidates = nodes + 1;
	request->n_candidates = n - 1;
	return 0;
}
