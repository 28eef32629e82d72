/* SPDX-License-Identifier: MPL-2.0 */
/*
 * ControllerExpandVolume and ControllerModifyVolume: changing the size and the properties of a
 * volume.
 *
 * Invariant: all arguments are checked before an agent is asked whether the volume exists, and an
 * invalid one changes nothing.
 */
#include <inttypes.h>

#include "common/volume/format.h"
#include "common/volume/map.h"
#include "controller/capability.h"
#include "controller/hosts.h"
#include "controller/request/parameters.h"
#include "controller/replicas.h"
#include "controller/service.h"
#include "controller/request/capacity_range.h"
#include "controller/request/field.h"

static int parse_expansion(const ControllerExpandVolumeRequest *req, struct capacity_range *ret,
			   struct error *err)
{
	if (field_check_present("volume_id", req->volume_id, err) < 0)
		return -1;
	if (!req->capacity_range ||
	    (!req->capacity_range->required_bytes && !req->capacity_range->limit_bytes))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "capacity_range is missing: give required_bytes");
	if (req->volume_capability && (capability_check(req->volume_capability, err) < 0 ||
				       capability_support(req->volume_capability, err) < 0))
		return -1;
	return capacity_range_parse(req->capacity_range, ret, err);
}

static int check_format(const ControllerExpandVolumeRequest *req, const Dataset *dataset,
			struct capacity_range *range, struct error *err)
{
	const struct format *format = format_find(dataset->format);

	if (req->volume_capability && capability_fits(req->volume_capability, dataset, err) < 0)
		return -1;
	return format ? capacity_range_take_format(range, format, err) : 0;
}

/* Returns true if the node has to grow a filesystem on the volume's device. */
static bool grows_on_node(const Dataset *dataset)
{
	const struct format *format = format_find(dataset->format);

	return format && format->zvol && format->mounts;
}

int controller_expand_volume(struct rpc_call *call, const ControllerExpandVolumeRequest *req,
			     ControllerExpandVolumeResponse *rsp, struct error *err)
{
	ResizeDatasetRequest *request = new_resize_dataset_request(&call->arena);
	ResizeDatasetResponse *response;
	struct capacity_range range = {0};
	struct owner owner;

	if (parse_expansion(req, &range, err) < 0 ||
	    owner_get(call, req->volume_id, &owner, err) < 0 ||
	    check_format(req, owner.dataset, &range, err) < 0)
		return -1;
	if (range.limit && owner.dataset->size > range.limit)
		return fail(err, ERR_OUT_OF_RANGE,
			    "volume '%s' has %" PRId64 " bytes, more than limit_bytes %" PRId64
			    ": volumes never shrink",
			    req->volume_id, owner.dataset->size, range.limit);
	rsp->node_expansion_required = grows_on_node(owner.dataset);
	/* A volume without a quota fits any requirement, and setting one would make it smaller. */
	rsp->capacity_bytes = range.required;
	if (!owner.dataset->size)
		return 0;
	/*
	 * Call the agent even if the volume is large enough: a crash between setting quota and
	 * reservation may have left the reservation unset, and the agent sets it then.
	 */
	request->id = owner.dataset->id;
	request->size = range.required > owner.dataset->size ? range.required : owner.dataset->size;
	if (agent_resize_dataset(call, owner.agent, request, &response, err) < 0)
		return -1;
	rsp->capacity_bytes = response->dataset ? response->dataset->size : request->size;
	return 0;
}

/*
 * An agent of an earlier version changes the properties and ignores the fields about copies. Fail
 * if the request has such fields.
 */
static int check_copies(const struct agent *agent, const ModifyDatasetRequest *request,
			const ModifyDatasetResponse *response, struct error *err)
{
	if (response->knows_copies || !parameters_about_copies(request))
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "what concerns the copies of volume '%s' is not changed: the "
		    "zcsi-node of agent '%s' is of an earlier version, which has no copies; "
		    "install this one there",
		    request->id, agent_endpoint(agent));
}

int controller_modify_volume(struct rpc_call *call, const ControllerModifyVolumeRequest *req,
			     ControllerModifyVolumeResponse *rsp, struct error *err)
{
	ModifyDatasetRequest *request = new_modify_dataset_request(&call->arena);
	ModifyDatasetResponse *response;
	struct parameters parameters;
	struct owner owner;

	(void)rsp;
	if (field_check_present("volume_id", req->volume_id, err) < 0)
		return -1;
	if (req->n_mutable_parameters == 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "mutable_parameters is missing: at least one is needed");
	if (parameters_parse_mutable(&call->arena, map_of(&call->arena, req, mutable_parameters),
				     &parameters, err) < 0 ||
	    owner_get(call, req->volume_id, &owner, err) < 0 ||
	    parameters_check_format(&call->arena, &parameters, format_find(owner.dataset->format),
				    err) < 0)
		return -1;
	request->id = owner.dataset->id;
	parameters_modify(&parameters, request);
	if (!parameters.n_properties && !parameters.replicas && !parameters_about_copies(request))
		return 0;
	if (replicas_modify(call, &owner, &parameters, request, err) < 0 ||
	    agent_modify_dataset(call, owner.agent, request, &response, err) < 0)
		return -1;
	return check_copies(owner.agent, request, response, err);
}
