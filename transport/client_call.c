/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The client's unary calls. client_begin and client_finish run on a thread that may block; the
 * stream between them belongs to the loop.
 *
 * Invariant: from client_begin until its semaphore is posted, which happens once, a call has
 * exactly one stream or its start_call is queued. The outcome of its last stream is the outcome of
 * the call.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "transport/client_inside.h"
#include "transport/message.h"

struct client_call {
	struct client *client;
	struct arena *arena;
	const ProtobufCServiceDescriptor *service;
	const ProtobufCMethodDescriptor *method;
	uint8_t *request;
	size_t request_size;
	int64_t deadline;
	struct loop_task task;

	/* Written by the loop thread until finished is posted, read by client_finish after. */
	unsigned n_repeated;
	struct wire_message response;
	struct error error;
	sem_t finished;
};

/* Functions on the loop thread */

/* Move the encoded response out of the stream; client_finish decodes it on its own thread. */
static void on_response(struct rpc_stream *rpc, const uint8_t *bytes, size_t n)
{
	struct client_call *call = rpc->arg;
	struct exchange *exchange = (struct exchange *)rpc;

	(void)bytes;
	(void)n;
	call->response = exchange->message;
	exchange->message = (struct wire_message){0};
}

static struct client_stream *begin(struct client_call *call);

static void on_closed(struct rpc_stream *rpc, const struct error *outcome)
{
	struct client_call *call = rpc->arg;
	struct client_stream *stream = (struct client_stream *)((struct exchange *)rpc)->wire;

	if (stream->may_repeat && call->n_repeated++ < client_limits(call->client)->repeats) {
		client_wait_again(call->client, &begin(call)->waiter);
		return;
	}
	call->error = *outcome;
	sem_post(&call->finished);
}

static struct client_stream *begin(struct client_call *call)
{
	static const struct rpc_stream_events events = {
		.single = true, .bytes = on_response, .closed = on_closed};
	struct client_stream *stream = client_stream_new(
		call->client, call->service, call->method->name, call->deadline, &events, call);
	uint8_t *bytes;
	struct chunk *chunk = chunk_new(call->request_size, &bytes);

	/* The stream may outlive the call, so it sends a copy of the request. */
	memcpy(bytes, call->request, call->request_size);
	chunk->gone = chunk_wipe;
	exchange_send(&stream->exchange, chunk);
	rpc_stream_finish(&stream->exchange.rpc, NULL);
	return stream;
}

static void start_call(struct loop_task *task)
{
	struct client_call *call = container_of(task, struct client_call, task);

	client_wait(call->client, &begin(call)->waiter);
}

/* Functions on the caller's thread */

struct client_call *client_begin(struct client *client, struct arena *arena,
				 const ProtobufCServiceDescriptor *service, const char *method,
				 const ProtobufCMessage *message, int64_t deadline)
{
	struct client_call *call = arena_alloc(arena, sizeof(*call));
	int64_t latest = now_ms() + client_limits(client)->call_ms;

	call->client = client;
	call->arena = arena;
	call->service = service;
	call->method = protobuf_c_service_descriptor_get_method_by_name(service, method);
	call->deadline = deadline == NO_DEADLINE ? latest : deadline;
	sem_init(&call->finished, 0, 0);
	message_encode(arena, message, &call->request, &call->request_size);
	call->task.fn = start_call;
	loop_post(client_loop(client), &call->task);
	return call;
}

int client_finish(struct client_call *call, void *ret_response, struct error *err)
{
	ProtobufCMessage *response;
	int result = -1;

	while (sem_wait(&call->finished) < 0 && errno == EINTR)
		;
	sem_destroy(&call->finished);
	if (call->error.code != ERR_OK) {
		*err = call->error;
	} else {
		call->arena->cap = call->arena->used + client_limits(call->client)->decoded;
		result = message_decode(call->arena, call->method->output, call->response.data,
					call->response.length, &response, err);
		if (result == 0)
			memcpy(ret_response, &response, sizeof(response));
	}
	wire_message_fini(&call->response);
	return result;
}
