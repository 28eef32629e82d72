/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The steps of a unary call: find the method, decode the request, run the handler, encode the
 * response.
 *
 * Invariant: all memory of a call is in its arena, except the reply, which may outlive the call.
 */
#include "transport/rpc_inside.h"

#include <string.h>

#include "transport/message.h"
#include "transport/wire.h"

const struct rpc_service *rpc_service_find(const struct rpc_service *const *services,
					   const char *name, size_t size)
{
	for (; *services; services++) {
		const char *candidate = (*services)->descriptor->name;
		if (strlen(candidate) == size && memcmp(candidate, name, size) == 0)
			return *services;
	}
	return NULL;
}

static const struct rpc_method *find_method(const struct rpc_service *service, const char *name)
{
	for (size_t i = 0; i < service->n_methods; i++)
		if (strcmp(service->methods[i].name, name) == 0)
			return &service->methods[i];
	return NULL;
}

int rpc_find(const struct rpc_service *const *services, const char *path, struct rpc_target *ret,
	     struct error *err)
{
	const char *slash = path[0] == '/' ? strrchr(path, '/') : NULL;

	if (!slash || slash == path)
		return fail(err, ERR_UNIMPLEMENTED, "'%s' is not the path of a method", path);
	const struct rpc_service *service =
		rpc_service_find(services, path + 1, (size_t)(slash - path - 1));
	if (!service)
		return fail(err, ERR_UNIMPLEMENTED, "service '%.*s' is not served here",
			    (int)(slash - path - 1), path + 1);
	const struct rpc_method *method = find_method(service, slash + 1);
	if (!method)
		return fail(err, ERR_UNIMPLEMENTED,
			    "method '%s' of service '%s' is not implemented", slash + 1,
			    service->descriptor->name);
	const ProtobufCMethodDescriptor *descriptor =
		protobuf_c_service_descriptor_get_method_by_name(service->descriptor, method->name);
	*ret = (struct rpc_target){.service = service->descriptor->name,
				   .method = method,
				   .input = descriptor->input,
				   .output = descriptor->output};
	return 0;
}

int rpc_decode(struct rpc_call *call, const uint8_t *bytes, size_t n, const struct limits *limits,
	       struct error *err)
{
	call->arena.cap = call->arena.used + message_decoded_max(n, limits);
	return message_decode(&call->arena, call->target.input, bytes, n, &call->request, err);
}

int rpc_run(struct rpc_call *call, size_t message_max, struct error *err)
{
	void *response = message_new(&call->arena, call->target.output);

	if (call->target.method->run(call, call->request, response, err) < 0)
		return -1;
	call->reply = message_chunk(response);
	call->reply->gone = chunk_wipe;
	size_t n = call->reply->size - WIRE_PREFIX_SIZE;
	if (n > message_max)
		return fail(err, ERR_RESOURCE_EXHAUSTED,
			    "the answer has %zu bytes, more than the %zu that clients accept: ask "
			    "for fewer entries at a time",
			    n, message_max);
	return 0;
}
