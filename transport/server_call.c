/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The gRPC server's calls: from a whole request to what its handler says.
 *
 * A stream belongs to its connection, a call to its peer; either may end first. A call whose stream
 * is gone (reset, deadline passed) runs to its end and counts against its peer until then.
 * Invariant: call->stream->call == call as long as somebody waits for the answer.
 */
#include "transport/server_call.h"

#include <stdlib.h>

static struct rpc_call *of_work(struct work *work)
{
	return (struct rpc_call *)((char *)work - offsetof(struct rpc_call, work));
}

static struct rpc_call *new_call(struct server_stream *stream)
{
	struct rpc_call *call = mem_alloc(sizeof(*call));

	call->app = stream->peer->listener->app;
	call->deadline = stream->deadline;
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

	arena_fini(&call->arena);
	free(call);
	peer->n_calls--;
	server_peer_release(peer);
}

/* With the workers, so that work_done is still to come? */
static bool is_running(const struct rpc_call *call)
{
	return call->work.workers != NULL;
}

static void left_workers(struct rpc_call *call)
{
	call->work.workers = NULL;
	call->peer->server->n_calls--;
}

/* Take it back from the workers, if its turn has not come. */
static bool withdraw(struct rpc_call *call)
{
	if (!workers_withdraw(&call->work))
		return false;
	left_workers(call);
	return true;
}

/* Nobody waits any more; the call frees itself when it is done. */
static void detach(struct rpc_call *call)
{
	call->stream->call = NULL;
	call->stream = NULL;
	atomic_store(&call->cancelled, true);
}

static void run_work(struct work *work)
{
	struct rpc_call *call = of_work(work);

	rpc_run(call, call->peer->server->limits->message);
}

static void work_done(struct work *work)
{
	struct rpc_call *call = of_work(work);

	left_workers(call);
	if (!call->stream) {
		free_call(call);
		return;
	}
	struct conn *conn = call->stream->base.conn;
	loop_timer_stop(call->stream->timer);
	server_answer(call->stream, &call->error);
	conn_pump(conn);
}

static void on_deadline(void *arg)
{
	struct server_stream *stream = arg;
	struct conn *conn = stream->base.conn;
	struct rpc_call *call = stream->call;
	struct error error;

	if (withdraw(call)) {
		fail(&error, ERR_ABORTED,
		     "another operation on '%s' was still running at the deadline: try again",
		     call->work.key);
		server_answer(stream, &error);
	} else {
		fail(&error, ERR_DEADLINE_EXCEEDED,
		     "the deadline passed while %s was running: repeat it to learn how it ended",
		     call->target.method->name);
		server_answer(stream, &error);
		detach(call);
	}
	conn_pump(conn);
}

/* Answered a little before the client gives up, so that it learns why. */
static int64_t patience_ms(const struct rpc_call *call)
{
	int64_t left = time_left_ms(call->deadline);

	return left - (left < 5000 ? left / 10 : 500);
}

static int submit(struct server_stream *stream)
{
	struct rpc_call *call = stream->call;
	struct server *server = stream->peer->server;

	if (server->n_calls >= server->limits->calls)
		return fail(&call->error, ERR_UNAVAILABLE,
			    "too many calls are under way: try again");
	call->work = (struct work){.run = run_work, .done = work_done};
	if (call->target.method->key)
		call->work.key = call->target.method->key(call->request);
	stream->timer = loop_timer_new(server->loop, on_deadline, stream);
	if (call->deadline != NO_DEADLINE)
		loop_timer_start(stream->timer, patience_ms(call));
	server->n_calls++;
	workers_submit(server->workers, &call->work);
	return 0;
}

void server_call_begin(struct server_stream *stream)
{
	const struct limits *limits = stream->peer->server->limits;
	const struct wire_message *message = &stream->message;
	struct rpc_call *call = new_call(stream);

	if (rpc_decode(call, message->data, message->length, limits->decoded) == 0) {
		if (!call->target.method->on_loop && submit(stream) == 0)
			return;
		if (call->target.method->on_loop)
			rpc_run(call, limits->message);
	}
	server_answer(stream, &call->error);
}

void server_call_end(struct server_stream *stream, uint32_t http2_error)
{
	struct rpc_call *call = stream->call;
	bool answered = stream->base.done;
	bool running = is_running(call) && !withdraw(call);
	struct error error;

	if (!answered) {
		fail(&error, ERR_CANCELLED, "the client went away (%s)%s",
		     nghttp2_http2_strerror(http2_error), running ? "; the work goes on" : "");
		server_log(stream, &error);
	}
	if (running)
		detach(call);
	else
		free_call(call);
}
