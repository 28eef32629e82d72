/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Pumps: data goes from a pipe through a stream into a pipe. The writer and the reader at the far
 * ends are fast, slow, or stop in the middle. Every byte is a function of its position, so that
 * lost or repeated data is found.
 */
#include "tests/transport/stream_ends.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/bucket.h"
#include "transport/conn_inside.h"
#include "transport/exchange.h"
#include "transport/pump.h"

#define MIB       ((uint64_t)1 << 20)
#define PIPE_SIZE MIB

/* Returns the byte at a position. 251 is prime, so that no buffer size is a multiple of the
 * pattern. */
static uint8_t at(uint64_t place)
{
	return (uint8_t)(place % 251 + place / MIB);
}

static void write_bytes(uint64_t from, uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = at(from + i);
}

static bool are_bytes(uint64_t from, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] != at(from + i))
			return false;
	}
	return true;
}

/* An end of a transfer: a thread, a pipe, and a pump between the pipe and the stream. */
struct end {
	int ours, pumped; /* the two ends of the pipe */
	pthread_t thread;
	uint64_t limit;         /* the writer or reader stops at this position */
	_Atomic uint64_t count; /* bytes that the thread has written or read */
	bool wrong;             /* a byte was not the expected one */

	uint64_t pumped_bytes;
	_Atomic uint64_t counted; /* by pump_count; of the writer only */
	struct error pumped_outcome;
	sem_t done;
};

static struct {
	struct end writer, reader;
	struct rpc_stream *client, *server;
	uint64_t rate; /* the sender's limit; 0: none */
	bool down;     /* the server sends to the client */
	pid_t child;   /* a process that writes for the server */
	struct error server_outcome, client_outcome;
	sem_t begun, server_closed, client_closed;
} call;

static void *write_pattern(void *arg)
{
	struct end *end = arg;
	static uint8_t bytes[300000];
	unsigned seed = 1;

	while (end->count < end->limit) {
		/* some pieces are short, so that message lengths of all sizes occur */
		size_t n = (size_t)rand_r(&seed) % (end->count % 3 ? sizeof(bytes) : 300) + 1;
		if (n > end->limit - end->count)
			n = end->limit - end->count;
		write_bytes(end->count, bytes, n);
		ssize_t written = write(end->ours, bytes, n);
		if (written < 0)
			break;
		end->count += (uint64_t)written;
	}
	close(steal_fd(&end->ours));
	return NULL;
}

static void *read_pattern(void *arg)
{
	struct end *end = arg;
	static uint8_t bytes[100000];
	ssize_t n;

	while (end->count < end->limit && (n = read(end->ours, bytes, sizeof(bytes))) > 0) {
		end->wrong |= !are_bytes(end->count, bytes, (size_t)n);
		end->count += (uint64_t)n;
	}
	close(steal_fd(&end->ours));
	return NULL;
}

static void end_init(struct end *end, bool writes, uint64_t limit)
{
	int fds[2];

	*end = (struct end){.limit = limit};
	sem_init(&end->done, 0, 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	fcntl(fds[0], F_SETPIPE_SZ, PIPE_SIZE);
	end->ours = fds[writes];
	end->pumped = fds[!writes];
}

static void start(struct end *end, void *(*run)(void *end))
{
	assert_int_equal(pthread_create(&end->thread, NULL, run, end), 0);
}

/* The call: data written at one side is read at the other. */

static void on_pumped(struct end *end, uint64_t bytes, const struct error *outcome)
{
	end->pumped_bytes = bytes;
	end->pumped_outcome = *outcome;
	sem_post(&end->done);
}

static void on_sent(struct rpc_stream *stream, uint64_t bytes, const struct error *outcome)
{
	int status = 0;
	struct error error;

	on_pumped(&call.writer, bytes, outcome);
	if (call.child && waitpid(call.child, &status, 0) == call.child && status != 0) {
		fail(&error, ERR_DATA_LOSS, "the child failed");
		rpc_stream_finish(stream, &error);
	} else {
		rpc_stream_finish(stream, outcome->code ? outcome : NULL);
	}
}

static void on_received(struct rpc_stream *stream, uint64_t bytes, const struct error *outcome)
{
	on_pumped(&call.reader, bytes, outcome);
	if (outcome->code != ERR_OK || !call.down)
		rpc_stream_finish(stream, outcome);
}

static void pump(struct rpc_stream *stream, bool out)
{
	if (!out) {
		pump_in(stream, call.reader.pumped, on_received);
		return;
	}
	pump_out(stream, call.writer.pumped, on_sent);
	pump_limit(stream, call.rate);
	pump_count(stream, &call.writer.counted);
}

static void on_server_closed(struct rpc_stream *stream, const struct error *outcome)
{
	(void)stream;
	call.server = NULL;
	call.server_outcome = *outcome;
	sem_post(&call.server_closed);
}

static int transfer(struct rpc_stream *stream, struct error *err)
{
	static const struct rpc_stream_events events = {.closed = on_server_closed};

	(void)err;
	stream->events = &events;
	call.server = stream;
	pump(stream, call.down);
	sem_post(&call.begun);
	return 0;
}

static void on_client_closed(struct rpc_stream *stream, const struct error *outcome)
{
	(void)stream;
	call.client = NULL;
	call.client_outcome = *outcome;
	sem_post(&call.client_closed);
}

static void begin_on_loop(void *arg)
{
	static const struct rpc_stream_events events = {.closed = on_client_closed};

	(void)arg;
	call.client = client_stream_begin(ends.client, ECHO, "Script", NO_DEADLINE, &events, NULL);
	pump(call.client, !call.down);
	if (call.down)
		rpc_stream_finish(call.client, NULL);
}

static void begin(void)
{
	looper_do(&ends.client_loop, begin_on_loop, NULL);
	wait_for(&call.begun);
}

static int setup(void **state)
{
	signal(SIGPIPE, SIG_IGN);
	memset(&call, 0, sizeof(call));
	sem_init(&call.begun, 0, 0);
	sem_init(&call.server_closed, 0, 0);
	sem_init(&call.client_closed, 0, 0);
	if (ends_start(state) < 0)
		return -1;
	ends.server_limits = ends.client_limits = limits_bulk;
	ends.script = transfer;
	ends_restart();
	return 0;
}

static void wait_for_end(enum error_code outcome)
{
	wait_for(&call.server_closed);
	wait_for(&call.client_closed);
	assert_int_equal(call.client_outcome.code, outcome);
}

static void wait_for_pumps(enum error_code sent, enum error_code received)
{
	wait_for(&call.writer.done);
	wait_for(&call.reader.done);
	assert_int_equal(call.writer.pumped_outcome.code, sent);
	assert_int_equal(call.reader.pumped_outcome.code, received);
}

static void join(struct end *end)
{
	pthread_join(end->thread, NULL);
}

/* Tests of complete transfers. */

static void transfer_whole(uint64_t size, bool down)
{
	call.down = down;
	end_init(&call.writer, true, size);
	end_init(&call.reader, false, UINT64_MAX);
	begin();
	start(&call.reader, read_pattern);
	start(&call.writer, write_pattern);
	wait_for_pumps(ERR_OK, ERR_OK);
	wait_for_end(ERR_OK);
	join(&call.writer);
	join(&call.reader);
	assert_true(call.reader.count == size);
	assert_true(call.writer.pumped_bytes == size && call.reader.pumped_bytes == size);
	assert_true(call.writer.counted == size);
	assert_false(call.reader.wrong);
}

static void client_to_server(void **state)
{
	(void)state;
	transfer_whole(64 * MIB, false);
}

static void server_to_client(void **state)
{
	(void)state;
	transfer_whole(64 * MIB, true);
}

static void empty_transfer(void **state)
{
	(void)state;
	transfer_whole(0, false);
	transfer_whole(0, true);
}

static void default_limits(void **state)
{
	(void)state;
	ends.server_limits = ends.client_limits = limits_default;
	ends_restart();
	transfer_whole(10 * MIB, false);
	transfer_whole(10 * MIB, true);
}

/* Tests of a reader that stops. */

/* the bytes that the receiving side still lets the other one send */
static int32_t window;

static void measure(void *arg)
{
	const struct stream *wire =
		((struct exchange *)(call.down ? call.client : call.server))->wire;

	(void)arg;
	window = nghttp2_session_get_stream_local_window_size(wire->conn->session, wire->id);
}

/* The writer stops too, after at most two pipes, one window, and what the pumps hold. */
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

static void reader_of_the_server_stops(void **state)
{
	(void)state;
	reader_that_stops(false);
}

static void reader_of_the_client_stops(void **state)
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

static void reader_of_the_server_fails(void **state)
{
	(void)state;
	reader_that_fails(false, ERR_INTERNAL);
}

static void reader_of_the_client_fails(void **state)
{
	(void)state;
	reader_that_fails(true, ERR_CANCELLED);
}

/* The output of the child arrives, then the error that it failed, even if the failure is known
 * first. */
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

static void abort_call(void *stream)
{
	struct error error;

	fail(&error, ERR_ABORTED, "given up");
	rpc_stream_finish(stream, &error);
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

static void client_gives_up(void **state)
{
	(void)state;
	one_gives_up(true, false);
	one_gives_up(true, true);
}

static void server_gives_up(void **state)
{
	(void)state;
	one_gives_up(false, false);
	one_gives_up(false, true);
}

/* Tests of a limit. */

/* A slow host only makes the time longer, so this is no test of its speed. */
static void limited_transfer(bool down)
{
	const uint64_t size = 3 * MIB, rate = 8 * MIB;
	int64_t begun = now_ms();

	call.rate = rate;
	transfer_whole(size, down);
	assert_true(size <= (uint64_t)(now_ms() - begun + BUCKET_MS) * rate / 1000);
}

static void sender_keeps_its_limit(void **state)
{
	(void)state;
	limited_transfer(false);
	limited_transfer(true);
}

/* A call that waits for its bucket: at this rate the transfer would take days. */
static void begin_slowly(bool down)
{
	call.down = down;
	call.rate = 16;
	end_init(&call.writer, true, MIB);
	end_init(&call.reader, false, UINT64_MAX);
	begin();
	start(&call.writer, write_pattern);
	start(&call.reader, read_pattern);
}

static void others_are_served_beside_a_limit(void **state)
{
	static const struct side one = {.to_send = 1, .size = 10, .ends = WHEN_SENT};

	(void)state;
	begin_slowly(false);
	ends.script = NULL;
	call_begin(&one, &one, NO_DEADLINE);
	call_end(ERR_OK, ERR_OK);
	looper_do(&ends.client_loop, abort_call, call.client);
	wait_for(&call.writer.done);
	wait_for(&call.reader.done);
	wait_for_end(ERR_ABORTED);
	join(&call.writer);
	join(&call.reader);
	assert_true(call.reader.count < MIB);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, ends_stop)
		TEST(client_to_server),
		TEST(server_to_client),
		TEST(empty_transfer),
		TEST(default_limits),
		TEST(sender_keeps_its_limit),
		TEST(others_are_served_beside_a_limit),
		TEST(reader_of_the_server_stops),
		TEST(reader_of_the_client_stops),
		TEST(reader_of_the_server_fails),
		TEST(reader_of_the_client_fails),
		TEST(failed_child_is_data_loss),
		TEST(client_gives_up),
		TEST(server_gives_up),
		TEST(malformed_chunk_ends_the_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
