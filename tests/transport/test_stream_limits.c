/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Streaming calls with a side that is slow, silent or sends too much: the queued data is bounded in
 * size and in time, and other calls are not delayed.
 */
#include "tests/transport/stream_ends.h"

#include <string.h>

#include "common/clock.h"
#include "transport/conn_inside.h"
#include "transport/exchange.h"

#define MANY 10000
#define SIZE ((size_t)1000)

static struct side *const server = &ends.at_server, *const client = &ends.at_client;

/* Bytes that a side has queued to send, and has received but not delivered; and the window that it
 * grants. */
static size_t waiting, unused;
static int32_t window;

static void measure(struct side *side)
{
	const struct exchange *exchange = (struct exchange *)side->stream;
	const struct stream *wire = exchange->wire;

	waiting = wire->out.size;
	unused = wire->unused;
	window = nghttp2_session_get_stream_local_window_size(wire->conn->session, wire->id);
	assert_true(outbox_waiting(&exchange->backlog) == unused);
}

static void wait_until_stalled(struct side *reader)
{
	int64_t end = now_ms() + PATIENCE * 1000;

	do {
		assert_true(now_ms() < end);
		side_do(reader, measure);
	} while (window > 0);
	assert_true(unused <= limits_default.stream_window);
}

/* The reader stops reading after its first message, so that the other can send one window and fill
 * its queue. */
static void check_stalled(struct side *reader, struct side *writer)
{
	const struct limits *limits = &limits_default;
	size_t most = limits->stream_window + limits->queued + 2 * SIZE;

	wait_for(&reader->paused);
	wait_for(&writer->full);
	wait_until_stalled(reader);
	assert_int_equal(reader->received, 1);
	side_do(writer, measure);
	assert_true(waiting <= limits->queued + 2 * SIZE);
	assert_true(writer->sent * SIZE <= most);
	side_do(reader, resume);
	call_end(ERR_OK, ERR_OK);
	assert_int_equal(reader->received, MANY);
}

static void server_that_stops_reading_stalls_the_client(void **state)
{
	(void)state;
	call_begin(&(struct side){.pause_after = 1, .ends = WHEN_RECEIVED},
		   &(struct side){.to_send = MANY, .size = SIZE, .ends = WHEN_SENT}, NO_DEADLINE);
	check_stalled(server, client);
}

static void client_that_stops_reading_stalls_the_server(void **state)
{
	(void)state;
	call_begin(&(struct side){.to_send = MANY, .size = SIZE, .ends = WHEN_SENT},
		   &(struct side){.pause_after = 1}, NO_DEADLINE);
	check_stalled(client, server);
}

/* Other calls, unary and streaming, beside a stream that is paused. */

static struct {
	unsigned n_received, n_open;
	sem_t closed;
} others;

static void on_other(struct rpc_stream *stream, const void *message)
{
	(void)stream;
	(void)message;
	others.n_received++;
}

static void on_other_closed(struct rpc_stream *stream, const struct error *outcome)
{
	(void)stream;
	assert_int_equal(outcome->code, ERR_OK);
	if (--others.n_open == 0)
		sem_post(&others.closed);
}

static void begin_others(void *arg)
{
	static const struct rpc_stream_events events = {.message = on_other,
							.closed = on_other_closed};
	EchoRequest request = ZCSI__TEST__ECHO_REQUEST__INIT;

	(void)arg;
	request.count = 1000;
	for (others.n_open = 0; others.n_open < 50; others.n_open++) {
		struct rpc_stream *stream = client_stream_begin(ends.client, ECHO, "Repeat",
								NO_DEADLINE, &events, NULL);
		rpc_stream_send(stream, &request.base);
		rpc_stream_finish(stream, NULL);
	}
}

static void call_unary(void)
{
	EchoRequest request = ZCSI__TEST__ECHO_REQUEST__INIT;
	EchoResponse *response;
	struct arena arena;
	struct error err;

	arena_init(&arena, SIZE_MAX);
	request.count = 7;
	struct client_call *call =
		client_begin(ends.client, &arena, ECHO, "Echo", &request.base, NO_DEADLINE);
	assert_int_equal(client_finish(call, &response, &err), 0);
	assert_int_equal(response->count, 7);
	arena_fini(&arena);
}

static void other_calls_are_not_delayed(void **state)
{
	(void)state;
	sem_init(&others.closed, 0, 0);
	others.n_received = 0;
	call_begin(&(struct side){.to_send = MANY, .size = SIZE, .ends = WHEN_SENT},
		   &(struct side){.pause_after = 1}, NO_DEADLINE);
	wait_for(&client->paused);
	wait_until_stalled(client);
	looper_do(&ends.client_loop, begin_others, NULL);
	call_unary();
	wait_for(&others.closed);
	assert_int_equal(others.n_received, 50 * 1000);
	assert_int_equal(client->received, 1);
	side_do(client, resume);
	call_end(ERR_OK, ERR_OK);
}

/* Close more streams, each with a full window of data, than fit into the window of the
 * connection. */
static void closed_streams_give_their_window_back(void **state)
{
	const struct limits *limits = &limits_default;

	(void)state;
	for (unsigned i = 0; i <= limits->connection_window / limits->stream_window; i++) {
		call_begin(&(struct side){.pause_after = 1},
			   &(struct side){.to_send = MANY, .size = SIZE, .code = ERR_CANCELLED},
			   NO_DEADLINE);
		wait_for(&server->paused);
		wait_until_stalled(server);
		side_do(client, give_up);
		call_end(ERR_CANCELLED, ERR_CANCELLED);
	}
	call_begin(&(struct side){.ends = WHEN_RECEIVED},
		   &(struct side){.to_send = MANY, .size = SIZE, .ends = WHEN_SENT}, NO_DEADLINE);
	call_end(ERR_OK, ERR_OK);
	assert_int_equal(server->received, MANY);
}

/* All received messages are delivered before the outcome, although the stream is already closed. */
static void outcome_follows_the_delayed_messages(void **state)
{
	(void)state;
	call_begin(
		&(struct side){.to_send = 50, .size = SIZE, .fail_after = 1, .code = ERR_ABORTED},
		&(struct side){.to_send = 1, .ends = WHEN_SENT, .pause_after = 1}, NO_DEADLINE);
	wait_for(&client->paused);
	wait_for(&server->closed);
	sem_post(&server->closed);
	call_unary();
	assert_int_equal(client->received, 1);
	side_do(client, resume);
	call_end(ERR_ABORTED, ERR_ABORTED);
	assert_int_equal(client->received, 50);
}

/* Tests of deadlines and timeouts. */

static void deadline_ends_the_call(void **state)
{
	(void)state;
	call_begin(&(struct side){0}, &(struct side){0}, now_ms() + 200);
	call_end(ERR_DEADLINE_EXCEEDED, ERR_DEADLINE_EXCEEDED);
	/* In these calls more data is queued than the other side reads. */
	call_begin(&(struct side){.to_send = MANY, .size = SIZE}, &(struct side){.pause_after = 1},
		   now_ms() + 300);
	call_end(ERR_DEADLINE_EXCEEDED, ERR_DEADLINE_EXCEEDED);
	call_begin(&(struct side){.pause_after = 1}, &(struct side){.to_send = MANY, .size = SIZE},
		   now_ms() + 300);
	call_end(ERR_DEADLINE_EXCEEDED, ERR_DEADLINE_EXCEEDED);
}

static void peer_that_reads_nothing_times_out(void **state)
{
	(void)state;
	ends.server_limits.write_ms = 200;
	ends_restart();
	call_begin(&(struct side){.to_send = MANY, .size = SIZE}, &(struct side){.pause_after = 1},
		   NO_DEADLINE);
	call_end(ERR_DEADLINE_EXCEEDED, ERR_CANCELLED);
	assert_non_null(strstr(server->outcome.text, "read nothing for 200 ms"));
}

static void take_one(struct side *side)
{
	side->pause_after = side->received + 1;
	rpc_stream_resume(side->stream);
}

/* A peer that reads slowly does not time out, although data is queued for it all the time. */
static void peer_that_reads_slowly_does_not_time_out(void **state)
{
	(void)state;
	ends.server_limits.write_ms = 1000;
	ends.server_limits.queued = 64 << 20;
	ends.client_limits.stream_window = 64 << 10;
	ends_restart();
	call_begin(&(struct side){.to_send = UINT32_MAX, .size = SIZE},
		   &(struct side){.pause_after = 1, .code = ERR_CANCELLED}, NO_DEADLINE);
	for (int64_t end = now_ms() + 2500; now_ms() < end;) {
		wait_for(&client->paused);
		call_unary();
		side_do(client, take_one);
	}
	side_do(client, give_up);
	call_end(ERR_CANCELLED, ERR_CANCELLED);
}

/* Send the first bytes of a message only. */
static void send_half(struct side *side)
{
	uint8_t *bytes;
	struct chunk *chunk = chunk_new(3, &bytes);

	memset(bytes, 0, 3);
	exchange_send((struct exchange *)side->stream, chunk);
}

static void half_a_message_times_out_but_silence_does_not(void **state)
{
	(void)state;
	ends.server_limits.receive_ms = 200;
	ends_restart();
	call_begin(&(struct side){0}, &(struct side){0}, NO_DEADLINE);
	wait_for(&server->begun);
	for (int64_t end = now_ms() + 1000; now_ms() < end;)
		call_unary();
	assert_non_null(server->stream);
	side_do(client, send_half);
	call_end(ERR_DEADLINE_EXCEEDED, ERR_DEADLINE_EXCEEDED);
	call_begin(&(struct side){.single = true}, &(struct side){.to_send = 1}, NO_DEADLINE);
	call_end(ERR_DEADLINE_EXCEEDED, ERR_DEADLINE_EXCEEDED);
	assert_non_null(strstr(client->outcome.text, "200 ms"));
}

/* Tests of the limits of memory. */

static void send_too_much(struct side *side)
{
	side->size = 5 << 20;
	side->to_send++;
	send_all(side);
}

static void message_too_large(struct side *writer, const struct side *like_server,
			      const struct side *like_client, enum error_code of_server)
{
	call_begin(like_server, like_client, NO_DEADLINE);
	wait_for(&server->begun);
	side_do(writer, send_too_much);
	call_end(of_server, ERR_RESOURCE_EXHAUSTED);
}

static void large_message_ends_the_call(void **state)
{
	(void)state;
	/* A message exceeds the limit of its sender. */
	message_too_large(server, &(struct side){.to_send = 2}, &(struct side){0},
			  ERR_RESOURCE_EXHAUSTED);
	assert_int_equal(client->received, 2);
	message_too_large(client, &(struct side){0}, &(struct side){.to_send = 2}, ERR_CANCELLED);
	/* A message exceeds the limit of its receiver only. */
	ends.client_limits.message = 8 << 20;
	ends_restart();
	message_too_large(client, &(struct side){0}, &(struct side){.to_send = 2},
			  ERR_RESOURCE_EXHAUSTED);
	assert_int_equal(server->received, 2);
	ends.client_limits.message = 4 << 20;
	ends.server_limits.message = 8 << 20;
	ends_restart();
	message_too_large(server, &(struct side){.to_send = 2}, &(struct side){0}, ERR_CANCELLED);
	assert_int_equal(client->received, 2);
}

static void server_bounds_received_messages(void **state)
{
	(void)state;
	ends.server_limits.messages = 100 << 10;
	ends_restart();
	call_begin(&(struct side){.pause_after = 1}, &(struct side){.to_send = MANY, .size = SIZE},
		   NO_DEADLINE);
	call_end(ERR_RESOURCE_EXHAUSTED, ERR_RESOURCE_EXHAUSTED);
	call_unary();
}

/* Tests of a server that stops. */

static void drain_ends_open_streams(void **state)
{
	(void)state;
	ends.server_limits.drain_ms = 200;
	ends_restart();
	call_begin(&(struct side){.to_send = 1}, &(struct side){.to_send = 1}, NO_DEADLINE);
	wait_for(&server->begun);
	ends_drain();
	call_end(ERR_UNAVAILABLE, ERR_UNAVAILABLE);
	assert_int_equal(server->received, 1);
}

static void drain_lets_streams_end_by_themselves(void **state)
{
	(void)state;
	call_begin(&(struct side){.ends = WHEN_RECEIVED}, &(struct side){0}, NO_DEADLINE);
	wait_for(&server->begun);
	ends_begin_drain();
	side_do(client, finish);
	call_end(ERR_OK, ERR_OK);
	ends_drain();
}

static void stalled_streams_do_not_delay_a_drain(void **state)
{
	(void)state;
	ends.server_limits.drain_ms = 200;
	ends.server_limits.write_ms = INT32_MAX;
	ends_restart();
	call_begin(&(struct side){.to_send = MANY, .size = SIZE}, &(struct side){.pause_after = 1},
		   NO_DEADLINE);
	wait_for(&client->paused);
	ends_drain();
	call_end(ERR_UNAVAILABLE, ERR_CANCELLED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, ends_start, ends_stop)
		TEST(server_that_stops_reading_stalls_the_client),
		TEST(client_that_stops_reading_stalls_the_server),
		TEST(other_calls_are_not_delayed),
		TEST(closed_streams_give_their_window_back),
		TEST(outcome_follows_the_delayed_messages),
		TEST(deadline_ends_the_call),
		TEST(peer_that_reads_nothing_times_out),
		TEST(peer_that_reads_slowly_does_not_time_out),
		TEST(half_a_message_times_out_but_silence_does_not),
		TEST(large_message_ends_the_call),
		TEST(server_bounds_received_messages),
		TEST(drain_ends_open_streams),
		TEST(drain_lets_streams_end_by_themselves),
		TEST(stalled_streams_do_not_delay_a_drain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
