/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Server reflection: a stream of requests, each answered before the next is read.
 *
 * The two versions of the protocol differ only in the name of their package, so their messages are
 * the same in memory, and the messages of v1 serve both.
 *
 * Invariant: while an answer waits for room in the queue, the stream is paused.
 */
#include "transport/reflection.h"

#include "proto/reflection.h"
#include "proto/reflection_v1alpha.pb-c.h"
#include "transport/descriptors.h"
#include "transport/message.h"
#include "transport/server_stream.h"

_Static_assert(sizeof(Grpc__Reflection__V1__ServerReflectionResponse) ==
		       sizeof(Grpc__Reflection__V1alpha__ServerReflectionResponse),
	       "the two versions are the same in memory");

/* State of a stream: the answer that waits to be sent, and its memory. */
struct reflection {
	ServerReflectionResponse *answer; /* NULL when no answer waits */
	struct arena arena;
};

static void answer_files(struct arena *arena, ServerReflectionResponse *rsp,
			 const struct descriptor_files *files)
{
	rsp->message_response_case =
		SERVER_REFLECTION_RESPONSE_MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE;
	rsp->file_descriptor_response = new_file_descriptor_response(arena);
	rsp->file_descriptor_response->n_file_descriptor_proto = files->n;
	rsp->file_descriptor_response->file_descriptor_proto = files->list;
}

static void answer_services(struct arena *arena, ServerReflectionResponse *rsp,
			    const struct listener *listener)
{
	ListServiceResponse *list = new_list_service_response(arena);
	size_t n = 0;

	while (listener->services[n])
		n++;
	list->service = arena_alloc(arena, n * sizeof(*list->service));
	for (size_t i = 0; i < n; i++) {
		ServiceResponse *row = new_service_response(arena);
		row->name = arena_strdup(arena, listener->services[i]->descriptor->name);
		list->service[list->n_service++] = row;
	}
	rsp->message_response_case =
		SERVER_REFLECTION_RESPONSE_MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE;
	rsp->list_services_response = list;
}

static void answer_error(struct arena *arena, ServerReflectionResponse *rsp,
			 const struct error *error)
{
	rsp->message_response_case = SERVER_REFLECTION_RESPONSE_MESSAGE_RESPONSE_ERROR_RESPONSE;
	rsp->error_response = new_error_response(arena);
	rsp->error_response->error_code = (int32_t)error->code;
	rsp->error_response->error_message = arena_strdup(arena, error->text);
}

static int find_files(struct arena *arena, const ServerReflectionRequest *req,
		      struct descriptor_files *ret, struct error *err)
{
	switch (req->message_request_case) {
	case SERVER_REFLECTION_REQUEST_MESSAGE_REQUEST_FILE_BY_FILENAME:
		return descriptors_by_name(arena, req->file_by_filename, ret, err);
	case SERVER_REFLECTION_REQUEST_MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL:
		return descriptors_by_symbol(arena, req->file_containing_symbol, ret, err);
	case SERVER_REFLECTION_REQUEST_MESSAGE_REQUEST_FILE_CONTAINING_EXTENSION:
	case SERVER_REFLECTION_REQUEST_MESSAGE_REQUEST_ALL_EXTENSION_NUMBERS_OF_TYPE:
		return fail(err, ERR_NOT_FOUND, "nothing here has extensions");
	default:
		return fail(err, ERR_INVALID_ARGUMENT, "the request asks for nothing");
	}
}

static ServerReflectionResponse *answer(struct arena *arena, const struct listener *listener,
					const ServerReflectionRequest *req)
{
	ServerReflectionResponse *rsp = new_server_reflection_response(arena);
	struct descriptor_files files;
	struct error err;

	rsp->valid_host = req->host;
	rsp->original_request = (ServerReflectionRequest *)(uintptr_t)req;
	if (req->message_request_case == SERVER_REFLECTION_REQUEST_MESSAGE_REQUEST_LIST_SERVICES)
		answer_services(arena, rsp, listener);
	else if (find_files(arena, req, &files, &err) == 0)
		answer_files(arena, rsp, &files);
	else
		answer_error(arena, rsp, &err);
	return rsp;
}

/* Events of the stream */

static bool send_answer(struct rpc_stream *stream)
{
	struct reflection *reflection = stream->arg;

	if (!rpc_stream_send(stream, &reflection->answer->base))
		return false;
	arena_fini(&reflection->arena);
	reflection->answer = NULL;
	return true;
}

static void on_request(struct rpc_stream *stream, const void *message)
{
	struct reflection *reflection = stream->arg;

	arena_init(&reflection->arena, SIZE_MAX);
	reflection->answer = answer(&reflection->arena, server_listener(stream), message);
	if (!send_answer(stream))
		rpc_stream_hold(stream);
}

static void on_writable(struct rpc_stream *stream)
{
	struct reflection *reflection = stream->arg;

	if (reflection->answer && send_answer(stream))
		rpc_stream_resume(stream);
}

static void on_ended(struct rpc_stream *stream)
{
	rpc_stream_finish(stream, NULL);
}

static void on_closed(struct rpc_stream *stream, const struct error *outcome)
{
	struct reflection *reflection = stream->arg;

	(void)outcome;
	if (reflection->answer)
		arena_fini(&reflection->arena);
}

static int server_reflection_info(struct rpc_stream *stream, struct error *err)
{
	static const struct rpc_stream_events events = {.message = on_request,
							.ended = on_ended,
							.writable = on_writable,
							.closed = on_closed};

	(void)err;
	stream->arg = arena_alloc(&stream->arena, sizeof(struct reflection));
	stream->events = &events;
	return 0;
}

#define REFLECTION_METHODS(INLINE, PLAIN, KEYED, STREAM)                                           \
	STREAM(ServerReflectionInfo, server_reflection_info)

RPC_SERVICE(reflection_service, grpc__reflection__v1__server_reflection__descriptor,
	    REFLECTION_METHODS);
RPC_SERVICE(reflection_v1alpha_service, grpc__reflection__v1alpha__server_reflection__descriptor,
	    REFLECTION_METHODS);
