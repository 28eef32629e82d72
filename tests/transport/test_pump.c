/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Pumps: data goes from a pipe through a stream into a pipe. The writer and the reader at the far
 * ends are fast, slow, or stop in the middle. Every byte is a function of its position, so that
 * lost or repeated data is found.
 */
#include "tests/transport/pump_ends.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/conn_inside.h"
#include "transport/exchange.h"
#include "transport/pump.h"

/* Tests of complete transfers. */

static void bytes_of_the_client_arrive(void **state)
{
	(void)state;
	transfer_whole(64 * MIB, false);
}

static void bytes_of_the_server_arrive(void **state)
{
	(void)state;
	transfer_whole(64 * MIB, true);
}

static void empty_transfers_end(void **state)
{
	(void)state;
	transfer_whole(0, false);
	transfer_whole(0, true);
}

static void default_limits_suffice(void **state)
{
	(void)state;
	ends.server_limits = ends.client_limits = limits_default;
	ends_restart();
	transfer_whole(10 * MIB, false);
	transfer_whole(10 * MIB, true);
}

/* Tests of a reader that stops. */

/* bytes that the receiving side still allows the sending side to send */
static int32_t window;

static void measure(void *arg)
{
	const struct stream *wire =
		((struct exchange *)(call.down ? call.client : call.server))->wire;

	(void)arg;
	window = nghttp2_session_get_stream_local_window_size(wire->conn->session, wire->id);
}

/* If the reader stops, the writer stops too, after at most two pipes, one window, and the bytes
 * that the pumps hold. */
static void reader_that_stops(bool down)
{
	const uint64_t size = 32 * MIB;
	int64_t end = now_ms() + PATIENCE * 1000;

	call.down = down;
	end_init(&call.writer, true, size);
	end_init(&call.reader, false, UINT64_MAX);
	begin();
	start(&call.writer, write_pattern);
	do {
		assert_true(now_ms() < end);
		looper_do(down ? &ends.client_loop : &ends.server_loop, measure, NULL);
	} while (window > 0);
	assert_true(call.writer.count <= 2 * PIPE_SIZE + limits_bulk.stream_window + 2 * MIB);
	start(&call.reader, read_pattern);
	wait_for_pumps(ERR_OK, ERR_OK);
	wait_for_end(ERR_OK);
	join(&call.writer);
	join(&call.reader);
	assert_true(call.reader.count == size && !call.reader.wrong);
}

static void server_reader_that_stops_stalls_the_client(void **state)
{
	(void)state;
	reader_that_stops(false);
}

static void client_reader_that_stops_stalls_the_server(void **state)
{
	(void)state;
	reader_that_stops(true);
}

/* Tests of failures at either end. */

/* The reader closes its pipe in the middle. */
static void reader_that_fails(bool down, enum error_code sent)
{
	call.down = down;
	end_init(&call.writer, true, 64 * MIB);
	end_init(&call.reader, false, 8 * MIB);
	begin();
	start(&call.reader, read_pattern);
	start(&call.writer, write_pattern);
	wait_for_pumps(sent, ERR_INTERNAL);
	wait_for_end(ERR_INTERNAL);
	join(&call.writer);
	join(&call.reader);
	assert_true(call.reader.count >= 8 * MIB && !call.reader.wrong);
	assert_true(call.writer.count < 64 * MIB);
}

static void failed_reader_of_the_server_ends_the_call(void **state)
{
	(void)state;
	reader_that_fails(false, ERR_INTERNAL);
}

static void failed_reader_of_the_client_ends_the_call(void **state)
{
	(void)state;
	reader_that_fails(true, ERR_CANCELLED);
}

/* If the child process whose output is sent fails, its whole output arrives before the error, even
 * if the failure is known first. */
static void failed_child_is_data_loss(void **state)
{
	char shell[] = "sh", option[] = "-c", script[] = "head -c 3000000 /dev/zero; exit 3";
	char *argv[] = {shell, option, script, NULL};
	posix_spawn_file_actions_t actions;

	(void)state;
	call.down = true;
	end_init(&call.writer, true, 0);
	end_init(&call.reader, false, UINT64_MAX);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, call.writer.ours, STDOUT_FILENO);
	assert_int_equal(posix_spawnp(&call.child, shell, &actions, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(call.writer.ours);
	begin();
	wait_for(&call.server_closed);
	sem_post(&call.server_closed);
	start(&call.reader, read_pattern);
	wait_for_pumps(ERR_OK, ERR_DATA_LOSS);
	wait_for_end(ERR_DATA_LOSS);
	join(&call.reader);
	assert_int_equal(call.writer.pumped_bytes, 3000000);
	assert_true(call.reader.count == 3000000);
}

/* Either side gives up in the middle of a transfer. */
static void one_gives_up(bool client, bool down)
{
	int64_t end = now_ms() + PATIENCE * 1000;

	call.down = down;
	end_init(&call.writer, true, UINT64_MAX);
	end_init(&call.reader, false, UINT64_MAX);
	begin();
	start(&call.writer, write_pattern);
	start(&call.reader, read_pattern);
	while (call.reader.count < 8 * MIB) {
		assert_true(now_ms() < end);
		usleep(1000);
	}
	if (client)
		looper_do(&ends.client_loop, abort_call, call.client);
	else
		looper_do(&ends.server_loop, abort_call, call.server);
	wait_for(&call.writer.done);
	wait_for(&call.reader.done);
	wait_for_end(ERR_ABORTED);
	join(&call.writer);
	join(&call.reader);
	assert_int_equal(call.server_outcome.code, client ? ERR_CANCELLED : ERR_ABORTED);
	assert_true(call.reader.count <= call.writer.count && !call.reader.wrong);
}

static void client_that_gives_up_ends_the_call(void **state)
{
	(void)state;
	one_gives_up(true, false);
	one_gives_up(true, true);
}

static void server_that_gives_up_ends_the_call(void **state)
{
	(void)state;
	one_gives_up(false, false);
	one_gives_up(false, true);
}

/* Send a message that no pump sends: its field is longer than the message. */
static void send_nonsense(void *arg)
{
	static const struct rpc_stream_events events = {.closed = on_client_closed};
	uint8_t *bytes;
	struct chunk *chunk = chunk_new(8, &bytes);

	(void)arg;
	memcpy(bytes, "\0\0\0\0\3\x0a\x09x", 8);
	call.client = client_stream_begin(ends.client, ECHO, "Script", NO_DEADLINE, &events, NULL);
	exchange_send((struct exchange *)call.client, chunk);
}

static void malformed_chunk_ends_the_call(void **state)
{
	(void)state;
	end_init(&call.reader, false, 0);
	looper_do(&ends.client_loop, send_nonsense, NULL);
	wait_for(&call.reader.done);
	wait_for(&call.server_closed);
	wait_for(&call.client_closed);
	assert_int_equal(call.reader.pumped_outcome.code, ERR_INTERNAL);
	assert_int_equal(call.server_outcome.code, ERR_INTERNAL);
	close(call.reader.ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, pump_setup, ends_stop)
		TEST(bytes_of_the_client_arrive),
		TEST(bytes_of_the_server_arrive),
		TEST(empty_transfers_end),
		TEST(default_limits_suffice),
		TEST(server_reader_that_stops_stalls_the_client),
		TEST(client_reader_that_stops_stalls_the_server),
		TEST(failed_reader_of_the_server_ends_the_call),
		TEST(failed_reader_of_the_client_ends_the_call),
		TEST(failed_child_is_data_loss),
		TEST(client_that_gives_up_ends_the_call),
		TEST(server_that_gives_up_ends_the_call),
		TEST(malformed_chunk_ends_the_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
