/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The handlers of echo.proto, for echo_server and for tests. A handler that cannot queue its
 * response keeps the response, and pauses the stream until the response fits.
 */
#include "tests/transport/echo_service.h"

int echo(struct rpc_call *call, const EchoRequest *req, EchoResponse *rsp, struct error *err)
{
	(void)err;
	rsp->text = arena_strdup(&call->arena, req->text);
	rsp->count = req->count;
	return 0;
}

/* Returns the response of a stream, which is kept if it was not yet sent or did not fit into the
 * queue. */
static EchoResponse *echo_state(struct rpc_stream *stream)
{
	if (!stream->arg)
		stream->arg = new_echo_response(&stream->arena);
	return stream->arg;
}

static void collect_one(struct rpc_stream *stream, const void *message)
{
	EchoResponse *response = echo_state(stream);
	const EchoRequest *request = message;

	response->count++;
	response->text = arena_strdup(&stream->arena, request->text);
}

static void collect_ended(struct rpc_stream *stream)
{
	rpc_stream_send(stream, &echo_state(stream)->base);
	rpc_stream_finish(stream, NULL);
}

int collect(struct rpc_stream *stream, struct error *err)
{
	static const struct rpc_stream_events events = {.message = collect_one,
							.ended = collect_ended};

	(void)err;
	stream->events = &events;
	return 0;
}

struct repetition {
	EchoResponse response;
	uint32_t end;
};

static void repeat_more(struct rpc_stream *stream)
{
	struct repetition *state = stream->arg;

	while (state->response.count < state->end) {
		if (!rpc_stream_send(stream, &state->response.base))
			return;
		state->response.count++;
	}
	rpc_stream_finish(stream, NULL);
}

static void repeat_begin(struct rpc_stream *stream, const void *message)
{
	const EchoRequest *request = message;
	struct repetition *state = arena_alloc(&stream->arena, sizeof(*state));

	zcsi__test__echo_response__init(&state->response);
	state->response.text = arena_strdup(&stream->arena, request->text);
	state->end = request->count;
	stream->arg = state;
	repeat_more(stream);
}

int repeat(struct rpc_stream *stream, struct error *err)
{
	static const struct rpc_stream_events events = {
		.single = true, .message = repeat_begin, .writable = repeat_more};

	(void)err;
	stream->events = &events;
	return 0;
}

static void chat_answer(struct rpc_stream *stream)
{
	if (rpc_stream_send(stream, &echo_state(stream)->base))
		rpc_stream_resume(stream);
	else
		rpc_stream_hold(stream);
}

static void chat_one(struct rpc_stream *stream, const void *message)
{
	EchoResponse *response = echo_state(stream);
	const EchoRequest *request = message;

	response->text = request->text;
	response->count = request->count;
	chat_answer(stream);
}

static void chat_ended(struct rpc_stream *stream)
{
	rpc_stream_finish(stream, NULL);
}

int chat(struct rpc_stream *stream, struct error *err)
{
	static const struct rpc_stream_events events = {
		.message = chat_one, .ended = chat_ended, .writable = chat_answer};

	(void)err;
	stream->events = &events;
	return 0;
}
