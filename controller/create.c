/* SPDX-License-Identifier: MPL-2.0 */
/*
 * CreateVolume: check the request, and look for the name on every agent. If no agent has it, choose
 * an agent and create the volume there. A clone is created on the agent that has its source.
 *
 * Invariant: a dataset is compared with the request before it is returned, whether it was found or
 * just created. So a repeated call, a race of two controllers and a name that is in use all end in
 * the same comparison. A dataset is created only while every agent promises to create none of that
 * name for an earlier claim (claim.h).
 */
#include <inttypes.h>
#include <string.h>

#include "common/volume/format.h"
#include "common/volume/map.h"
#include "common/volume/plugin.h"
#include "controller/backup.h"
#include "controller/capability.h"
#include "controller/claim.h"
#include "controller/hosts.h"
#include "controller/request/parameters.h"
#include "controller/roster_absent.h"
#include "controller/placement.h"
#include "controller/replicas.h"
#include "controller/service.h"
#include "controller/request/capacity_range.h"
#include "controller/source.h"
#include "controller/request/field.h"
#include "controller/volume.h"

struct wanted {
	const char *name;
	const char *format; /* as in common/volume/format.h; "": any that can be mounted */
	struct capacity_range range;
	struct parameters parameters;
	struct source source;
	struct where where;
	const char *key; /* the secret encryption_key; NULL if not given */
	uint64_t claim;  /* set when no agent has the volume */
	bool found;      /* set when an agent has the volume */
};

/*
 * Returns the topology of a volume that every node can use, in the arena. The requisite topologies
 * of the request only count as preferred ones. NULL if the request has no requirement.
 */
static const TopologyRequirement *wishes_of(struct arena *arena,
					    const TopologyRequirement *requirement)
{
	TopologyRequirement *wishes = new_topology_requirement(arena);

	if (!requirement)
		return NULL;
	bool preferred = requirement->n_preferred;
	wishes->n_preferred = preferred ? requirement->n_preferred : requirement->n_requisite;
	wishes->preferred = preferred ? requirement->preferred : requirement->requisite;
	return wishes;
}

static int parse(struct rpc_call *call, const CreateVolumeRequest *req, struct wanted *ret,
		 struct error *err)
{
	if (field_check_name("name", req->name, err) < 0)
		return -1;
	if (capabilities_check(req->n_volume_capabilities, req->volume_capabilities, err) < 0 ||
	    capabilities_support(req->n_volume_capabilities, req->volume_capabilities, &ret->format,
				 err) < 0)
		return -1;
	if (source_parse(req->volume_content_source, &ret->source, err) < 0 ||
	    capacity_range_parse(req->capacity_range, &ret->range, err) < 0)
		return -1;
	struct map secrets = map_of(&call->arena, req, secrets);
	ret->key = map_get(&secrets, PLUGIN_KEY_SECRET);
	ret->name = req->name;
	if (parameters_parse(&call->arena, map_of(&call->arena, req, parameters),
			     map_of(&call->arena, req, mutable_parameters), &ret->parameters,
			     err) < 0)
		return -1;
	const char *attach = parameters_value(&call->arena, ret->parameters.text, ATTACH_KEY);
	ret->where = (struct where){.topology = req->accessibility_requirements,
				    .node = ret->parameters.node,
				    .pool = ret->parameters.pool,
				    .members = ret->parameters.members,
				    .local = !strcmp(attach, ATTACH_LOCAL),
				    .exported = !strcmp(attach, ATTACH_NFS),
				    .zvol = format_on_zvol(ret->format),
				    .encrypted = ret->parameters.encrypted,
				    .size = capacity_range_choose(&ret->range)};
	if (!ret->where.local)
		ret->where.topology = wishes_of(&call->arena, req->accessibility_requirements);
	return capabilities_reach(req->n_volume_capabilities, req->volume_capabilities, attach,
				  err);
}

static int compare_source(struct arena *arena, const struct wanted *wanted, const Dataset *dataset,
			  struct error *err)
{
	struct source source = source_of(dataset);

	if (source_equal(&source, &wanted->source))
		return 0;
	return fail(err, ERR_ALREADY_EXISTS,
		    "volume '%s' already exists and its volume_content_source is %s; the request "
		    "asks for %s",
		    wanted->name, source_name(arena, &source), source_name(arena, &wanted->source));
}

static int compare_format(const struct wanted *wanted, const Dataset *dataset, struct error *err)
{
	const struct format *is = format_find(dataset->format);

	if (is && format_fits(wanted->format, is))
		return 0;
	return fail(err, ERR_ALREADY_EXISTS,
		    "volume '%s' already exists and is %s: volume_capabilities ask for '%s'",
		    wanted->name, is ? is->description : dataset->format,
		    *wanted->format ? wanted->format : "a mount");
}

/*
 * Returns true if the volume is on a node that the request allows, or may move to one: it may have
 * moved away since it was created.
 */
static bool is_placed(struct rpc_call *call, const struct wanted *wanted, const Dataset *dataset,
		      const GetHostResponse *owner)
{
	struct error ignored;
	struct hosts hosts;

	if (placement_allowed(&call->arena, owner, &wanted->where))
		return true;
	if (!dataset->follows || hosts_some(call, &hosts, &ignored) < 0)
		return false;
	for (size_t i = 0; i < hosts.n; i++) {
		const GetHostResponse *host = hosts.list[i].says;
		if (host && (dataset->follows_anywhere || replicas_have(dataset, host->node_id)) &&
		    placement_allowed(&call->arena, host, &wanted->where))
			return true;
	}
	return false;
}

static int compare(struct rpc_call *call, const struct wanted *wanted, const Dataset *dataset,
		   const GetHostResponse *owner, struct error *err)
{
	struct arena *arena = &call->arena;

	if (compare_format(wanted, dataset, err) < 0)
		return -1;
	const char *difference =
		parameters_difference(arena, dataset->parameters, wanted->parameters.text);
	if (difference)
		return fail(err, ERR_ALREADY_EXISTS,
			    "volume '%s' already exists with other parameters: %s; choose another "
			    "name, or give the parameters that it has",
			    wanted->name, difference);
	if (!capacity_range_fits(&wanted->range, dataset->size))
		return fail(err, ERR_ALREADY_EXISTS,
			    "volume '%s' already exists and its capacity_bytes, %" PRId64
			    ", is not within the capacity_range asked for (required_bytes=%" PRId64
			    ", limit_bytes=%" PRId64 ")",
			    wanted->name, dataset->size, wanted->range.required,
			    wanted->range.limit);
	if (compare_source(arena, wanted, dataset, err) < 0)
		return -1;
	if (!is_placed(call, wanted, dataset, owner))
		return fail(err, ERR_ALREADY_EXISTS,
			    "volume '%s' already exists on node '%s', in '%s'; the request asks "
			    "for one%s",
			    wanted->name, owner->node_id, owner->dataset,
			    placement_asked(arena, &wanted->where));
	return 0;
}

/* Set the volume's format, and check the parts of the request that depend on it. */
static int take_format(struct arena *arena, struct wanted *wanted, const char *name,
		       struct error *err)
{
	const struct format *format = format_find(name);

	if (!format || !format_fits(wanted->format, format))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume '%s' cannot be '%s': its source, %s, is '%s'; ask for the "
			    "format of its source",
			    wanted->name, *wanted->format ? wanted->format : "a mount",
			    source_name(arena, &wanted->source), name);
	wanted->format = name;
	if (parameters_check_format(arena, &wanted->parameters, format, err) < 0)
		return -1;
	return capacity_range_take_format(&wanted->range, format, err);
}

static int make(struct rpc_call *call, const struct wanted *wanted, const struct agent *agent,
		int64_t size, Dataset **ret, struct error *err)
{
	CreateDatasetRequest *request = new_create_dataset_request(&call->arena);
	CreateDatasetResponse *response;

	request->id = arena_strdup(&call->arena, wanted->name);
	request->size = size;
	request->format = arena_strdup(&call->arena, wanted->format);
	request->source_snapshot = arena_strdup(&call->arena, wanted->source.snapshot);
	request->source_dataset = arena_strdup(&call->arena, wanted->source.volume);
	request->claim = wanted->claim;
	if (wanted->key && wanted->parameters.encrypted)
		request->key = arena_strdup(&call->arena, wanted->key);
	parameters_create(&call->arena, &wanted->parameters, request);
	if (replicas_choose(call, wanted->name, &wanted->parameters, agent, request, err) < 0)
		return -1;
	roster_add_name(agents_roster(call), agent, NAME_VOLUME, wanted->name);
	if (agent_create_dataset(call, agent, request, &response, err) < 0)
		return -1;
	*ret = response->dataset;
	return 0;
}

/*
 * Remove the hosts that did not answer, and the node of the backup unless it is NULL. Returns true
 * if some did not answer.
 */
static bool drop_others(struct hosts *hosts, const char *backup)
{
	size_t all = hosts->n;
	bool silent = false;

	hosts->n = 0;
	for (size_t i = 0; i < all; i++) {
		const GetHostResponse *says = hosts->list[i].says;
		silent |= !says;
		if (says && !(backup && strcmp(says->node_id, backup) == 0))
			hosts->list[hosts->n++] = hosts->list[i];
	}
	return silent;
}

/*
 * Choose the host of a new volume among those that answer. If none of them is suitable, all hosts
 * must answer: one that did not may be suitable, or else the error has the reason.
 */
static int place(struct rpc_call *call, const struct wanted *wanted, struct host *ret,
		 struct error *err)
{
	struct arena *arena = &call->arena;
	const struct host *host;
	struct hosts hosts;

	if (hosts_some(call, &hosts, err) < 0)
		return -1;
	const char *backup = wanted->parameters.backup;
	bool silent = drop_others(&hosts, backup);
	int failed = placement_choose(arena, &hosts, wanted->name, &wanted->where, &host, err);
	if (failed && silent) {
		if (hosts_all(call, &hosts, err) < 0)
			return -1;
		drop_others(&hosts, backup);
		failed = placement_choose(arena, &hosts, wanted->name, &wanted->where, &host, err);
	}
	if (!failed)
		*ret = *host;
	return failed;
}

/*
 * Create a volume on the host that was chosen before the lookup of its name; *nowhere is the error
 * if none could be chosen. With attach=nfs the answers to the lookup show which hosts can export
 * volumes now: if another host is the right one now, fail with ERR_ABORTED, so the lookup is
 * repeated.
 */
static int make_at(struct rpc_call *call, struct wanted *wanted, const struct host *host,
		   const struct error *nowhere, Dataset **ret, struct error *err)
{
	struct host now = *host;

	if (take_format(&call->arena, wanted, *wanted->format ? wanted->format : FORMAT_ZFS, err) <
	    0)
		return -1;
	if (wanted->where.exported && place(call, wanted, &now, err) < 0)
		return -1;
	if (!now.agent) {
		*err = *nowhere;
		return -1;
	}
	if (now.agent != host->agent)
		return fail(err, ERR_ABORTED, "volume '%s' is placed elsewhere now: try again",
			    wanted->name);
	return make(call, wanted, host->agent, capacity_range_choose(&wanted->range), ret, err);
}

/*
 * Create a clone on the agent that has the source: a clone shares blocks with its source, so it
 * must be in the same pool.
 */
static int clone_source(struct rpc_call *call, struct wanted *wanted,
			const struct source_found *source, struct host *ret_host, Dataset **ret,
			struct error *err)
{
	int64_t size;

	if (take_format(&call->arena, wanted, source->format, err) < 0 ||
	    capacity_range_choose_from(&wanted->range, source->size, &size, err) < 0 ||
	    host_of(call, source->agent, ret_host, err) < 0)
		return -1;
	if (!placement_allowed(&call->arena, ret_host->says, &wanted->where))
		return fail(err, ERR_RESOURCE_EXHAUSTED,
			    "volume '%s' can only be on node '%s', where its source is; the "
			    "request asks for one%s",
			    wanted->name, ret_host->says->node_id,
			    placement_asked(&call->arena, &wanted->where));
	const char *backup = wanted->parameters.backup;
	if (backup && strcmp(backup, ret_host->says->node_id) == 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume '%s' can only be on node '%s', where its source is: its "
			    "backup belongs on another one",
			    wanted->name, backup);
	const char *refusal = placement_refusal(ret_host->says, &wanted->where);
	if (refusal)
		return fail(err, ERR_RESOURCE_EXHAUSTED,
			    "volume '%s' can only be on node '%s', where its source is and where "
			    "%s is impossible: %s",
			    wanted->name, ret_host->says->node_id,
			    refusal == ret_host->says->no_export ? "attach=nfs" : "such a volume",
			    refusal);
	return make(call, wanted, source->agent, size, ret, err);
}

/*
 * Ask the agent again to create an encrypted volume that exists. If zcsi-node was killed while it
 * created the volume, the key is still loaded, and this unloads it.
 */
static int finish(struct rpc_call *call, const struct wanted *wanted, const struct agent *agent,
		  Dataset **ret, struct error *err)
{
	struct wanted same = *wanted;

	same.format = (*ret)->format;
	same.parameters.replicas = 1;
	return make(call, &same, agent, (*ret)->size, ret, err);
}

/*
 * Find the volume or create it; *ret is its dataset, *ret_host its host. Returns 0, or -1 with
 * *err. ERR_ABORTED means that the call may be repeated: another controller made a later claim for
 * the name, or an agent restarted and lost its promise.
 */
static int find_or_make(struct rpc_call *call, struct wanted *wanted, struct host *ret_host,
			Dataset **ret, struct error *err)
{
	const bool clone = source_given(&wanted->source);
	struct source_found source = {.agent = NULL};
	struct host host = {.agent = NULL};
	struct owner owner;
	struct error nowhere;

	wanted->found = false;
	int unplaced = clone ? source_find(call, &wanted->source, &source, &nowhere)
			     : place(call, wanted, &host, &nowhere);
	if (owner_claim(call, wanted->name, clone ? source.agent : host.agent, &owner,
			&wanted->claim, err) < 0)
		return -1;
	/*
	 * Only for a new volume: the node of a backup may be gone long after the volume was
	 * created.
	 */
	if (!owner.dataset && backup_check(call, &wanted->parameters, err) < 0)
		return -1;
	if (!owner.dataset && !clone) {
		*ret_host = host;
		return make_at(call, wanted, &host, &nowhere, ret, err);
	}
	if (!owner.dataset && unplaced) {
		*err = nowhere;
		return -1;
	}
	if (!owner.dataset)
		return clone_source(call, wanted, &source, ret_host, ret, err);
	*ret = owner.dataset;
	wanted->found = true;
	if (host_of(call, owner.agent, ret_host, err) < 0)
		return -1;
	return wanted->parameters.encrypted ? finish(call, wanted, owner.agent, ret, err) : 0;
}

int create_volume(struct rpc_call *call, const CreateVolumeRequest *req, CreateVolumeResponse *rsp,
		  struct error *err)
{
	struct wanted wanted;
	struct host host = {0};
	Dataset *dataset = NULL;

	if (parse(call, req, &wanted, err) < 0)
		return -1;
	while (find_or_make(call, &wanted, &host, &dataset, err) < 0)
		if (!claim_again(err, call->deadline))
			return -1;
	if (!dataset || !host.says)
		return fail(err, ERR_INTERNAL,
			    "agent '%s' created volume '%s' but its answer lacks it: try again",
			    agent_endpoint(host.agent), wanted.name);
	if (compare(call, &wanted, dataset, host.says, err) < 0 ||
	    backup_add(call, dataset->id, host.says->node_id, &wanted.parameters, wanted.found,
		       err) < 0)
		return -1;
	rsp->volume = volume_of(&call->arena, dataset, host.says);
	return 0;
}
