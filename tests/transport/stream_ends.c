/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Server and client of a streaming call in one process, and the two sides of the call; see
 * stream_ends.h. A test defines the sides, and the callbacks here play them on the two loops.
 */
#include "tests/transport/stream_ends.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/transport/echo_service.h"
#include "transport/exchange.h"

struct ends ends;

static struct {
	struct workers *workers;
	char folder[32], endpoint[64];
	char texts[2][8 << 20]; /* text of messages: the client's, the server's */
	bool draining, stopped;
} own;

/* The callbacks of one side of a call. */

static bool is_server(const struct side *side)
{
	return side == &ends.at_server;
}

static bool send_one(struct side *side)
{
	EchoRequest request = ZCSI__TEST__ECHO_REQUEST__INIT;
	EchoResponse response = ZCSI__TEST__ECHO_RESPONSE__INIT;
	char *text = own.texts[is_server(side)];
	bool taken;

	text[side->size] = '\0';
	request.text = response.text = text;
	request.count = response.count = side->sent;
	taken = rpc_stream_send(side->stream, is_server(side) ? &response.base : &request.base);
	text[side->size] = 'x';
	return taken;
}

void finish(struct side *side)
{
	rpc_stream_finish(side->stream, NULL);
}

void give_up(struct side *side)
{
	struct error error;

	fail(&error, side->code, "given up");
	rpc_stream_finish(side->stream, &error);
}

void resume(struct side *side)
{
	side->pause_after = 0;
	rpc_stream_resume(side->stream);
}

static void finish_if_due(struct side *side)
{
	if (side->sent == side->to_send &&
	    (side->ends == WHEN_SENT || (side->ends == WHEN_RECEIVED && side->ended)))
		finish(side);
}

void send_all(struct side *side)
{
	unsigned most = side->answers ? side->received + !is_server(side) : side->to_send;

	while (side->sent < side->to_send && side->sent < most) {
		if (!send_one(side)) {
			sem_post(&side->full);
			return;
		}
		side->sent++;
	}
	finish_if_due(side);
}

static struct side *of(struct rpc_stream *stream)
{
	return stream->arg;
}

static void on_message(struct rpc_stream *stream, const void *message)
{
	struct side *side = of(stream);
	const EchoRequest *request = message;
	const EchoResponse *response = message;

	side->disorder |= side->received != (is_server(side) ? request->count : response->count);
	side->received++;
	if (side->received == side->fail_after)
		give_up(side);
	if (side->received == side->pause_after) {
		rpc_stream_hold(stream);
		sem_post(&side->paused);
	}
	if (side->answers)
		send_all(side);
}

static void on_ended(struct rpc_stream *stream)
{
	of(stream)->ended = true;
	finish_if_due(of(stream));
}

static void on_writable(struct rpc_stream *stream)
{
	send_all(of(stream));
}

static void on_closed(struct rpc_stream *stream, const struct error *outcome)
{
	struct side *side = of(stream);

	side->outcome = *outcome;
	side->stream = NULL;
	sem_post(&side->closed);
}

#define EVENTS(...)                                                                                \
	{                                                                                          \
		.message = on_message, .ended = on_ended, .writable = on_writable,                 \
		.closed = on_closed, __VA_ARGS__                                                   \
	}
static const struct rpc_stream_events events = EVENTS(), single_events = EVENTS(.single = true);

static void begin(struct side *side, struct rpc_stream *stream)
{
	side->stream = stream;
	if (!side->answers || !is_server(side))
		send_all(side);
	sem_post(&side->begun);
}

static int script(struct rpc_stream *stream, struct error *err)
{
	struct side *side = &ends.at_server;

	if (ends.script)
		return ends.script(stream, err);
	stream->events = side->single ? &single_events : &events;
	stream->arg = side;
	begin(side, stream);
	return 0;
}

#define METHODS(INLINE, PLAIN, KEYED, STREAM) ECHO_ROWS(PLAIN, STREAM) STREAM(Script, script)

RPC_SERVICE(service, zcsi__test__echo__descriptor, METHODS);

/* Functions that start and stop server and client. */

static void start_server(void)
{
	static const struct rpc_service *const services[] = {&service, NULL};
	const struct server_offer offer = {.services = services};
	struct error err;

	own.draining = own.stopped = false;
	assert_int_equal(loop_new(&ends.server_loop.loop, &err), 0);
	assert_int_equal(workers_new(&own.workers, ends.server_loop.loop, 1, &err), 0);
	ends.server = server_new(ends.server_loop.loop, own.workers, &ends.server_limits);
	assert_int_equal(server_listen(ends.server, own.endpoint, &offer, &err), 0);
	looper_start(&ends.server_loop);
}

static void drain(void *arg)
{
	(void)arg;
	server_drain(ends.server, looper_stop, ends.server_loop.loop);
}

void ends_begin_drain(void)
{
	own.draining = true;
	looper_do(&ends.server_loop, drain, NULL);
}

static void join_server(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE;
	assert_int_equal(pthread_timedjoin_np(ends.server_loop.thread, NULL, &end), 0);
	server_free(ends.server);
	workers_free(own.workers);
	loop_free(ends.server_loop.loop);
	own.stopped = true;
}

void ends_drain(void)
{
	if (own.stopped)
		return;
	if (!own.draining)
		ends_begin_drain();
	join_server();
}

void ends_kill(void)
{
	looper_do(&ends.server_loop, looper_stop, ends.server_loop.loop);
	join_server();
}

static void start_client(void)
{
	const struct client_options options = {.limits = &ends.client_limits};
	struct error err;

	assert_int_equal(loop_new(&ends.client_loop.loop, &err), 0);
	assert_int_equal(
		client_new(&ends.client, ends.client_loop.loop, own.endpoint, &options, &err), 0);
	looper_start(&ends.client_loop);
}

static void free_client(void *arg)
{
	(void)arg;
	client_free(ends.client);
	ends.client = NULL;
}

static void stop_client(void)
{
	looper_do(&ends.client_loop, free_client, NULL);
	looper_do(&ends.client_loop, looper_stop, ends.client_loop.loop);
	pthread_join(ends.client_loop.thread, NULL);
	loop_free(ends.client_loop.loop);
}

void ends_restart(void)
{
	stop_client();
	ends_drain();
	start_server();
	start_client();
}

int ends_start(void **state)
{
	(void)state;
	memset(own.texts, 'x', sizeof(own.texts));
	snprintf(own.folder, sizeof(own.folder), "/tmp/zcsi-stream-XXXXXX");
	if (!mkdtemp(own.folder))
		return -1;
	snprintf(own.endpoint, sizeof(own.endpoint), "unix://%s/s", own.folder);
	ends.server_limits = ends.client_limits = limits_default;
	ends.script = NULL;
	start_server();
	start_client();
	return 0;
}

int ends_stop(void **state)
{
	(void)state;
	stop_client();
	ends_drain();
	return rmdir(own.folder);
}

/* Functions that begin and end a call. */

static void prepare(struct side *side, const struct side *like, struct looper *looper)
{
	*side = *like;
	side->looper = looper;
	sem_init(&side->begun, 0, 0);
	sem_init(&side->full, 0, 0);
	sem_init(&side->paused, 0, 0);
	sem_init(&side->closed, 0, 0);
}

static void begin_call(void *deadline)
{
	struct side *side = &ends.at_client;

	begin(side, client_stream_begin(ends.client, ECHO, "Script", *(int64_t *)deadline,
					side->single ? &single_events : &events, side));
}

void call_begin(const struct side *server, const struct side *client, int64_t deadline)
{
	prepare(&ends.at_server, server, &ends.server_loop);
	prepare(&ends.at_client, client, &ends.client_loop);
	looper_do(&ends.client_loop, begin_call, &deadline);
}

void call_end(enum error_code server, enum error_code client)
{
	wait_for(&ends.at_server.closed);
	wait_for(&ends.at_client.closed);
	/* the client's cancellation may arrive before the server's own deadline */
	if (client != ERR_DEADLINE_EXCEEDED || ends.at_server.outcome.code != ERR_CANCELLED)
		assert_int_equal(ends.at_server.outcome.code, server);
	assert_int_equal(ends.at_client.outcome.code, client);
	assert_false(ends.at_server.disorder || ends.at_client.disorder);
}

struct side_call {
	struct side *side;
	void (*fn)(struct side *side);
};

static void run_side_call(void *arg)
{
	struct side_call *side_call = arg;

	if (side_call->side->stream)
		side_call->fn(side_call->side);
}

void side_do(struct side *side, void (*fn)(struct side *side))
{
	struct side_call side_call = {side, fn};

	looper_do(side->looper, run_side_call, &side_call);
}
