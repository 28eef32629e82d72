/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The unary calls of the gRPC server: a stream with one message in each direction, and a handler
 * that may block in between.
 *
 * A stream belongs to its connection, a call to its peer; either may end first. If the stream ends
 * first (reset, deadline passed), the call runs to its end and counts against its peer until then.
 * An answered call is freed at once, because the stream owns the answer.
 *
 * Invariant: call->stream->call == call until the call is answered or detached from its stream.
 */
#include "transport/server_stream.h"

#include <string.h>

static struct rpc_call *new_call(struct server_stream *stream)
{
	struct arena arena;

	arena_init(&arena, 0);
	struct rpc_call *call = arena_alloc(&arena, sizeof(*call));
	call->arena = arena;
	call->app = stream->peer->listener->offer.app;
	call->deadline = stream->exchange.rpc.deadline;
	call->caller = stream->exchange.rpc.caller;
	call->target = stream->target;
	call->peer = stream->peer;
	call->stream = stream;
	stream->call = call;
	stream->peer->n_calls++;
	return call;
}

static void free_call(struct rpc_call *call)
{
	struct peer *peer = call->peer;
	struct arena arena = call->arena;

	if (call->reply)
		call->reply->gone(call->reply);
	arena_fini(&arena);
	peer->n_calls--;
	server_peer_release(peer);
}

/* True if the call was submitted to the workers and is neither done nor withdrawn. */
static bool is_running(const struct rpc_call *call)
{
	return call->work.workers != NULL;
}

static void left_workers(struct rpc_call *call)
{
	call->work.workers = NULL;
	call->peer->server->n_calls--;
}

bool server_call_withdraw(struct rpc_call *call)
{
	if (!is_running(call))
		return true;
	if (!workers_withdraw(&call->work))
		return false;
	left_workers(call);
	return true;
}

/* Detach a running call from its stream. work_done frees it, without an answer. */
static void detach(struct rpc_call *call)
{
	call->stream->call = NULL;
	call->stream = NULL;
}

/* Answer a call with its reply, or with the error if failed is not NULL, and free the call. */
static void answer(struct rpc_call *call, const struct error *failed)
{
	struct server_stream *stream = call->stream;

	if (!failed)
		exchange_send(&stream->exchange, steal_ptr(call->reply));
	rpc_stream_finish(&stream->exchange.rpc, failed);
	stream->call = NULL;
	free_call(call);
}

static void run_work(struct work *work)
{
	struct rpc_call *call = container_of(work, struct rpc_call, work);
	struct error error;

	if (rpc_run(call, call->peer->server->limits->message, &error) < 0)
		call->failed =
			memcpy(arena_alloc(&call->arena, sizeof(error)), &error, sizeof(error));
}

static void work_done(struct work *work)
{
	struct rpc_call *call = container_of(work, struct rpc_call, work);

	left_workers(call);
	if (!call->stream) {
		free_call(call);
		return;
	}
	if (call->stream->timer)
		loop_timer_stop(call->stream->timer);
	answer(call, call->failed);
}

static void on_deadline(void *arg)
{
	struct server_stream *stream = arg;
	struct rpc_call *call = stream->call;
	const enum work_state state = call->work.state;
	struct error error;

	if (server_call_withdraw(call)) {
		if (state == WORK_AWAITS_KEY)
			fail(&error, ERR_ABORTED,
			     "another operation on '%s' was still running at the deadline: try "
			     "again",
			     call->work.key);
		else
			fail(&error, ERR_UNAVAILABLE,
			     "too many other calls were still running at the deadline: try again");
		answer(call, &error);
	} else {
		fail(&error, ERR_DEADLINE_EXCEEDED,
		     "the deadline passed while %s was running: repeat it to learn how it ended",
		     call->target.method->name);
		rpc_stream_finish(&stream->exchange.rpc, &error);
		detach(call);
	}
}

/*
 * Returns the milliseconds until the deadline minus a margin of 10 %, at most 500 ms, so that the
 * error still reaches the client.
 */
static int64_t answer_within_ms(const struct rpc_call *call)
{
	int64_t left = time_left_ms(call->deadline);

	return left - (left < 5000 ? left / 10 : 500);
}

static int submit(struct rpc_call *call, struct error *err)
{
	struct server *server = call->peer->server;

	if (server->n_calls >= server->limits->calls)
		return fail(err, ERR_UNAVAILABLE, "too many calls are under way: try again");
	call->work = (struct work){
		.lane = call->target.method->lane, .run = run_work, .done = work_done};
	if (call->target.method->key)
		call->work.key = call->target.method->key(call->request);
	server_watch_deadline(call->stream, answer_within_ms(call), on_deadline);
	server->n_calls++;
	workers_submit(server->workers, &call->work);
	return 0;
}

/* Decode the request, then run an INLINE handler, or submit the call to the workers. */
static int begin(struct rpc_call *call, const uint8_t *bytes, size_t n, struct error *err)
{
	const struct limits *limits = call->peer->server->limits;

	if (time_left_ms(call->deadline) == 0)
		return fail(err, ERR_DEADLINE_EXCEEDED,
			    "the deadline passed before the call began");
	if (rpc_decode(call, bytes, n, limits, err) < 0)
		return -1;
	if (!call->target.method->on_loop)
		return submit(call, err);
	return rpc_run(call, limits->message, err);
}

static void on_request(struct rpc_stream *rpc, const uint8_t *bytes, size_t n)
{
	struct rpc_call *call = new_call(server_stream_of((struct exchange *)rpc));
	struct error error;

	if (begin(call, bytes, n, &error) < 0)
		answer(call, &error);
	else if (!is_running(call))
		answer(call, NULL);
}

/* Free the call of a closed stream, or detach it if its handler is still running. */
static void on_closed(struct rpc_stream *rpc, const struct error *outcome)
{
	struct rpc_call *call = server_stream_of((struct exchange *)rpc)->call;

	(void)outcome;
	if (call && is_running(call))
		detach(call);
	else if (call)
		free_call(call);
}

int rpc_open_unary(struct rpc_stream *rpc, struct error *err)
{
	static const struct rpc_stream_events events = {
		.single = true, .bytes = on_request, .closed = on_closed};

	(void)err;
	rpc->events = &events;
	return 0;
}
