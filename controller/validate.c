/* SPDX-License-Identifier: MPL-2.0 */
/*
 * ValidateVolumeCapabilities: whether an existing volume has the given capabilities.
 *
 * Invariant: a confirmation repeats the request unchanged. If the volume does not have the
 * capabilities, the answer has a message with the reason and no confirmation; this is no error.
 */
#include <string.h>

#include "common/volume/map.h"
#include "controller/capability.h"
#include "controller/hosts.h"
#include "controller/request/parameters.h"
#include "controller/service.h"
#include "controller/request/field.h"
#include "controller/volume.h"

/*
 * Check the volume against the capabilities, the volume_context and the parameters of the request.
 * Returns 0, or -1 with the first difference in *err.
 */
static int check_described(struct arena *arena, const ValidateVolumeCapabilitiesRequest *req,
			   const Dataset *dataset, struct error *err)
{
	struct map context = map_of(arena, req, volume_context);
	const char *attach = map_get(&context, ATTACH_KEY);
	struct parameters parameters;
	const char *format;

	if (capabilities_support(req->n_volume_capabilities, req->volume_capabilities, &format,
				 err) < 0 ||
	    capabilities_fit(req->n_volume_capabilities, req->volume_capabilities, dataset, err) <
		    0)
		return -1;
	const char *is = volume_attach(arena, dataset);
	if (attach && strcmp(attach, is) != 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume_context %s cannot be '%s': volume '%s' is attached '%s'",
			    ATTACH_KEY, attach, dataset->id, is);
	if (capabilities_reach(req->n_volume_capabilities, req->volume_capabilities, is, err) < 0)
		return -1;
	if (parameters_parse(arena, map_of(arena, req, parameters),
			     map_of(arena, req, mutable_parameters), &parameters, err) < 0)
		return -1;
	return parameters_check_format(arena, &parameters, format_find(dataset->format), err);
}

static ValidateVolumeCapabilitiesResponse_Confirmed *
confirm(struct arena *arena, const ValidateVolumeCapabilitiesRequest *req)
{
	ValidateVolumeCapabilitiesResponse_Confirmed *confirmed =
		new_validate_volume_capabilities_response_confirmed(arena);
	struct map context = map_of(arena, req, volume_context);
	struct map parameters = map_of(arena, req, parameters);
	struct map mutable = map_of(arena, req, mutable_parameters);

	/* Keep the order of the request, because Nomad compares the lists entry by entry. */
	confirmed->n_volume_capabilities = req->n_volume_capabilities;
	confirmed->volume_capabilities = req->volume_capabilities;
	for (size_t i = 0; i < context.n; i++)
		map_put(arena, confirmed, volume_context, context.pairs[i].key,
			context.pairs[i].value);
	for (size_t i = 0; i < parameters.n; i++)
		map_put(arena, confirmed, parameters, parameters.pairs[i].key,
			parameters.pairs[i].value);
	for (size_t i = 0; i < mutable.n; i++)
		map_put(arena, confirmed, mutable_parameters, mutable.pairs[i].key,
			mutable.pairs[i].value);
	return confirmed;
}

int validate_volume_capabilities(struct rpc_call *call,
				 const ValidateVolumeCapabilitiesRequest *req,
				 ValidateVolumeCapabilitiesResponse *rsp, struct error *err)
{
	struct map context = map_of(&call->arena, req, volume_context);
	struct error unsupported;
	struct owner owner;

	if (field_check_present("volume_id", req->volume_id, err) < 0)
		return -1;
	if (capabilities_check(req->n_volume_capabilities, req->volume_capabilities, err) < 0)
		return -1;
	if (volume_is_foreign(&context)) {
		rsp->confirmed = confirm(&call->arena, req);
		return 0;
	}
	if (owner_get(call, req->volume_id, &owner, err) < 0)
		return -1;
	if (check_described(&call->arena, req, owner.dataset, &unsupported) < 0)
		rsp->message = arena_strdup(&call->arena, unsupported.text);
	else
		rsp->confirmed = confirm(&call->arena, req);
	return 0;
}
