/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A transfer: a thread writes a pattern into a pipe, a pump sends it as a call's messages, another
 * pump writes these into a second pipe, and a thread checks there what arrives.
 */
#include "tests/transport/pump_ends.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct pump_call call;

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
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != at(from + i))
			return false;
	return true;
}

void *write_pattern(void *arg)
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

void *read_pattern(void *arg)
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

void end_init(struct end *end, bool writes, uint64_t limit)
{
	int fds[2];

	*end = (struct end){.limit = limit};
	sem_init(&end->done, 0, 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	fcntl(fds[0], F_SETPIPE_SZ, PIPE_SIZE);
	end->ours = fds[writes];
	end->pumped = fds[!writes];
}

void start(struct end *end, void *(*run)(void *end))
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

void on_client_closed(struct rpc_stream *stream, const struct error *outcome)
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

void begin(void)
{
	looper_do(&ends.client_loop, begin_on_loop, NULL);
	wait_for(&call.begun);
}

int pump_setup(void **state)
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

void wait_for_end(enum error_code outcome)
{
	wait_for(&call.server_closed);
	wait_for(&call.client_closed);
	assert_int_equal(call.client_outcome.code, outcome);
}

void wait_for_pumps(enum error_code sent, enum error_code received)
{
	wait_for(&call.writer.done);
	wait_for(&call.reader.done);
	assert_int_equal(call.writer.pumped_outcome.code, sent);
	assert_int_equal(call.reader.pumped_outcome.code, received);
}

void join(struct end *end)
{
	pthread_join(end->thread, NULL);
}

void transfer_whole(uint64_t size, bool down)
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

void abort_call(void *stream)
{
	struct error error;

	fail(&error, ERR_ABORTED, "given up");
	rpc_stream_finish(stream, &error);
}
